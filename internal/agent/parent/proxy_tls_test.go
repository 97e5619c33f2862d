// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/credentials"
)

// withTLS makes the proxy serve TLS with a certificate of a new CA.
func (p *proxyPod) withTLS() *credentials.Authority {
	p.t.Helper()
	authority, err := credentials.NewAuthority("test")
	must(p.t, err)
	p.proxy.TLS, p.proxy.pair = "1.2", filepath.Join(p.proxy.State, "current")
	p.proxy.tlsListen = strings.Replace(p.proxy.Memcached, ":11211", ":11212", 1)
	must(p.t, os.Mkdir(p.proxy.pair, 0o700))
	p.certify(authority)
	return authority
}

// certify gives the proxy another certificate, as an agent does before it signals memcached, and returns its serial number.
func (p *proxyPod) certify(authority *credentials.Authority) string {
	p.t.Helper()
	id, err := authority.Server("proxy", "proxy")
	must(p.t, err)
	must(p.t, replaceFile(filepath.Join(p.proxy.pair, "tls.crt"), string(id.Certificate)))
	must(p.t, replaceFile(filepath.Join(p.proxy.pair, "tls.key"), string(id.Key)))
	pair, err := tls.X509KeyPair(id.Certificate, id.Key)
	must(p.t, err)
	return pair.Leaf.SerialNumber.Text(16)
}

// hangUp signals memcached, as an agent does.
func (p *proxyPod) hangUp() error { return syscall.Kill(p.memcachedPID(), syscall.SIGHUP) }

// memcachedPID asks memcached for its process ID. The method pid cannot find a process whose arguments are for TLS.
func (p *proxyPod) memcachedPID() int {
	p.t.Helper()
	stats, err := p.client().Stats(p.t.Context())
	must(p.t, err)
	return int(number(stats, "pid"))
}

// dialTLS connects as a client that trusts the CA. It also returns the serial number of memcached's certificate.
func (p *proxyPod) dialTLS(authority *credentials.Authority) (*memcache.Conn, string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "proxy", MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(p.t.Context(), "tcp", p.proxy.tlsListen)
	if err != nil {
		return nil, "", err
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return memcache.NewConn(conn, p.proxy.tlsListen), conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Text(16), nil
}

// Clients with and without TLS must find each key on the same node. An agent signals memcached for a new certificate in the same way as the
// parent does for new routes. Clients must stay connected, and memcached must still read new routes.
func TestProxyWithTLS(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	authority := p.withTLS()
	p.beginWith(2)
	conn, before, err := p.dialTLS(authority)
	must(t, err)
	p.agrees(conn, 2)

	want := p.certify(authority)
	must(t, p.hangUp())
	p.await("memcached serves the new certificate", func() error {
		_, serial, err := p.dialTLS(authority)
		if err == nil && serial != want {
			err = fmt.Errorf("the serial number is %s, not %s; it was %s", serial, want, before)
		}
		return err
	})
	p.agrees(conn, 2)

	must(t, p.hangUp())
	p.leads(p.lead(1))
	p.agrees(conn, 1)
	if refused := p.leads(p.pattern + " 1\n").Refused; refused != nil {
		t.Errorf("refused: %+v", refused)
	}
}

// The operator's memory model must cover TLS: 5 MiB, plus 42 KiB for each connection, in addition to the 8 KiB of a connection without
// TLS. Half of the clients send a part of a request, and the other half do not read their responses.
func TestMemoryForTLS(t *testing.T) {
	t.Parallel()
	const clients = 600
	p := newProxyPod(t)
	p.proxy.MaxConnections = clients + 50
	authority := p.withTLS()
	p.beginWith(1)
	if reply := p.set(p.client(), "key", strings.Repeat("x", 100_000)); reply != "STORED" {
		t.Fatal(reply)
	}
	pid := p.memcachedPID()
	at := []int{p.residentMiB(pid)}
	for _, request := range []string{"set other 0 0 9\r\npart", "get" + strings.Repeat(" key", 50) + "\r\n"} {
		for range clients / 2 {
			p.sendTLS(authority, request)
		}
		p.await("memcached has the connections", func() error {
			stats, err := p.client().Stats(t.Context())
			if want := int64(len(at) * clients / 2); err == nil && number(stats, "curr_connections") < want {
				err = fmt.Errorf("%s of %d connections", stats["curr_connections"], want)
			}
			return err
		})
		at = append(at, p.residentMiB(pid))
	}
	t.Logf("memcached had %v MiB", at)
	if most := clients / 2 * (42 + 8) / 1024; at[1]-at[0] > 5+most {
		t.Errorf("%d connections with a part of a request took %d MiB", clients/2, at[1]-at[0])
	}
	if limit := 24 + 40*p.proxy.Threads + 5 + p.proxy.MaxConnections*(42+8)/1024; at[2] > limit {
		t.Errorf("memcached had %d MiB, and the limit would be %d", at[2], limit)
	}
}

// sendTLS sends a request over TLS, and does not read the response.
func (p *proxyPod) sendTLS(authority *credentials.Authority, request string) {
	p.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.proxy.tlsListen)
	must(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	must(p.t, conn.(*net.TCPConn).SetReadBuffer(4096))
	client := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "proxy", MinVersion: tls.VersionTLS12})
	_, err = client.Write([]byte(request))
	must(p.t, err)
}
