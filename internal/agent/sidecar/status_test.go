// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/x509"
	"encoding/json"
	"math/big"
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
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/test/daemon"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// certificateFor returns a certificate for the names, which are separated by spaces. It expires the given number of days after noon.
func certificateFor(days int, names string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: strings.Fields(names), NotBefore: noon.AddDate(-1, 0, 0), NotAfter: noon.AddDate(0, 0, days),
	}
}

// A certificate is a problem if it has expired, expires soon, or lacks a name by which clients reach the node.
func TestProblemsOfCertificates(t *testing.T) {
	const stable = "pages-0.pages.shop.svc"
	const names = "CertificateNames: issue the certificate in tls.crt for the names that clients check: it is not for "
	for _, test := range []struct {
		days  int
		names string
		want  []string
	}{
		{8, "pages.shop.svc *.pages.shop.svc", nil},
		{8, "pages.shop.svc.cluster.local *.pages.shop.svc.cluster.local", nil},
		{8, "pages.shop.svc.example *.pages.shop.svc.example", nil},
		{8, "pages.shop pages-0.pages.shop", nil},
		{7, "pages.shop.svc *.pages.shop.svc", []string{"CertificateExpiring: the certificate in tls.crt expires at 2026-01-08T12:00:00Z: renew it"}},
		{0, "pages.shop.svc *.pages.shop.svc", []string{"CertificateExpiring: the certificate in tls.crt has expired at 2026-01-01T12:00:00Z: renew it"}},
		{8, "pages.shop.svc", []string{names + stable}},
		{8, "*.pages.shop.svc", []string{names + "pages.shop.svc"}},
		{6, "pages-1.pages.shop.svc pages.blog.svc", []string{
			"CertificateExpiring: the certificate in tls.crt expires at 2026-01-07T12:00:00Z: renew it", names + "pages.shop.svc and " + stable,
		}},
	} {
		status := credentials.Status{Installed: certificateFor(test.days, test.names)}
		var got []string
		for _, problem := range problemsOf(status, []string{"pages.shop.svc", stable}, false, noon) {
			got = append(got, problem.Reason+": "+problem.Message)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, %d days (-want +got):\n%s", test.names, test.days, diff)
		}
	}
}

func TestProblems(t *testing.T) {
	for name, test := range map[string]struct {
		status credentials.Status
		full   bool
		want   []protocol.Problem
	}{
		"nothing": {want: []protocol.Problem{}},
		"a Secret that is refused": {
			status: credentials.Status{Refused: &credentials.InvalidError{Reason: "InvalidCertificate", Message: "tls.key is missing"}},
			want:   []protocol.Problem{{Reason: "InvalidCertificate", Message: "tls.key is missing"}},
		},
		"more than fits": {
			status: credentials.Status{Refused: &credentials.InvalidError{Reason: "InvalidCredentials", Message: strings.Repeat("x", 479) + "ä"}},
			want:   []protocol.Problem{{Reason: "InvalidCredentials", Message: strings.Repeat("x", 479)}},
		},
		"memcached does not read": {status: credentials.Status{Unverified: true}, want: []protocol.Problem{{
			Reason:  "ReloadFailed",
			Message: "memcached is not known to have read what the Secrets hold: the log of the container memcached-agent says why",
		}}},
		"no connection left": {full: true, want: []protocol.Problem{{
			Reason: "ConnectionLimit",
			Message: "clients have all connections, and memcached refuses more: raise spec.config.maxConnections, or close connections " +
				"that idle with spec.config.idleTimeout",
		}}},
		"a restart, for everything": {
			status: credentials.Status{RestartRequired: map[string]bool{
				credentials.ReasonCARemoved: true, credentials.ReasonCertificateRemoved: true, credentials.ReasonUserRemoved: true,
			}},
			want: []protocol.Problem{{
				Reason: "RestartRequired",
				Message: "clients with certificates of a CA that was removed from ca.crt can still connect, and clients that prefer the algorithm " +
					"of its key still get the certificate that was removed from tls.crt, and connections of a user or password that was removed " +
					"from the Secret of spec.auth.secretName may still be open, until memcached restarts",
			}},
		},
		"no restart": {status: credentials.Status{RestartRequired: map[string]bool{credentials.ReasonCARemoved: false}}, want: []protocol.Problem{}},
	} {
		if diff := cmp.Diff(test.want, problemsOf(test.status, nil, test.full, noon)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The longest answer must fit into the 4 KiB that the operator reads.
func TestTheLongestStatus(t *testing.T) {
	long := protocol.Problem{Reason: "InvalidCertificate", Message: strings.Repeat("x", protocol.MaxMessage)}
	var status protocol.Status
	for range protocol.Reasons() {
		status.Problems = append(status.Problems, long)
	}
	if text, err := json.Marshal(status); err != nil || len(text) > 4<<10 {
		t.Errorf("it has %d bytes: %v", len(text), err)
	}
}

func TestStatus(t *testing.T) {
	f := newFake(t, recorded(t, "default"))
	a := startAgent(t, f.options())
	mustSay := func(query string, code int, want string) {
		t.Helper()
		if got, body := a.get(t, protocol.StatusPath+query); got != code || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", query, got, body)
		}
	}
	mustSay("?host=pages.shop.svc&host=pages-0.pages.shop.svc", http.StatusOK, "{}")
	for _, query := range []string{"?host=<b>", "?host=", "?host=a&host=a&host=a&host=a&host=a", "?host=" + strings.Repeat("a", 254)} {
		mustSay(query, http.StatusBadRequest, "host must be the name of a host, at most 4 times")
	}
	f.behave(refuses)
	if got, body := a.get(t, "/readyz"); got != http.StatusOK {
		t.Errorf("/readyz: %d %s", got, body)
	}
	mustSay("", http.StatusOK, `"reason":"ConnectionLimit"`)
}

// The kernel uses the ID of a process again, for example when the kubelet has made a new sandbox for the pod.
func TestAProcessThatMustForgetIsNoOtherWithItsID(t *testing.T) {
	said := map[int]bool{}
	for _, started := range []int{4711, 4712} {
		status := credentials.Status{Process: credentials.Process{ID: 7, Started: started}}
		answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, protocol.StatusPath, http.NoBody)
		newStatusHandler(func() credentials.Status { return status }, newClient(Options{}))(answer, request)
		var got protocol.Status
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.Forget == 0 || said[got.Forget] {
			t.Errorf("%s, %v, after %v", answer.Body, err, said)
		}
		said[got.Forget] = true
	}
}

func secretFolder(t *testing.T, values map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for key, value := range values {
		must(t, os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600))
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
	must(t, os.WriteFile(file, []byte("bob:pass:word\n"), 0o600))
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
	o := withCredentials(t, newFake(t, recorded(t, "default")).options())
	o.Credentials.UsersSecret = secretFolder(t, nil)
	const problem = "InvalidCredentials: the Secret of spec.auth.secretName does not exist or has no keys: create it with each user as a key " +
		"whose value is the password"
	// The file simulates an agent that ran before in this pod and ended because of this problem.
	must(t, os.WriteFile(filepath.Join(o.Credentials.Folder, "state.json"), []byte(`{"refused":"`+problem+`"}`), 0o600))
	a := startAgent(t, o)
	eventually(t, "the reason", func() bool {
		status, body := a.get(t, "/startupz")
		return status == http.StatusServiceUnavailable && body == "memcached cannot start: "+problem+"\n"
	})
	a.mustScrape(t, "memcached_agent_reload_success 0")
	must(t, os.WriteFile(filepath.Join(o.Credentials.UsersSecret, "bob"), []byte("1"), 0o600))
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
	if diff := cmp.Diff(want, linesWith(response.Body.String(), "memcached_agent_")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
