// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEndToEndVerdict(t *testing.T) {
	for took, want := range map[time.Duration]map[string]verdict{
		60 * time.Second: {"1000 resources until the last is Ready, ratio (aim 1.4) 1.50": holds},
		72 * time.Second: {"1000 resources until the last is Ready, ratio (aim 1.4) 1.80": missed},
	} {
		b := &bench{burst: burst{operator: took, bare: 40 * time.Second}}
		b.addEndToEnd(1000)
		times := slices.DeleteFunc(b.report.Results, func(one *result) bool { return one.Unit != "times" })
		if diff := cmp.Diff(want, verdicts(times)); diff != "" {
			t.Errorf("verdicts after %s (-want +got):\n%s", took, diff)
		}
	}
}
