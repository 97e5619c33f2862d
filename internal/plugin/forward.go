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
		tunnel, err := openTunnel(ctx, dialer)
		if err != nil {
			return nil, err
		}
		conn, err := tunnel.connect(port)
		if err != nil {
			_ = tunnel.Close() // the error above says more
			return nil, err
		}
		return conn, nil
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

// tunnel carries a connection to a pod.
type tunnel struct{ httpstream.Connection }

// openTunnel opens a tunnel. It returns early if the context ends. A connection that succeeds later is closed.
func openTunnel(ctx context.Context, dialer httpstream.Dialer) (tunnel, error) {
	type result struct {
		connection httpstream.Connection
		err        error
	}
	dialed := make(chan result, 1)
	go func() {
		connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		dialed <- result{connection, err}
	}()
	select {
	case <-ctx.Done():
		go func() {
			if late := <-dialed; late.err == nil {
				_ = late.connection.Close()
			}
		}()
		return tunnel{}, context.Cause(ctx)
	case got := <-dialed:
		return tunnel{got.connection}, got.err
	}
}

// connect opens the two streams of a connection. The first is for errors of the kubelet, and the second is for data.
func (t tunnel) connect(port int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	failure, err := t.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	_ = failure.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := t.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	return newForwarded(t, data, failure), nil
}

// forwarded is a connection to a port of a pod. Streams support no deadlines, so callers use one end of a pipe, and goroutines copy
// between its other end and the data stream. A forwarded connection is not safe for concurrent use.
type forwarded struct {
	net.Conn

	tunnel io.Closer
	// failed receives the error that the kubelet reports, or nil. reason is that error after it was received.
	failed chan error
	reason error
}

func newForwarded(tunnel io.Closer, data, failure io.ReadWriter) *forwarded {
	here, there := net.Pipe()
	f := &forwarded{Conn: here, tunnel: tunnel, failed: make(chan error, 1)}
	go func() {
		message, err := io.ReadAll(failure)
		if len(message) > 0 {
			err = errors.New(strings.TrimSpace(string(message)))
		}
		f.failed <- err
	}()
	go func() {
		_, _ = io.Copy(there, data) // the reader learns about errors from the closed pipe
		_ = there.Close()
	}()
	go func() { _, _ = io.Copy(data, there) }() // errors: see above
	return f
}

// reasonWait is how long a closed connection waits for the kubelet's error, because the error comes over another stream than the data.
const reasonWait = time.Second

// Read reads data. If the kubelet could not connect to the port, Read returns the kubelet's error.
func (f *forwarded) Read(buffer []byte) (int, error) {
	count, err := f.Conn.Read(buffer)
	return count, f.because(err)
}

// Write writes data. It returns the same errors as Read.
func (f *forwarded) Write(data []byte) (int, error) {
	count, err := f.Conn.Write(data)
	return count, f.because(err)
}

// SetDeadline sets the deadline. It does not fail for a closed connection, so that Read and Write return the reason.
func (f *forwarded) SetDeadline(at time.Time) error {
	if err := f.Conn.SetDeadline(at); !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}

// because returns the kubelet's error, if there is one, instead of io.EOF or io.ErrClosedPipe.
func (f *forwarded) because(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	if f.reason == nil {
		select {
		case f.reason = <-f.failed:
		case <-time.After(reasonWait):
		}
	}
	if f.reason != nil {
		return f.reason
	}
	return err
}

// Close closes the connection and its tunnel.
func (f *forwarded) Close() error {
	_ = f.Conn.Close() // closing a pipe never fails
	return f.tunnel.Close()
}
