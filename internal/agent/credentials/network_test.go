// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/memcache"
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

// speaking answers like a memcached whose user file has these lines. Without lines, it answers like a memcached without users, and adds
// the values of "set" commands to stored.
func speaking(stored *[]string, lines ...string) func(net.Conn) {
	return func(conn net.Conn) {
		loggedIn := len(lines) == 0
		for requests := bufio.NewScanner(conn); requests.Scan(); {
			reply := "CLIENT_ERROR unauthenticated\r\n"
			switch line := requests.Text(); {
			case strings.HasPrefix(line, "set "):
				requests.Scan()
				reply = "CLIENT_ERROR authentication failure\r\n"
				for _, user := range lines {
					if strings.Replace(user, ":", " ", 1) == requests.Text() {
						loggedIn, reply = true, "STORED\r\n"
					}
				}
				if stored != nil && len(lines) == 0 {
					*stored = append(*stored, requests.Text())
				}
			case !loggedIn:
			case line == "version":
				reply = "VERSION 1.6.45\r\n"
			case line == "stats":
				reply = "STAT uptime 100\r\nSTAT time_since_server_cert_refresh 30\r\nEND\r\n"
			default:
				reply = "END\r\n"
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	}
}

func atItsLimit(conn net.Conn) { _, _ = io.WriteString(conn, "ERROR Too many open connections\r\n") }

func TestLogins(t *testing.T) {
	n := network{plaintext: serving(t, nil, speaking(nil, "bob:a b", "eve:2"))}
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
	if at, err := n.refreshed(t.Context(), []User{{"bob", "former"}, {"bob", "a b"}}); at != 70 || err != nil {
		t.Errorf("refreshed: %d, %v", at, err)
	}
	if _, err := n.refreshed(t.Context(), []User{{"bob", "former"}}); !errors.Is(err, memcache.ErrUnauthenticated) {
		t.Errorf("refreshed with a former password: %v", err)
	}
}

// A memcached without users would store the password as a value.
func TestNoPasswordIsSentToAMemcachedWithoutUsers(t *testing.T) {
	var stored []string
	n := network{plaintext: serving(t, nil, speaking(&stored))}
	if _, err := n.accepts(t.Context(), User{"bob", "hunter2"}); !errors.Is(err, errNoLogin) {
		t.Errorf("accepts: %v", err)
	}
	if at, err := n.refreshed(t.Context(), []User{{"bob", "hunter2"}}); at != 70 || err != nil {
		t.Errorf("refreshed: %d, %v", at, err)
	}
	if len(stored) > 0 {
		t.Errorf("it stored %q", stored)
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

func TestTheServedCertificate(t *testing.T) {
	ca := issue(t, 1, nil, authority)
	served := issue(t, 0xa1, ca)
	for name, config := range map[string]*tls.Config{
		"TLS 1.3":            {MinVersion: tls.VersionTLS13},
		"TLS 1.2":            {MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12},
		"mutual TLS":         {MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert},
		"mutual TLS, by 1.2": {MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert},
	} {
		config.Certificates = []tls.Certificate{served.mustPair(t)}
		shown, err := network{tls: serving(t, config, shakeHands)}.certificate(t.Context(), x509.ECDSA)
		if err != nil || !shown.Equal(served.certificate) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (network{tls: serving(t, nil, speaking(nil))}).certificate(t.Context(), x509.ECDSA); err == nil {
		t.Error("plaintext shows a certificate")
	}
}

// The agent asks for a certificate whose key has a certain algorithm. If the server has none, the agent gets the certificate that the
// server prefers. The same happens if the server refuses TLS 1.2: with TLS 1.3, Go's clients cannot ask for an algorithm.
func TestACertificateForAnAlgorithm(t *testing.T) {
	ofEC, ofRSA := issue(t, 0xec, nil), issueFor(t, 0x25a, rsaKey(t, 2048), nil)
	for name, test := range map[string]struct {
		preferred, other *issued
		algorithm        x509.PublicKeyAlgorithm
		minVersion       uint16
		want             *issued
	}{
		"the preferred one":               {ofRSA, ofEC, x509.RSA, tls.VersionTLS12, ofRSA},
		"ECDSA":                           {ofRSA, ofEC, x509.ECDSA, tls.VersionTLS12, ofEC},
		"RSA":                             {ofEC, ofRSA, x509.RSA, tls.VersionTLS12, ofRSA},
		"ECDSA, without TLS 1.2":          {ofRSA, ofEC, x509.ECDSA, tls.VersionTLS13, ofRSA},
		"Ed25519, which the server lacks": {ofRSA, ofRSA, x509.Ed25519, tls.VersionTLS12, ofRSA},
	} {
		config := &tls.Config{MinVersion: test.minVersion, Certificates: []tls.Certificate{test.preferred.mustPair(t), test.other.mustPair(t)}}
		shown, err := network{tls: serving(t, config, shakeHands)}.certificate(t.Context(), test.algorithm)
		if err != nil || !shown.Equal(test.want.certificate) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSerialsAreThoseOfOpenSSL(t *testing.T) {
	for number, want := range map[int64]string{0xa1: "a1", 0xbad: "0bad", 1: "01"} {
		if got := serial(issue(t, number, nil).certificate); got != want {
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
