// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/internal/agent/credentials"
	certificates "github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/daemon"
)

func secretFolder(t *testing.T, values map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for key, value := range values {
		if err := os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// withCredentials gives the agent a folder for memcached's files. The folder for processes is empty, so the agent finds no memcached
// to signal.
func withCredentials(t *testing.T, o Options) Options {
	t.Helper()
	o.Credentials.Folder, o.Credentials.Processes = t.TempDir(), t.TempDir()
	return o
}

// startAsUser starts a memcached with the user bob, and an agent with these users. It waits until memcached may start.
func startAsUser(t *testing.T, users map[string]string) (*agent, *daemon.Memcached) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("bob:pass:word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	memcached := daemon.Start(t, "-Y", file)
	o := withCredentials(t, Options{Memcached: memcached.Address, Timeout: time.Second})
	o.Credentials.UsersSecret = secretFolder(t, users)
	a := startAgent(t, o)
	eventually(t, "the start", func() bool {
		status, _ := a.get(t, "/startupz")
		return status == http.StatusOK
	})
	return a, memcached
}

// The agent logs in only once on a connection, even if a probe has opened the connection.
func TestStatisticsAreReadAsAUser(t *testing.T) {
	a, memcached := startAsUser(t, map[string]string{"bob": "pass:word", "zoe": "other"})
	if status, body := a.get(t, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	for range 3 {
		a.mustScrape(t, "memcached_up 1", "memcached_current_items 0")
	}
	conn := memcached.Connect()
	if reply, err := conn.Command(t.Context(), "set auth 0 0 13\r\nbob pass:word"); reply != "STORED" {
		t.Fatal(reply, err)
	}
	if stats, err := conn.Stats(t.Context()); stats["auth_cmds"] != "2" || stats["auth_errors"] != "0" {
		t.Errorf("%s logins, of which %s failed: %v", stats["auth_cmds"], stats["auth_errors"], err)
	}
}

func TestAWrongPasswordShowsInTheReason(t *testing.T) {
	a, _ := startAsUser(t, map[string]string{"bob": "hunter2"})
	a.mustScrape(t, "memcached_up 0", `memcached_agent_read_failures_total{reason="unauthenticated"} 1`)
	for _, path := range []string{"/metrics", "/readyz", "/startupz"} {
		if _, body := a.get(t, path); strings.Contains(body, "hunter2") {
			t.Errorf("%s shows the password:\n%s", path, body)
		}
	}
}

func TestMemcachedStartsWhenItsSecretIsValid(t *testing.T) {
	authority, err := certificates.NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("memcached", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	o := withCredentials(t, newFake(t, recorded(t, "default")).options())
	o.Credentials.TLSSecret = secretFolder(t, map[string]string{"tls.crt": string(pair.Certificate)})
	const problem = "InvalidCertificate: tls.key is missing or empty in the Secret of spec.tls.secretName: add its private key as " +
		"PEM"
	// The file simulates an agent that ran before in this pod and ended because of this problem.
	record, err := json.Marshal(map[string]string{"refused": problem})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Credentials.Folder, "state.json"), record, 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, o)
	eventually(t, "the reason", func() bool {
		status, body := a.get(t, "/startupz")
		return status == http.StatusServiceUnavailable && body == "memcached cannot start: "+problem+"\n"
	})
	a.mustScrape(t, "memcached_agent_reload_success 0")
	if err := os.WriteFile(filepath.Join(o.Credentials.TLSSecret, "tls.key"), pair.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the start", func() bool {
		status, body := a.get(t, "/startupz")
		return status == http.StatusOK && body == "ok\n"
	})
	a.mustScrape(t, "memcached_agent_reload_success 1", `memcached_agent_restart_required{reason="ca_removed"} 0`,
		`memcached_agent_restart_required{reason="certificate_removed"} 0`, `memcached_agent_restart_required{reason="user_removed"} 0`)
}

// An agent without credentials has no series about them, and lets memcached start at once.
func TestNoCredentials(t *testing.T) {
	a := startAgent(t, newFake(t, recorded(t, "default")).options())
	if status, body := a.get(t, "/startupz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/startupz: %d %s", status, body)
	}
	if _, body := a.get(t, "/metrics"); strings.Contains(body, "memcached_agent_reload") || strings.Contains(body, "memcached_agent_restart") {
		t.Errorf("/metrics:\n%s", body)
	}
}

func TestSeriesOfCredentials(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCredentialsGauges(func() credentials.Status {
		return credentials.Status{
			Served:    &x509.Certificate{SerialNumber: big.NewInt(0x0a1b2c), NotAfter: time.Unix(1_800_000_000, 0)},
			Attempted: time.Unix(1_700_000_000, 0), Succeeded: true,
			RestartRequired: map[string]bool{credentials.ReasonCARemoved: true, credentials.ReasonUserRemoved: false},
		}
	}))
	response := httptest.NewRecorder()
	newExposition(registry).ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	want := `memcached_agent_certificate_expiry_timestamp_seconds 1.8e+09
memcached_agent_certificate_info{serial="0a1b2c"} 1
memcached_agent_last_reload_timestamp_seconds 1.7e+09
memcached_agent_reload_success 1
memcached_agent_restart_required{reason="ca_removed"} 1
memcached_agent_restart_required{reason="user_removed"} 0
`
	var got strings.Builder
	for line := range strings.Lines(response.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFlagsOfCredentials(t *testing.T) {
	o, err := parse([]string{
		"--tls-secret=/a", "--client-ca", "--users-secret=/b", "--credentials=/c", "--termination-log=/d",
	}, nil)
	want := credentials.Config{
		TLSSecret: "/a", TLS: "127.0.0.1:11212", ClientCA: true, UsersSecret: "/b", Folder: "/c", TerminationLog: "/d",
	}
	if err != nil || o.Credentials != want {
		t.Errorf("got %+v, %v", o.Credentials, err)
	}
}

// Without the folder for memcached's files, the agent ends with an error.
func TestAFolderThatIsMissingEndsTheAgent(t *testing.T) {
	o := withCredentials(t, newFake(t, recorded(t, "default")).options())
	o.Credentials.UsersSecret = secretFolder(t, map[string]string{"bob": "1"})
	o.Credentials.Folder = filepath.Join(o.Credentials.Folder, "missing")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	err = serve(t.Context(), o, "v1.2.3", slog.New(slog.NewTextHandler(&log, nil)), listener)
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("got %v", err)
	}
}
