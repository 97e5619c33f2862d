// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/test/traffic"
)

// TestPaths compares the results of two paths. On each path that is not missing, four requests were served in two seconds.
func TestPaths(t *testing.T) {
	served := traffic.Served{Took: 2 * time.Second, Latencies: []time.Duration{1e6, 1e6, 2e6, 3e6}}
	faster, slower := pathSample{served, 2 * time.Millisecond, 7}, pathSample{served, 3 * time.Millisecond, 3}
	for name, test := range map[string]struct {
		ours, theirs pathSample
		missing      string
		want         map[string]verdict
	}{
		"less CPU": {faster, slower, "", map[string]verdict{"0.67 times": holds, "1 times": holds}},
		"more CPU": {slower, faster, "", map[string]verdict{"1.50 times": missed, "1 times": holds}},
		"no nutcracker": {faster, pathSample{}, "it is not installed", map[string]verdict{
			"NOT MEASURED: it is not installed times": unmeasured,
		}},
	} {
		b := &bench{}
		b.addPath(path{name: usualProxy, hosts: []string{"a"}}, test.ours)
		b.addPath(path{name: nutcracker, hosts: []string{"b"}, missing: test.missing}, test.theirs)
		got := map[string]verdict{}
		for _, quantity := range []string{proxyCPU, proxyTail} {
			b.report.holdLess(proxying, quantity, usualProxy, nutcracker)
			one := b.report.find(proxying, usualProxy+" compared with "+nutcracker+": "+quantity)
			got[one.text()+" "+one.Unit] = one.verdict()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if silent := len(b.report.missed(false)) == 0; silent != (name == "less CPU") {
			t.Errorf("%s: the exit status is 0: %t", name, silent)
		}
	}
}

func TestPathRows(t *testing.T) {
	sample := pathSample{traffic.Served{Took: time.Second, Failed: 1, Latencies: []time.Duration{1e6, 3e6, 2e6, 9e6}}, 1e6, 7}
	for _, row := range []struct {
		path path
		want map[string]verdict
	}{
		{path{name: "direct", hosts: []string{"a", "b"}}, map[string]verdict{
			"requests per second, direct 4": informative, "median of a request, direct 2": informative,
			"99th percentile of a request, direct 9": informative, "requests that fail or find nothing, direct 1": missed,
		}},
		{path{name: "p", hosts: []string{"a"}}, map[string]verdict{
			"requests per second, p 4": informative, "median of a request, p 2": informative, "99th percentile of a request, p 9": informative,
			"CPU for 100,000 requests, p 25": informative, "memory of the proxy, p 7": informative,
			"requests that fail or find nothing, p 1": missed,
		}},
		{path{name: "n", hosts: []string{"a"}, missing: "gone"}, map[string]verdict{
			"requests per second, n NOT MEASURED: gone": informative, "median of a request, n NOT MEASURED: gone": informative,
			"99th percentile of a request, n NOT MEASURED: gone": informative, "CPU for 100,000 requests, n NOT MEASURED: gone": informative,
			"memory of the proxy, n NOT MEASURED: gone": informative, "requests that fail or find nothing, n NOT MEASURED: gone": unmeasured,
		}},
	} {
		b := &bench{}
		b.addPath(row.path, sample)
		if diff := cmp.Diff(row.want, verdicts(b.report.Results)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.path.name, diff)
		}
	}
}

func TestProxyArguments(t *testing.T) {
	for threads, want := range map[int32]string{0: "--threads=1", 4: "--threads=4"} {
		got, err := proxyArguments(threads)
		if diff := cmp.Diff([]string{"proxy", want, "--max-connections=1024"}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
