// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

const exposed = `# TYPE reconcile_seconds histogram
reconcile_seconds_bucket{controller="memcached",le="0.005"} 90
reconcile_seconds_bucket{controller="memcached",le="0.01"} 98
reconcile_seconds_bucket{controller="memcached",le="0.1"} 99
reconcile_seconds_bucket{controller="memcached",le="+Inf"} 100
reconcile_seconds_sum{controller="memcached"} 2
reconcile_seconds_count{controller="memcached"} 100
reconcile_seconds_bucket{controller="other",le="0.005"} 0
reconcile_seconds_bucket{controller="other",le="+Inf"} 7
reconcile_seconds_sum{controller="other"} 70
reconcile_seconds_count{controller="other"} 7
`

func read(t *testing.T, text string) histogram {
	t.Helper()
	f, err := parseFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f.histogram("reconcile_seconds", "controller", "memcached")
}

func TestHistogram(t *testing.T) {
	h := read(t, exposed)
	for p, want := range map[float64]float64{50: 0.005, 90: 0.005, 91: 0.01, 99: 0.1} {
		if got := h.percentile(p); got != want {
			t.Errorf("%g %% take at most %g s, want %g s", p, got, want)
		}
	}
	if got := h.mean(); got != 0.02 {
		t.Errorf("the mean is %g s, want 0.02 s", got)
	}
}

func TestHistogramSince(t *testing.T) {
	h := read(t, exposed)
	later := read(t, strings.NewReplacer(
		`="0.1"} 99`, `="0.1"} 109`, `memcached",le="+Inf"} 100`, `memcached",le="+Inf"} 110`,
		`sum{controller="memcached"} 2`, `sum{controller="memcached"} 3`,
		`count{controller="memcached"} 100`, `count{controller="memcached"} 110`,
	).Replace(exposed)).since(h)
	if got := later.percentile(50); got != 0.1 || later.count != 10 || later.mean() != 0.1 {
		t.Errorf("the median of %d is at most %g s, the mean is %g s", later.count, got, later.mean())
	}
	if none := h.since(h); none.mean() != 0 || none.percentile(99) != 0 {
		t.Errorf("an empty histogram has the percentile %g s and the mean %g s", none.percentile(99), none.mean())
	}
}
