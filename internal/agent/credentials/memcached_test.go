// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/daemon"
)

// These tests compare a real memcached (hack/memcached.sh) with fakeMemcached, and with what the agent accepts.

// startTLS starts a memcached that serves TLS with the files in a folder.
func startTLS(t *testing.T, folder string, options string) *daemon.Memcached {
	t.Helper()
	return daemon.Start(t, "-Z", "-o", "ssl_chain_cert="+folder+"/tls.crt,ssl_key="+folder+"/tls.key"+options)
}

func writeFiles(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// memcached must start with the files that the agent writes for each pair that it accepts.
func TestMemcachedStartsWithWhatTheAgentAccepts(t *testing.T) {
	t.Parallel()
	for name, test := range pairs(t) {
		accepted, err := parsePair(map[string][]byte{"tls.crt": []byte(test.crt), "tls.key": []byte(test.key)}, false)
		if err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, accepted.files)
			startTLS(t, folder, "")
		})
	}
}

// For each key algorithm, memcached serves the last certificate that it has read. The agent sees one of them.
func TestMemcachedReadsAKeyOfAnotherAlgorithm(t *testing.T) {
	t.Parallel()
	for name, test := range algorithmChanges(t) {
		options, folder := "", t.TempDir()
		if test.onlyTLS13 {
			options = ",ssl_min_version=3"
		}
		writeFiles(t, folder, test.first.tlsSecret(t))
		memcached := startTLS(t, folder, options)
		writeFiles(t, folder, test.second.tlsSecret(t))
		running := procfs{files: os.DirFS("/proc")} // the program may be the loader that runs memcached
		process := running.read(memcached.Command.Process.Pid)
		if !errors.Is(running.hangUp(Process{}), errGone) || !errors.Is(running.hangUp(Process{process.ID, process.Started - 1}), errGone) {
			t.Error("a process that is gone was signaled")
		}
		if err := running.hangUp(process); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // memcached acts on the signal within a second
		shown, err := network{tls: memcached.Address}.certificate(t.Context(), test.second.certificate.PublicKeyAlgorithm)
		if err != nil || Serial(shown) != test.served {
			t.Errorf("%s: the agent gets %v", name, err)
		}
		for kind, suite := range map[x509.PublicKeyAlgorithm]uint16{
			x509.ECDSA: tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, x509.RSA: tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		} {
			want := test.first
			if test.second.certificate.PublicKeyAlgorithm == kind {
				want = test.second
			}
			config := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}
			conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", memcached.Address)
			if test.onlyTLS13 {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]; !got.Equal(want.certificate) {
				t.Errorf("%s: a client that supports only %s gets %s", name, kind, Serial(got))
			}
			_ = conn.Close()
		}
	}
}
