// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/traffic"
)

// kubelet simulates an API server and a kubelet that forward a port to a memcached, over SPDY only.
type kubelet struct {
	// memcached is the path of a memcached's socket.
	memcached string
	// forbids simulates a user without the permission. hangs simulates a kubelet that does not answer.
	forbids, hangs bool
	done           chan struct{}
}

func (k *kubelet) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	switch {
	case k.hangs:
		<-k.done
	case request.URL.Path != "/api/v1/namespaces/shop/pods/cache-0/portforward":
		http.NotFound(response, request)
	case request.Header.Get("Upgrade") == "websocket":
		http.Error(response, "no WebSockets here", http.StatusBadRequest)
	case k.forbids:
		http.Error(response, `pods "cache-0" is forbidden: User "jane" cannot create resource "pods/portforward"`, http.StatusForbidden)
	default:
		k.upgrade(response, request)
	}
}

func (k *kubelet) upgrade(response http.ResponseWriter, request *http.Request) {
	if _, err := httpstream.Handshake(request, response, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(response, request, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	failure, data := <-streams, <-streams
	if data.Headers().Get(corev1.StreamType) != corev1.StreamTypeData {
		failure, data = data, failure // the streams may arrive in either order
	}
	if data.Headers().Get(corev1.PortHeader) == "11211" {
		k.pass(request.Context(), data)
	} else {
		_, _ = io.WriteString(failure, "dial tcp4 127.0.0.1:1: connect: connection refused")
	}
	_, _ = failure.Close(), data.Close()
	<-connection.CloseChan()
}

// pass passes the data of a stream on to memcached and back.
func (k *kubelet) pass(ctx context.Context, data httpstream.Stream) {
	conn, err := dialSocket(ctx, k.memcached)
	if err != nil {
		return
	}
	defer conn.Close()
	go func() { _, _ = io.Copy(data, conn) }()
	_, _ = io.Copy(conn, data)
}

// TestForwarding tests a forwarded port from end to end: the upgraded connection, its streams and their errors.
func TestForwarding(t *testing.T) {
	for name, test := range map[string]struct {
		kubelet kubelet
		port    int
		want    string
	}{
		"a memcached":   {kubelet{memcached: startMemcached(t)}, 11211, ""},
		"another port":  {kubelet{}, 1, "nothing listens on its port"},
		"no permission": {kubelet{forbids: true}, 11211, "forbidden: you need the permission to create pods/portforward"},
		"hung kubelet":  {kubelet{hangs: true}, 11211, "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			test.kubelet.done = make(chan struct{})
			server := httptest.NewServer(&test.kubelet)
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(test.kubelet.done) })
			config := &rest.Config{Host: server.URL}
			clientset, err := kubernetes.NewForConfig(config)
			must(t, err)
			timeout := 20 * time.Second
			if test.kubelet.hangs {
				timeout = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), timeout, errNoAnswer)
			defer cancel()
			err = storeThrough(ctx, forwarding(config, clientset), test.port)
			if test.want == "" && err != nil || test.want != "" && (err == nil || unreachable(err) != test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// storeThrough stores and reads a long value. Then it waits for a reply that does not come until the context of the request ends.
func storeThrough(ctx context.Context, dial dialFunc, port int) error {
	raw, err := dial(ctx, newPod(newCache("cache", 1), "cache-0"), port)
	if err != nil {
		return err
	}
	conn := memcache.NewConn(raw, "")
	defer conn.Close()
	if _, err := conn.Command(ctx, "set key 0 0 500000\r\n"+strings.Repeat("long ", 100_000)); err != nil {
		return err
	}
	value, err := traffic.Read(ctx, conn, "key")
	if err != nil || len(value.Bytes) != 500_000 {
		return fmt.Errorf("got %v: %w", value, err)
	}
	short, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, errNoAnswer)
	defer cancel()
	if err := conn.Within(short, "nothing", func() error { _, err := conn.Line(); return err }); !errors.Is(err, errNoAnswer) {
		return fmt.Errorf("without a reply: %w", err)
	}
	return nil
}
