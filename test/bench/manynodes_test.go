// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestProgressWritesAreAllowed checks that a change may take one additional status write for every five seconds.
func TestProgressWritesAreAllowed(t *testing.T) {
	status := request{verb: "patch", resource: "memcacheds/status", code: http.StatusOK, bytes: 2048}
	requests := []request{
		{verb: "patch", resource: "deployments", code: http.StatusOK},
		{verb: "watch", resource: "pods", code: http.StatusOK},
		{verb: "watch", resource: "services", code: http.StatusOK},
		{verb: "create", resource: "events", code: http.StatusCreated},
		status, status, status, status, status,
	}
	for _, test := range []struct {
		took time.Duration
		want verdict
	}{
		{9999 * time.Millisecond, missed},
		{10 * time.Second, holds},
	} {
		b := &bench{}
		b.holdMany(requests, change{name: "it", children: 1, statuses: 3}, test.took)
		beside := "status writes beside one each five seconds: it " + map[verdict]string{holds: "3", missed: "4"}[test.want]
		want := map[string]verdict{
			"child writes: it 1":           holds,
			"status writes: it 5":          informative,
			beside:                         test.want,
			"sent in status writes: it 10": informative,
			"watches of pods that the operator took up again: it 1": informative,
		}
		if diff := cmp.Diff(want, verdicts(b.report.Results[1:])); diff != "" {
			t.Errorf("verdicts after %s (-want +got):\n%s", test.took, diff)
		}
	}
}
