// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/example/memcached-operator/internal/memcache"
)

// kubelet simulates an API server and a kubelet that forward a port to a memcached, over SPDY only.
type kubelet struct {
	memcached *fakeMemcached
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
		k.memcached.serve(data)
	} else {
		_, _ = io.WriteString(failure, "dial tcp4 127.0.0.1:1: connect: connection refused")
	}
	_, _ = failure.Close(), data.Close()
	<-connection.CloseChan()
}

// TestForwarding tests a forwarded port from end to end: the upgraded connection, its streams and their errors.
func TestForwarding(t *testing.T) {
	for name, test := range map[string]struct {
		kubelet kubelet
		port    int32
		want    string
	}{
		"a memcached":   {kubelet{}, 11211, ""},
		"another port":  {kubelet{}, 1, "nothing listens on its port"},
		"no permission": {kubelet{forbids: true}, 11211, "forbidden: you need the permission to create pods/portforward"},
		"hung kubelet":  {kubelet{hangs: true}, 11211, "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			test.kubelet.memcached, test.kubelet.done = newMemcached(t, 1), make(chan struct{})
			server := httptest.NewServer(&test.kubelet)
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(test.kubelet.done) })
			config := &rest.Config{Host: server.URL}
			clientset, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			mc := newCache("shop", "cache", 1, "")
			pod := newPod(mc, "cache-0", "10.244.0.7")
			pod.ObjectMeta = metav1.ObjectMeta{Namespace: "shop", Name: "cache-0"}
			pod.Spec.Containers[0].Ports[0].ContainerPort = test.port
			s := &session{nodeTimeout: 20 * time.Second}
			if test.kubelet.hangs {
				s.nodeTimeout = 50 * time.Millisecond
			}
			var first, second *memcache.Value
			err = s.ask(t.Context(), &cluster{dial: forwarding(config, clientset)}, pod, func(ctx context.Context, conn *memcache.Conn) (err error) {
				long := strings.Repeat("long ", 100_000)
				if _, err := conn.Command(ctx, "set key 0 0 500000\r\n"+long); err != nil {
					return err
				}
				if first, err = conn.Value(ctx, "key"); err != nil {
					return err
				}
				second, err = conn.Value(ctx, "missing")
				return err
			})
			if test.want == "" && (err != nil || first == nil || len(first.Bytes) != 500_000 || second != nil) {
				t.Errorf("got %v, %v, %v", first, second, err)
			}
			if test.want != "" && (err == nil || unreachable(err) != test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
