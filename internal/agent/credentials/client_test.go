// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/stats"
)

// client is a connection as clients have it.
type client struct {
	net.Conn

	replies *bufio.Reader
}

// connect connects to TLS, as a client with a certificate or without one.
func (p *pod) connect(certificate *issued) (*client, *x509.Certificate, error) {
	p.t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if certificate != nil {
		// Others would send it only if its CA is among those that memcached names.
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
	c := &client{conn, stats.NewReader(conn)}
	_, err = c.ask("version") // with TLS 1.3, a refusal comes after the handshake
	return c, conn.(*tls.Conn).ConnectionState().PeerCertificates[0], err
}

// login connects to plaintext, and logs in.
func (p *pod) login(name, password string) (*client, error) {
	p.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.plaintext)
	if err != nil {
		return nil, err
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	c := &client{conn, stats.NewReader(conn)}
	return c, LogIn(conn, c.replies, []User{{name, password}})
}

func (c *client) ask(command string) (string, error) {
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		return "", err
	}
	return stats.ReadLine(c.replies)
}

func (p *pod) mustServe(certificate, as *issued) {
	p.t.Helper()
	_, shown, err := p.connect(as)
	if err != nil || !shown.Equal(certificate.certificate) {
		p.t.Errorf("a client gets %v", err)
	}
}

// mustLive fails unless a connection still works as before.
func mustLive(t *testing.T, c *client) {
	t.Helper()
	if reply, err := c.ask("mn"); err != nil || reply != "MN" {
		t.Errorf("a connection from before: %q, %v", reply, err)
	}
}
