// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadinessVerdictUsesTheDifference(t *testing.T) {
	b := &bench{}
	ms := func(values ...int) []time.Duration {
		var durations []time.Duration
		for _, value := range values {
			durations = append(durations, time.Duration(value)*time.Millisecond)
		}
		return durations
	}
	b.addReadiness(ms(200, 300, 900), ms(150, 160, 170), ms(140, 145, 150))
	want := map[string]verdict{
		"two resources a second, each until it is Ready, p50 300":          informative,
		"two resources a second, each until it is Ready, p99 900":          informative,
		"their Deployments until they are available, p50 160":              informative,
		"their Deployments until they are available, p99 170":              informative,
		"bare children at the same pace until they are available, p50 145": informative,
		"bare children at the same pace until they are available, p99 150": informative,
		"Ready later than bare children are available, p50 155":            missed,
		"Ready later than bare children are available, p99 750":            missed,
	}
	if diff := cmp.Diff(want, verdicts(b.report.Results)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}
