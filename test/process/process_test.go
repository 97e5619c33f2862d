// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/process"
)

// start starts a shell command. The caller must stop it, unless it ends by itself.
func start(t *testing.T, command string) *process.Process {
	t.Helper()
	dir := t.TempDir()
	p, err := process.Start(process.Spec{
		Name: "it", Path: "/bin/sh", Args: []string{"-c", command}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: dir, LogFile: filepath.Join(dir, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func waitFor(t *testing.T, p *process.Process, word string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(p.Tail(1), word); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not print %q", word)
		}
	}
}

func TestErrShowsStatusAndLog(t *testing.T) {
	p := start(t, "echo first; echo last >&2; exit 3")
	if err := p.Err().Error(); !strings.Contains(err, "it ended by itself (exit status 3)") ||
		!strings.HasSuffix(err, "first\nlast") {
		t.Errorf("got %q", err)
	}
	if got := p.Tail(1); got != "last" {
		t.Errorf("the last line is %q", got)
	}
	if err := p.Stop(time.Second); err != nil {
		t.Errorf("stopping what has ended: %v", err)
	}
}

func TestErrWithoutOutput(t *testing.T) {
	if err := start(t, "exit 0").Err().Error(); !strings.Contains(err, "(exit status 0) and printed nothing") {
		t.Errorf("got %q", err)
	}
}

func TestStop(t *testing.T) {
	p := start(t, "trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.01; done")
	waitFor(t, p, "ready")
	if err := p.Stop(10 * time.Second); err != nil {
		t.Error(err)
	}
	if got := p.Tail(1); got != "stopped" {
		t.Errorf("it was not asked to end: the last line is %q", got)
	}
}

func TestStopKills(t *testing.T) {
	p := start(t, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	waitFor(t, p, "ready")
	if err := p.Stop(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("got %v", err)
	}
}

func TestStartReportsMissingCommand(t *testing.T) {
	_, err := process.Start(process.Spec{Name: "it", Path: "/does/not/exist", LogFile: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.HasPrefix(err.Error(), "starting it: ") {
		t.Errorf("got %v", err)
	}
}

func TestUntilServing(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		if requests < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	p := start(t, "while :; do sleep 0.01; done")
	if err := p.UntilServing(t.Context(), server.URL, time.Millisecond, 10*time.Second); err != nil || requests != 3 {
		t.Errorf("got %v after %d requests, want 3", err, requests)
	}
	if err := p.UntilServing(t.Context(), "http://127.0.0.1:0", time.Millisecond, 10*time.Millisecond); err == nil {
		t.Error("nothing listens, got no error")
	}
	if err := p.Stop(10 * time.Second); err != nil {
		t.Error(err)
	}
	if err := p.UntilServing(t.Context(), server.URL, time.Millisecond, time.Minute); err == nil ||
		!strings.Contains(err.Error(), "ended") {
		t.Errorf("it has ended, got %v", err)
	}
}
