// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/repository"
)

// These tests compare a real memcached (hack/memcached.sh) with fakeMemcached, and with what the agent accepts.

// startTLS starts a memcached that serves TLS with this certificate, and reads it again from the folder. It returns the address, or ""
// with what memcached has printed if it ends.
func startTLS(t *testing.T, crt, key string, args ...string) (memcached *exec.Cmd, folder, address, printed string) {
	t.Helper()
	folder = t.TempDir()
	writePair(t, folder, crt, key)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	_ = listener.Close()
	args = append(args, "-U", "0", "-l", address, "-Z", "-o", "ssl_chain_cert="+folder+"/tls.crt,ssl_key="+folder+"/tls.key")
	if os.Geteuid() == 0 {
		args = append(args, "-u", "root")
	}
	var output bytes.Buffer
	memcached = exec.CommandContext(t.Context(), repository.Path("bin", "memcached"), args...)
	memcached.Stdout, memcached.Stderr = &output, &output
	if err := memcached.Start(); err != nil {
		t.Fatalf("hack/memcached.sh provides it: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = memcached.Wait()
	}()
	for range 1000 {
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			return memcached, folder, address, ""
		}
		select {
		case <-ended:
			return nil, folder, "", output.String()
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatal("memcached neither serves nor ends")
	return nil, "", "", ""
}

func writePair(t *testing.T, folder, crt, key string) {
	t.Helper()
	for file, content := range map[string]string{"tls.crt": crt, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
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
		if _, _, address, printed := startTLS(t, string(accepted.files["tls.crt"]), string(accepted.files["tls.key"])); address == "" {
			t.Errorf("%s: memcached does not start: %s", name, printed)
		}
	}
}

// For each key algorithm, memcached serves the last certificate that it has read. The agent sees one of them.
func TestMemcachedReadsAKeyOfAnotherAlgorithm(t *testing.T) {
	t.Parallel()
	for name, test := range algorithmChanges(t) {
		var args []string
		if test.onlyTLS13 {
			args = []string{"-o", "ssl_min_version=3"}
		}
		memcached, folder, address, printed := startTLS(t, string(test.first.certificatePEM()), string(test.first.keyPEM(t)), args...)
		if address == "" {
			t.Fatal(printed)
		}
		writePair(t, folder, string(test.second.certificatePEM()), string(test.second.keyPEM(t)))
		if err := memcached.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // memcached acts on the signal within a second
		shown, err := network{tls: address}.certificate(t.Context(), test.second.certificate.PublicKeyAlgorithm)
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
			conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
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
