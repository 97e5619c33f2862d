// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// TestAccess checks the verdicts on a hundred requests, without and with a failed one, and on ten new connections.
func TestAccess(t *testing.T) {
	for failed, want := range map[int]verdict{0: holds, 1: missed} {
		b := &bench{}
		b.addAccess("TLS", accessSample{
			served: traffic.Served{Took: 2 * time.Second, Failed: failed, Latencies: slices.Concat(
				slices.Repeat([]time.Duration{250 * time.Microsecond}, 98), slices.Repeat([]time.Duration{3 * time.Millisecond}, 2))},
			serving: 10 * time.Millisecond, opened: 10, opening: 100 * time.Millisecond, accepting: 20 * time.Millisecond,
		})
		if diff := cmp.Diff(map[string]verdict{
			"requests per second, TLS 50":                                     informative,
			"a request, TLS, p50 0.25":                                        informative,
			"99th percentile of a request, TLS 3":                             informative,
			"CPU of memcached for a request, TLS 100":                         informative,
			fmt.Sprintf("requests that fail or find nothing, TLS %d", failed): want,
			"new connections per second, TLS 100":                             informative,
			"CPU of memcached for a new connection, TLS 2000":                 informative,
		}, verdicts(b.report.Results)); diff != "" {
			t.Errorf("verdicts with %d failures (-want +got):\n%s", failed, diff)
		}
	}
}

// TestOnLoopback checks, for each access, where memcached listens, and that each file that it reads exists.
func TestOnLoopback(t *testing.T) {
	credentials, err := issue()
	if err != nil {
		t.Fatal(err)
	}
	files := credentials.files()
	secured := "notls:127.0.0.1:1,127.0.0.1:2"
	for name, want := range map[string]struct {
		listen string
		files  []string
	}{
		"without TLS":   {"127.0.0.1:1", nil},
		"TLS":           {secured, []string{"tls.crt", "tls.key"}},
		"mutual TLS":    {secured, []string{"tls.crt", "tls.key", "ca.crt"}},
		"TLS and users": {secured, []string{"users", "tls.crt", "tls.key"}},
	} {
		i := slices.IndexFunc(accesses, func(a access) bool { return a.name == name })
		pod, err := podOf(accesses[i].change)
		if err != nil {
			t.Fatal(err)
		}
		args := onLoopback(pod.Containers[0], "127.0.0.1:1", "127.0.0.1:2", "/tmp/node")
		if i := slices.Index(args, "-l"); args[i+1] != want.listen {
			t.Errorf("%s: it listens on %s, want %s", name, args[i+1], want.listen)
		}
		var read []string
		for _, word := range strings.FieldsFunc(strings.Join(args, ","), func(r rune) bool { return r == ',' || r == '=' }) {
			if file, found := strings.CutPrefix(word, "/tmp/node/current/"); found && files[file] != nil {
				read = append(read, file)
			} else if strings.Contains(word, "/") {
				t.Errorf("%s: %s is no file", name, word)
			}
		}
		if diff := cmp.Diff(want.files, read); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
	}
}

// TestClientOf connects to servers that demand the same certificates and logins as memcached would, and to servers that answer the
// first command with an error.
func TestClientOf(t *testing.T) {
	credentials, err := issue()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range accesses {
		mc := memcachedNumber(0, a.change)
		c, err := credentials.clientOf(mc)
		if err != nil {
			t.Fatal(err)
		}
		request, reply := "mn\r\n", "MN\r\n"
		if mc.Spec.Auth != nil {
			request, reply = fmt.Sprintf("set login 0 0 32\r\nbench %s\r\n", credentials.password), "STORED\r\n"
		}
		address := answering(t, serverConfig(t, credentials, mc), request, reply)
		conn, err := c.connect(t.Context(), address)
		if err != nil {
			t.Errorf("%s: %v", a.name, err)
			continue
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		refusing := answering(t, serverConfig(t, credentials, mc), request, "CLIENT_ERROR authentication failure\r\n")
		if _, err := c.connect(t.Context(), refusing); err == nil || !strings.Contains(err.Error(), "authentication failure") {
			t.Errorf("%s: refused with %v", a.name, err)
		}
	}
}

func serverConfig(t *testing.T, with issued, mc *cachev1alpha1.Memcached) *tls.Config {
	t.Helper()
	if mc.Spec.TLS == nil {
		return nil
	}
	pair, err := tls.X509KeyPair(with.node.Certificate, with.node.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: x509.NewCertPool()}
	config.ClientCAs.AppendCertsFromPEM(with.authority.PEM())
	if mc.Spec.TLS.ClientAuth == cachev1alpha1.ClientAuthRequire {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config
}

// answering returns the address of a server that answers one request on one connection.
func answering(t *testing.T, config *tls.Config, request, reply string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(loopbackHost, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		got := make([]byte, len(request))
		if _, err := io.ReadFull(conn, got); err != nil {
			return
		}
		if string(got) != request {
			reply = fmt.Sprintf("ERROR %q\r\n", got)
		}
		fmt.Fprint(conn, reply)
	}()
	return listener.Addr().String()
}
