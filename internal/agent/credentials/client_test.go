// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
)

// connect connects to the TLS port. The client has this certificate, or none if it is nil.
func (p *pod) connect(certificate *issued) (*memcache.Conn, *x509.Certificate, error) {
	p.t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if certificate != nil {
		// Go would send a certificate in the field Certificates only if memcached trusts its CA.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &tls.Certificate{Certificate: [][]byte{certificate.certificate.Raw}, PrivateKey: certificate.key}, nil
		}
	}
	_, port, _ := net.SplitHostPort(p.config.TLS)
	conn, err := (&tls.Dialer{Config: config}).DialContext(p.t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, nil, err
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	c := memcache.NewConn(conn, "memcached")
	_, err = ask(p.t, c, "version") // with TLS 1.3, a server refuses a client only after the client's handshake
	return c, conn.(*tls.Conn).ConnectionState().PeerCertificates[0], err
}

func (p *pod) login(name, password string) (*memcache.Conn, error) {
	p.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.plaintext)
	if err != nil {
		return nil, err
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	c := memcache.NewConn(conn, "memcached")
	return c, LogIn(p.t.Context(), c, []User{{name, password}})
}

func ask(t *testing.T, c *memcache.Conn, command string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return c.Command(ctx, command)
}

func (p *pod) mustServe(certificate, as *issued) {
	p.t.Helper()
	_, shown, err := p.connect(as)
	if err != nil || !shown.Equal(certificate.certificate) {
		p.t.Errorf("a client gets %v", err)
	}
}

// mustOffer connects with a client that supports only ECDSA, and with one that supports only RSA. Each client must get the given
// certificate for its algorithm. If none is given for an algorithm, the client must get no certificate.
func (p *pod) mustOffer(certificates ...*issued) {
	p.t.Helper()
	for kind, suite := range map[x509.PublicKeyAlgorithm]uint16{
		x509.ECDSA: tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, x509.RSA: tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	} {
		want, got := "", ""
		for _, one := range certificates {
			if one.certificate.PublicKeyAlgorithm == kind {
				want = serial(one.certificate)
			}
		}
		config := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}
		_, port, _ := net.SplitHostPort(p.config.TLS)
		conn, err := (&tls.Dialer{Config: config}).DialContext(p.t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			got = serial(conn.(*tls.Conn).ConnectionState().PeerCertificates[0])
			_ = conn.Close()
		}
		if got != want {
			p.t.Errorf("%s: a client gets the certificate %q, want %q: %v", kind, got, want, err)
		}
	}
}

func mustLive(t *testing.T, c *memcache.Conn) {
	t.Helper()
	if reply, err := ask(t, c, "mn"); err != nil || reply != "MN" {
		t.Errorf("a connection from before: %q, %v", reply, err)
	}
}
