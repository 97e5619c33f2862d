// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/daemon"
)

// serving starts a server that runs until the test ends, and returns its address. The server uses TLS if config is not nil.
func serving(t *testing.T, config *tls.Config, behavior func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go func() {
				served := conn
				if config != nil {
					served = tls.Server(conn, config)
				}
				behavior(served)
				_ = served.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func atItsLimit(conn net.Conn) { _, _ = io.WriteString(conn, "ERROR Too many open connections\r\n") }

func TestLogins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("bob:a b\neve:2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := network{plaintext: daemon.Start(t, "-Y", file).Address}
	if err := n.answers(t.Context()); err != nil {
		t.Errorf("answers: %v", err)
	}
	for _, test := range []struct {
		user User
		want bool
	}{{User{"bob", "a b"}, true}, {User{"bob", "1"}, false}, {User{"eve", "2"}, true}} {
		if accepted, err := n.accepts(t.Context(), test.user); accepted != test.want || err != nil {
			t.Errorf("%s: %t, %v", test.user, accepted, err)
		}
	}
	if _, err := n.refreshed(t.Context(), []User{{"bob", "former"}}); !errors.Is(err, memcache.ErrUnauthenticated) {
		t.Errorf("refreshed with a former password: %v", err)
	}
}

// A memcached without users would store the password as a value.
func TestNoPasswordIsSentToAMemcachedWithoutUsers(t *testing.T) {
	memcached := daemon.Start(t)
	n := network{plaintext: memcached.Address}
	_, _ = n.accepts(t.Context(), User{"bob", "hunter2"})
	if stats, err := memcached.Connect().Stats(t.Context()); stats["cmd_set"] != "0" {
		t.Errorf("it stored %s items: %v", stats["cmd_set"], err)
	}
}

func TestMemcachedAtItsConnectionLimitAnswers(t *testing.T) {
	address := serving(t, nil, atItsLimit)
	n := network{plaintext: address, tls: address}
	if err := n.answers(t.Context()); err != nil {
		t.Errorf("answers: %v", err)
	}
	if _, err := n.accepts(t.Context(), User{"bob", "1"}); !errors.Is(err, memcache.ErrConnectionLimit) {
		t.Errorf("accepts: %v", err)
	}
	if _, err := n.certificate(t.Context(), x509.ECDSA); !errors.Is(err, memcache.ErrConnectionLimit) {
		t.Errorf("certificate: %v", err)
	}
}

func shakeHands(conn net.Conn) {
	if conn, isTLS := conn.(*tls.Conn); isTLS {
		_ = conn.HandshakeContext(context.Background())
	}
}

func (i *issued) mustPair(t *testing.T) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(i.certificatePEM(), i.keyPEM(t))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// The agent asks for a certificate whose key has a certain algorithm. If the server has none, the agent gets the certificate that the
// server prefers. The same happens if the server refuses TLS 1.2: with TLS 1.3, Go's clients cannot ask for an algorithm.
func TestTheServedCertificate(t *testing.T) {
	ofEC, ofRSA := issue(t, 0xec, nil), issueFor(t, 0x25a, rsaKey(t, 2048), nil)
	for name, test := range map[string]struct {
		preferred, other *issued
		algorithm        x509.PublicKeyAlgorithm
		config           *tls.Config
		want             *issued
	}{
		"the preferred one":               {ofRSA, ofEC, x509.RSA, &tls.Config{}, ofRSA},
		"ECDSA":                           {ofRSA, ofEC, x509.ECDSA, &tls.Config{}, ofEC},
		"RSA":                             {ofEC, ofRSA, x509.RSA, &tls.Config{}, ofRSA},
		"ECDSA, without TLS 1.2":          {ofRSA, ofEC, x509.ECDSA, &tls.Config{MinVersion: tls.VersionTLS13}, ofRSA},
		"Ed25519, which the server lacks": {ofRSA, ofRSA, x509.Ed25519, &tls.Config{}, ofRSA},
		"mutual TLS":                      {ofEC, ofEC, x509.ECDSA, &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert}, ofEC},
		"mutual TLS, by 1.2":              {ofEC, ofEC, x509.ECDSA, &tls.Config{MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}, ofEC},
	} {
		test.config.Certificates = []tls.Certificate{test.preferred.mustPair(t), test.other.mustPair(t)}
		shown, err := network{tls: serving(t, test.config, shakeHands)}.certificate(t.Context(), test.algorithm)
		if err != nil || !shown.Equal(test.want.certificate) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSerialsAreThoseOfOpenSSL(t *testing.T) {
	for number, want := range map[int64]string{0xa1: "a1", 0xbad: "0bad", 1: "01"} {
		if got := Serial(issue(t, number, nil).certificate); got != want {
			t.Errorf("%x: %s", number, got)
		}
	}
}

// readSecret returns the values of the Secret's current version, and only those. In a folder without versions, the values are the
// files.
func TestSecretsAreReadAtOnce(t *testing.T) {
	v := newVolume(t, usersSecret("bob", "1"))
	if err := os.WriteFile(filepath.Join(v.folder, "..2026_01_02_1", "..hidden"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []map[string][]byte{usersSecret("bob", "1"), usersSecret("eve", "2"), {}} {
		if len(want) == 0 || want["eve"] != nil {
			v.set(t, want)
		}
		got, err := readSecret(v.folder)
		if err != nil || len(got) != len(want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if _, err := readSecret(filepath.Join(v.folder, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing volume: %v", err)
	}
	plain := t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "bob"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readSecret(plain); err != nil || string(got["bob"]) != "1" {
		t.Errorf("a folder without versions: %v, %v", got, err)
	}
}
