// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-only", "M1,M4", "-rounds", "3"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]metric{converge, throughput}, o.only); diff != "" || o.rounds != 3 {
		t.Errorf("rounds is %d, want 3; metrics (-want +got):\n%s", o.rounds, diff)
	}
	for _, args := range [][]string{
		{"-only", "M14"},
		{"-only", "M1", "-update", "docs/benchmarks.md"},
		{"-resources", "20", "-update", "docs/benchmarks.md"},
		{"-foreign", "1", "-update", "docs/benchmarks.md"},
		{"-resources", "1"},
		{"-large", "0"},
		{"-foreign", "0"},
		{"-few", "0"},
		{"-statefulsets", "0"},
		{"-monitored", "0"},
		{"-secured", "0"},
		{"-clients", "0"},
		{"-requests", "0"},
		{"-requests", "1000", "-update", "docs/benchmarks.md"},
		{"-scrapes", "0"},
		{"-cache", "63"},
		{"-cache", "64", "-update", "docs/benchmarks.md"},
		{"-paced", "1"},
		{"-nodes", "9"},
		{"-nodes", "1001"},
		{"-hostile", "0"},
		{"-paced", "60", "-update", "docs/benchmarks.md"},
		{"-rounds", "0"},
		{"-many", "0"},
		{"-gate", "none"},
	} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestOnlyABinaryThatNamesItsCommitIsPublished(t *testing.T) {
	// The directory of this test contains no binary of the operator.
	b := &bench{options: options{updated: "benchmarks.md"}}
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "commit") {
		t.Errorf("got the error %v", err)
	}
}
