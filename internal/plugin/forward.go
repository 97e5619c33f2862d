// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

type dialFunc func(ctx context.Context, pod *corev1.Pod, port int) (net.Conn, error)

// forwarding returns a dialFunc that connects through the API server and the kubelet. Unlike "kubectl port-forward", it opens no port
// on this machine: other users could connect to such a port.
func forwarding(config *rest.Config, clientset kubernetes.Interface) dialFunc {
	return func(ctx context.Context, pod *corev1.Pod, port int) (net.Conn, error) {
		target := clientset.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).
			SubResource("portforward").URL()
		dialer, err := newDialer(config, target)
		if err != nil {
			return nil, err
		}
		type result struct {
			conn net.Conn
			err  error
		}
		dialed := make(chan result)
		go func() { // because Dial takes no context
			conn, err := connectThrough(dialer, port)
			select {
			case dialed <- result{conn, err}:
			case <-ctx.Done():
				if err == nil {
					_ = conn.Close() // nobody waits for it any more
				}
			}
		}()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case got := <-dialed:
			return got.conn, got.err
		}
	}
}

// newDialer returns a dialer that opens tunnels as kubectl does: over WebSockets, or over SPDY if the API server or a proxy does not
// support WebSockets.
func newDialer(config *rest.Config, target *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	overSPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(overWebSocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// connectThrough opens a tunnel with the two streams of a connection. The first is for an error of the kubelet, the second for data.
func connectThrough(dialer httpstream.Dialer, port int) (net.Conn, error) {
	tunnel, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	f := &forwarded{tunnel: tunnel}
	for _, stream := range []struct {
		kind string
		of   *httpstream.Stream
	}{{corev1.StreamTypeError, &f.failure}, {corev1.StreamTypeData, &f.data}} {
		headers := http.Header{}
		headers.Set(corev1.StreamType, stream.kind)
		headers.Set(corev1.PortHeader, strconv.Itoa(port))
		headers.Set(corev1.PortForwardRequestIDHeader, "0")
		if *stream.of, err = tunnel.CreateStream(headers); err != nil {
			_ = tunnel.Close() // the error says more
			return nil, fmt.Errorf("open a stream: %w", err)
		}
	}
	_ = f.failure.Close() // nothing is written to it
	return f, nil
}

// forwarded is a connection to a port of a pod.
type forwarded struct {
	net.Conn // nil: streams have no addresses

	tunnel        httpstream.Connection
	failure, data httpstream.Stream
}

// Read reads data. If the kubelet could not connect to the port, Read returns the kubelet's error.
func (f *forwarded) Read(buffer []byte) (int, error) {
	count, err := f.data.Read(buffer)
	return count, f.because(err)
}

// Write writes data. It returns the same errors as Read.
func (f *forwarded) Write(data []byte) (int, error) {
	count, err := f.data.Write(data)
	return count, f.because(err)
}

// SetDeadline closes the connection if the deadline has passed. Streams support no other deadlines, and memcache.Conn sets none.
func (f *forwarded) SetDeadline(at time.Time) error {
	if !at.IsZero() && at.Before(time.Now()) {
		return f.Close()
	}
	return nil
}

// because returns the kubelet's error, if there is one, instead of the error of a stream.
func (f *forwarded) because(err error) error {
	if err == nil {
		return nil
	}
	if message, _ := io.ReadAll(f.failure); len(message) > 0 {
		return errors.New(strings.TrimSpace(string(message)))
	}
	return err
}

// Close closes the connection and its tunnel.
func (f *forwarded) Close() error { return f.tunnel.Close() }
