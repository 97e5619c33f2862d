// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build hostile

package hostile

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/credentials"
)

const (
	// longest is the length of the longest ClientHello that OpenSSL accepts, without its header of 4 bytes.
	longest = 131396
	// record is how many bytes of data a TLS record holds, at most.
	record = 16384
	// hostileClients is a little less than the default maxConnections, so that a node admits all these clients.
	hostileClients = 1000
	// settled is how long the memory of a node must stay the same to count as final.
	settled = time.Second
)

// handshakes are the data of clients that never authenticate. The memory that each client costs a node is in the range from least to most,
// in bytes, as docs/concepts/sizing.md says.
var handshakes = map[string]struct {
	sent        func() []byte
	least, most int64
}{
	"nothing":    {func() []byte { return nil }, 0, 50 * kibibyte},
	"incomplete": {func() []byte { return inRecords(message(longest, randomBytes(longest-1))) }, 140 * kibibyte, 180 * kibibyte},
	"complete":   {func() []byte { return inRecords(clientHello()) }, 450 * kibibyte, 650 * kibibyte},
}

// The node demands a certificate and a password. These clients have neither.
func TestUnfinishedHandshakesCostWhatTheDocumentationSays(t *testing.T) {
	for name, handshake := range handshakes {
		t.Run(name, func(t *testing.T) {
			n := start(t, secured(nil), secrets(t))
			before := n.resident(t)
			for range hostileClients {
				conn := n.connect(t)
				_, err := conn.Write(handshake.sent())
				must(t, err)
				t.Cleanup(func() { _ = conn.Close() })
			}
			each := (n.settledMemory(t) - before) / hostileClients
			t.Logf("%d KiB for each connection; %d MiB in all, and the limit is %d", each/kibibyte, n.resident(t)/mebibyte, n.limit/mebibyte)
			if each < handshake.least || each > handshake.most {
				t.Errorf("%d bytes for each connection, and not %d to %d: correct the documentation", each, handshake.least, handshake.most)
			}
		})
	}
}

// memcached counts the idle time from the last command. A client that sends a handshake byte by byte is therefore idle.
func TestIdleTimeoutEndsUnfinishedHandshakes(t *testing.T) {
	n := start(t, secured(&metav1.Duration{Duration: time.Second}), secrets(t))
	for name, handshake := range handshakes {
		t.Run(name, func(t *testing.T) {
			conn := n.connect(t)
			_, err := conn.Write(handshake.sent())
			must(t, err)
			untilClosed(t, conn)
		})
	}
	t.Run("a byte from time to time", func(t *testing.T) {
		conn := n.connect(t)
		go func() {
			for _, b := range inRecords(clientHello()) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(settled / 10)
			}
		}()
		untilClosed(t, conn)
	})
}

// untilClosed waits until memcached closes a connection. The test fails if the deadline of the connection comes first.
func untilClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, conn)
	if netErr := net.Error(nil); errors.As(err, &netErr) && netErr.Timeout() {
		t.Error("memcached does not close the connection")
	}
	_ = conn.Close()
}

// settledMemory waits until memcached's resident memory stays the same, and returns it in bytes. memcached has then
// handled everything that was sent.
func (n *node) settledMemory(t *testing.T) int64 {
	t.Helper()
	last, since := n.resident(t), time.Now()
	for time.Since(since) < settled {
		time.Sleep(settled / 10)
		if now := n.resident(t); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

func secured(idleTimeout *metav1.Duration) cachev1alpha1.MemcachedSpec {
	spec := cachev1alpha1.MemcachedSpec{Size: 1, Workload: cachev1alpha1.WorkloadStatefulSet}
	spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "sessions-tls", ClientAuth: cachev1alpha1.ClientAuthRequire}
	spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "sessions-users"}
	spec.Config.IdleTimeout = idleTimeout
	return spec
}

// secrets returns the files with certificates and users that the agent beside memcached would deliver, by file name.
func secrets(t *testing.T) map[string][]byte {
	t.Helper()
	authority, err := credentials.NewAuthority("test")
	must(t, err)
	identity, err := authority.Server("memcached", "127.0.0.1")
	must(t, err)
	return map[string][]byte{
		"tls.crt": identity.Certificate, "tls.key": identity.Key, "ca.crt": authority.PEM(), "users": []byte("web:password\n"),
	}
}

// clientHello returns a valid ClientHello of TLS 1.2 that is almost as long as OpenSSL allows. Its ciphers and its extensions have
// almost 64 KiB each.
func clientHello() []byte {
	ciphers := make([]byte, 0, 65532)
	for len(ciphers) < cap(ciphers) {
		ciphers = append(ciphers, 0xc0, 0x2b) // ECDHE-ECDSA-AES128-GCM-SHA256
	}
	extensions := extension(10, []byte{0, 2, 0, 23})                                         // the curve P-256
	extensions = append(extensions, extension(13, []byte{0, 2, 4, 3})...)                    // ECDSA with SHA-256
	extensions = append(extensions, extension(21, make([]byte, 65535-len(extensions)-4))...) // padding
	body := append([]byte{3, 3}, randomBytes(32)...)
	body = append(body, 0)                         // no session
	body = append(withLength(body, ciphers), 1, 0) // no compression
	body = withLength(body, extensions)
	return message(len(body), body)
}

// message returns a ClientHello with this body. The header announces the given length, which may be more than the body has.
func message(length int, body []byte) []byte {
	return append([]byte{1, byte(length >> 16), byte(length >> 8), byte(length)}, body...)
}

func extension(kind byte, data []byte) []byte { return withLength([]byte{0, kind}, data) }

func withLength(to, data []byte) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(data))), data...)
}

// inRecords divides a handshake message into TLS records.
func inRecords(message []byte) []byte {
	var records []byte
	for len(message) > 0 {
		size := min(len(message), record)
		records = withLength(append(records, 22, 3, 1), message[:size])
		message = message[size:]
	}
	return records
}

func randomBytes(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.Read(data) // it never fails
	return data
}
