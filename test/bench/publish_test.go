// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// example returns a report. Some results hold, some miss their thresholds, and some have no threshold. They are not ordered by metric.
func example() report {
	r := report{Conditions: conditions{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 90 * time.Second, CPUs: 2, Memory: "8 GiB",
		Platform: "linux/amd64", Kubernetes: "v1.37.0", Operator: "0123456789ab", Rounds: 3,
	}}
	for _, ratio := range []float64{1.3, 1.1, 1.26} {
		r.hold(throughput, "ratio", "times", ratio, threshold{1.25, false})
	}
	r.hold(converge, "writes, mean", "writes", 4.25, threshold{5.2, true})
	r.holdCount(converge, "rejected writes", "writes", 0, 0)
	r.holdCount(converge, "no-ops", "writes", 0, 0)
	for _, gets := range []float64{0, 1, 0} {
		r.hold(restart, "GETs", "GETs", gets, threshold{0, true})
	}
	r.add(footprint, "memory", "MiB", 123.4)
	for _, what := range []string{"image changed", "size changed, with monitoring"} {
		r.holdCount(operations, "child writes: "+what, "writes", 1, 1)
	}
	r.holdCount(operations, "child writes: deleted", "writes", 2, 1)
	r.addDetail(footprint, "memory before", "MiB", 100)
	r.Phases = append(r.Phases, phase{
		Metric: converge, Name: "from creation to Ready", NoOps: 1,
		Counts: counts{accepted: 8, rejected: 2, get: 3, list: 4, watch: 5, leases: 6, events: 7, others: 9},
	}, phase{Metric: hostility, Name: "restart", NoOps: -1})
	return r
}

// verdicts returns the verdict on each result. The keys consist of the name and the value.
func verdicts(results []*result) map[string]verdict {
	found := map[string]verdict{}
	for _, one := range results {
		found[one.Name+" "+one.text()] = one.verdict()
	}
	return found
}

func TestReport(t *testing.T) {
	r := example()
	var terminal bytes.Buffer
	if err := r.write(&terminal); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.txt", terminal.String())
	golden(t, "testdata/report.md", r.markdown())
}

func TestMissed(t *testing.T) {
	r := example()
	names := func(results []*result) []string {
		var names []string
		for _, one := range results {
			names = append(names, one.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"ratio", "GETs", "child writes: deleted"}, names(r.missed(false))); diff != "" {
		t.Errorf("missed results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GETs", "child writes: deleted"}, names(r.missed(true))); diff != "" {
		t.Errorf("missed counts (-want +got):\n%s", diff)
	}
}

func TestPublishKeepsTheDocumentationOfACompleteRun(t *testing.T) {
	const before = beginMarker + "\n" + endMarker + "\n"
	for _, complete := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "benchmarks.md")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		b := &bench{options: options{updated: file}, out: io.Discard, report: example()}
		if err := b.publish(complete); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if updated := string(after) != before; updated != complete {
			t.Errorf("complete is %t, but updated is %t", complete, updated)
		}
	}
}

func TestReplaceResults(t *testing.T) {
	const text = "before\n" + beginMarker + "\nold\n" + endMarker + "\nafter\n"
	got, err := replaceResults(text, "new\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + beginMarker + "\nnew\n" + endMarker + "\nafter\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, broken := range []string{"", beginMarker, endMarker, endMarker + beginMarker} {
		if _, err := replaceResults(broken, "new"); err == nil {
			t.Errorf("%q was updated", broken)
		}
	}
	content, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replaceResults(string(content), ""); err != nil {
		t.Errorf("docs/benchmarks.md cannot be updated: %v", err)
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}
