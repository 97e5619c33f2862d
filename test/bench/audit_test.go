// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// recorded is an audit log with requests of each category. Its last line is incomplete.
const recorded = "testdata/audit.log"

func TestAuditLog(t *testing.T) {
	log := &auditLog{path: recorded}
	got, err := log.since(0, "operator-1")
	if err != nil {
		t.Fatal(err)
	}
	want := counts{accepted: 3, rejected: 1, get: 1, list: 1, watch: 1, leases: 1, events: 1, others: 2}
	if diff := cmp.Diff(want, count(got)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	children, statuses := writesPerObject(got)
	a, b := types.NamespacedName{Namespace: "caches-000", Name: "a"}, types.NamespacedName{Namespace: "caches-000", Name: "b"}
	if diff := cmp.Diff(map[types.NamespacedName]int{a: 2, b: 1}, children); diff != "" {
		t.Errorf("writes to children (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[types.NamespacedName]int{a: 1}, statuses); diff != "" {
		t.Errorf("writes to statuses (-want +got):\n%s", diff)
	}
	written := 0
	for _, r := range got {
		written += r.bytes
	}
	if want := len(`{"status":{"replicas":3}}`); written != want {
		t.Errorf("%d bytes were written to statuses, want %d", written, want)
	}
	if got := patches(got); got != 5 {
		t.Errorf("%d patches and deletions, want 5", got)
	}
	if got := updates(got); got != 2 {
		t.Errorf("%d updates, want 2", got)
	}
}

// TestWritesPerObject checks that the ConfigMap with the servers counts as a child of its Memcached, although its name has a suffix. A
// Service with such a name belongs to another Memcached.
func TestWritesPerObject(t *testing.T) {
	write := func(resource, name string) request {
		return request{verb: "patch", resource: resource, code: http.StatusOK, object: types.NamespacedName{Name: name}}
	}
	children, _ := writesPerObject([]request{write("statefulsets", "a"), write("configmaps", "a-servers"), write("services", "b-servers")})
	want := map[types.NamespacedName]int{{Name: "a"}: 2, {Name: "b-servers"}: 1}
	if diff := cmp.Diff(want, children); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestProgressWrites checks that a status write counts if it comes at least five seconds after the previous one and is not the last
// one.
func TestProgressWrites(t *testing.T) {
	began := time.Now()
	at := func(name string, after time.Duration) request {
		return request{
			verb: "patch", resource: "memcacheds/status", code: http.StatusOK, object: types.NamespacedName{Name: name},
			received: began.Add(after), answered: began.Add(after + 10*time.Millisecond),
		}
	}
	got := progressWrites([]request{
		at("quick", 0), at("slow", 0), at("hasty", 0), at("late", 0),
		at("quick", time.Second),
		at("hasty", 4*time.Second), at("hasty", 8*time.Second),
		at("slow", 5010*time.Millisecond), at("slow", 10020*time.Millisecond), at("slow", 11*time.Second),
		at("late", 20*time.Second),
	})
	want := map[types.NamespacedName]int{{Name: "slow"}: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAuditLogGrows writes the log in two parts. The first part ends within a line.
func TestAuditLogGrows(t *testing.T) {
	content, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	log := &auditLog{path: filepath.Join(t.TempDir(), "audit.log")}
	half := len(content) / 2
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(log.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(content[:half])
	first, err := log.mark()
	if err != nil {
		t.Fatal(err)
	}
	write(content)
	if _, err := log.mark(); err != nil {
		t.Fatal(err)
	}
	whole := &auditLog{path: recorded}
	if _, err := whole.mark(); err != nil {
		t.Fatal(err)
	}
	if first == 0 || int(first) >= len(whole.requests) {
		t.Errorf("half of the log gives %d of %d requests", first, len(whole.requests))
	}
	if diff := cmp.Diff(whole.requests, log.requests, cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("the log read in parts differs (-whole +parts):\n%s", diff)
	}
}

func TestAuditLogRefusesOtherText(t *testing.T) {
	log := &auditLog{path: filepath.Join(t.TempDir(), "audit.log")}
	if err := os.WriteFile(log.path, []byte("no event\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.mark(); err == nil {
		t.Error("a line that is not an event was accepted")
	}
}
