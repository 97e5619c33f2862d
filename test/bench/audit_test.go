// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// recorded is an audit log with one request of each sort, and a last line that is still being written.
const recorded = "testdata/audit.log"

func TestAuditLog(t *testing.T) {
	log := &auditLog{path: recorded}
	got, err := log.since(0, "operator-1")
	if err != nil {
		t.Fatal(err)
	}
	want := counts{accepted: 3, rejected: 1, get: 1, list: 1, watch: 1, leases: 1, events: 1, others: 2}
	if diff := cmp.Diff(want, count(got)); diff != "" {
		t.Errorf("the requests are others (-want +got):\n%s", diff)
	}
	children, statuses := writesPerObject(got)
	a, b := types.NamespacedName{Namespace: "caches-000", Name: "a"}, types.NamespacedName{Namespace: "caches-000", Name: "b"}
	if diff := cmp.Diff(map[types.NamespacedName]int{a: 2, b: 1}, children); diff != "" {
		t.Errorf("the writes to children are others (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[types.NamespacedName]int{a: 1}, statuses); diff != "" {
		t.Errorf("the writes to statuses are others (-want +got):\n%s", diff)
	}
	written := 0
	for _, r := range got {
		written += r.bytes
	}
	if want := len(`{"status":{"replicas":3}}`); written != want {
		t.Errorf("%d bytes were written to statuses, not %d", written, want)
	}
	if got := patches(got); got != 5 {
		t.Errorf("there are %d patches and deletions, not 5", got)
	}
	if got := updates(got); got != 2 {
		t.Errorf("there are %d updates, not 2", got)
	}
}

// TestAuditLogGrows writes the log in two parts, of which the first ends within a line.
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
		t.Errorf("half of the log has %d of %d requests", first, len(whole.requests))
	}
	if diff := cmp.Diff(whole.requests, log.requests, cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("the log read in parts is another (-whole +parts):\n%s", diff)
	}
}

func TestAuditLogRefusesOtherText(t *testing.T) {
	log := &auditLog{path: filepath.Join(t.TempDir(), "audit.log")}
	if err := os.WriteFile(log.path, []byte("no event\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.mark(); err == nil {
		t.Error("a line that is no event was read")
	}
}
