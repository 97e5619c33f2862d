// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/daemon"
)

func TestLogins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	must(t, os.WriteFile(file, []byte("bob:a b\neve:2\n"), 0o600))
	n := network{plaintext: daemon.Start(t, "-Y", file).Address}
	if err := n.answers(t.Context()); err != nil {
		t.Errorf("answers: %v", err)
	}
	for user, want := range map[User]bool{{"bob", "a b"}: true, {"bob", "1"}: false, {"eve", "2"}: true} {
		if accepted, err := n.accepts(t.Context(), user); accepted != want || err != nil {
			t.Errorf("%s: %t, %v", user, accepted, err)
		}
	}
	if _, err := n.refreshed(t.Context(), []User{{"bob", "former"}}); !errors.Is(err, memcache.ErrUnauthenticated) {
		t.Errorf("refreshed with a former password: %v", err)
	}
	open := daemon.Start(t) // it would store a password as a value
	_, _ = network{plaintext: open.Address}.accepts(t.Context(), User{"bob", "hunter2"})
	if stats, err := open.Connect().Stats(t.Context()); stats["cmd_set"] != "0" {
		t.Errorf("a memcached without users stored %s items: %v", stats["cmd_set"], err)
	}
}

func TestMemcachedAtItsConnectionLimitAnswers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_, _ = io.WriteString(conn, "ERROR Too many open connections\r\n")
			_ = conn.Close()
		}
	}()
	n := network{plaintext: listener.Addr().String(), tls: listener.Addr().String()}
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

// readSecret returns the values of the Secret's current version, and only those. In a folder without versions, the values are the
// files.
func TestSecretsAreReadAtOnce(t *testing.T) {
	v := &volume{folder: t.TempDir()}
	mustRead := func(want map[string][]byte) {
		t.Helper()
		if got, err := readSecret(v.folder); err != nil || !maps.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	writeFiles(t, v.folder, usersSecret("plain", "0"))
	mustRead(usersSecret("plain", "0"))
	for _, values := range []map[string][]byte{usersSecret("bob", "1"), usersSecret("eve", "2"), {}} {
		v.set(t, with(values, "..hidden", ""))
		mustRead(values)
	}
	if _, err := readSecret(filepath.Join(v.folder, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing volume: %v", err)
	}
}

// startTLS starts a memcached that serves TLS with the files in a folder.
func startTLS(t *testing.T, folder string, options string) *daemon.Memcached {
	t.Helper()
	return daemon.Start(t, "-Z", "-o", "ssl_chain_cert="+folder+"/tls.crt,ssl_key="+folder+"/tls.key"+options)
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

// For each key algorithm, memcached serves the last certificate that it has read. The agent asks for one of them, but gets another one if
// memcached refuses TLS 1.2, or has none. A memcached that demands certificates from its clients shows its own to the agent as well.
func TestMemcachedReadsAKeyOfAnotherAlgorithm(t *testing.T) {
	t.Parallel()
	ofEC, ofRSA := issue(t, 0xec, nil), issueFor(t, 0x25a, rsaKey(t, 2048), nil)
	for name, test := range map[string]struct {
		first, second *issued
		options       string
		served        *issued
	}{
		"to RSA":                {ofEC, ofRSA, "", ofRSA},
		"to ECDSA":              {ofRSA, ofEC, "", ofEC},
		"to RSA with TLS 1.3":   {ofEC, ofRSA, ",ssl_min_version=3", ofRSA},
		"to ECDSA with TLS 1.3": {ofRSA, ofEC, ",ssl_min_version=3", ofRSA},
		"with mutual TLS":       {ofRSA, ofEC, ",ssl_verify_mode=2,ssl_ca_cert=CA", ofEC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			writeFiles(t, folder, test.first.tlsSecret(t, issue(t, 1, nil, authority)))
			memcached := startTLS(t, folder, strings.Replace(test.options, "CA", folder+"/ca.crt", 1))
			agent := network{tls: memcached.Address}
			mustShow := func(want *issued, algorithm x509.PublicKeyAlgorithm) {
				t.Helper()
				if shown, err := agent.certificate(t.Context(), algorithm); err != nil || !shown.Equal(want.certificate) {
					t.Errorf("for %s, the agent gets %v, %v", algorithm, shown, err)
				}
			}
			for _, algorithm := range []x509.PublicKeyAlgorithm{x509.RSA, x509.ECDSA, x509.Ed25519} {
				mustShow(test.first, algorithm)
			}
			writeFiles(t, folder, test.second.tlsSecret(t))
			running := procfs{files: os.DirFS("/proc")} // the program may be the loader that runs memcached
			process := running.read(memcached.Command.Process.Pid)
			if !errors.Is(running.hangUp(Process{}), errGone) || !errors.Is(running.hangUp(Process{process.ID, process.Started - 1}), errGone) {
				t.Error("a process that is gone was signaled")
			}
			must(t, running.hangUp(process))
			time.Sleep(2 * time.Second) // memcached acts on the signal within a second
			mustShow(test.served, test.second.certificate.PublicKeyAlgorithm)
			if !strings.Contains(test.options, "ssl_min_version=3") {
				mustShow(test.first, test.first.certificate.PublicKeyAlgorithm)
			}
		})
	}
}

func stat(name, state, started string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("1 (" + name + ") " + state + " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 5 0 " + started + " 1 1")}
}

func TestTheOldestMemcachedIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		files fstest.MapFS
		want  Process
	}{
		"none":             {fstest.MapFS{"1/stat": stat("pause", "S", "1"), "self": {}, "9/comm": {}}, Process{}},
		"one":              {fstest.MapFS{"1/stat": stat("pause", "S", "1"), "17/stat": stat("memcached", "S", "500")}, Process{17, 500}},
		"with a help text": {fstest.MapFS{"17/stat": stat("memcached", "S", "500"), "9/stat": stat("memcached", "R", "700")}, Process{17, 500}},
		"a zombie":         {fstest.MapFS{"17/stat": stat("memcached", "Z", "500")}, Process{}},
		"others":           {fstest.MapFS{"17/stat": stat("memcached-tool", "S", "5"), "18/stat": stat("a) (memcached", "S", "5"), "19/stat": {}}, Process{}},
	} {
		got, err := procfs{files: test.files, name: "memcached"}.find()
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
