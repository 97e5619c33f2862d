// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample returns a sample of 100 scrapes and of half a minute at rest. The slow scrapes took 51 ms, and all others 2 ms.
func sample(slow, failed int, resting time.Duration, peak float64) agentSample {
	return agentSample{
		scraped: slices.Concat(slices.Repeat([]time.Duration{51 * time.Millisecond}, slow),
			slices.Repeat([]time.Duration{2 * time.Millisecond}, 100-slow)),
		failed: failed, scraping: 100 * time.Millisecond, resting: resting, rested: 30 * time.Second, peak: peak,
	}
}

// TestAgentLimits checks the verdicts on a sample at the limits, and on a sample beyond them.
func TestAgentLimits(t *testing.T) {
	for name, test := range map[string]struct {
		sample agentSample
		want   map[string]verdict
	}{
		"at the limits": {sample(1, 0, 300*time.Millisecond, 15), map[string]verdict{
			"peak memory of an agent, connections: 100 15":    holds,
			"CPU of a scrape, connections: 100 1":             informative,
			"CPU of a minute at rest, connections: 100 600":   holds,
			"a scrape, connections: 100, p50 2":               informative,
			"99th percentile of a scrape, connections: 100 2": holds,
			"scrapes without statistics, connections: 100 0":  holds,
		}},
		"beyond them": {sample(2, 1, 301*time.Millisecond, 15.1), map[string]verdict{
			"peak memory of an agent, connections: 100 15.1":   missed,
			"CPU of a scrape, connections: 100 1":              informative,
			"CPU of a minute at rest, connections: 100 602":    missed,
			"a scrape, connections: 100, p50 2":                informative,
			"99th percentile of a scrape, connections: 100 51": missed,
			"scrapes without statistics, connections: 100 1":   missed,
		}},
	} {
		b := &bench{}
		b.addAgent(100, test.sample)
		if diff := cmp.Diff(test.want, verdicts(b.report.Results)); diff != "" {
			t.Errorf("verdicts %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNodeIsThatOfAPod checks that memcached has the demanded item memory, that it allows the connections of all clients and of the
// agent, and that the agent has probes.
func TestNodeIsThatOfAPod(t *testing.T) {
	pod, err := podOf(monitored, sizedFor(1024, 10000))
	if err != nil {
		t.Fatal(err)
	}
	args, agent := pod.Containers[0].Args, pod.InitContainers[0]
	for flag, want := range map[string]string{"-m": "1024", "-c": "10035"} {
		if i := slices.Index(args, flag); i < 0 || args[i+1] != want {
			t.Errorf("%s must be %s in %q", flag, want, args)
		}
	}
	if agent.ReadinessProbe.HTTPGet.Path != "/readyz" || agent.LivenessProbe.HTTPGet.Path != "/livez" {
		t.Errorf("the probes are %+v and %+v", agent.ReadinessProbe, agent.LivenessProbe)
	}
}

// TestMissingProgramsAreNoticedFirst runs the benchmark in a directory without the required programs.
func TestMissingProgramsAreNoticedFirst(t *testing.T) {
	for _, m := range []metric{agents, security, proxying} {
		b := &bench{options: options{only: []metric{m}}}
		if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "M11, M13 and M15 need bin/memcached") {
			t.Errorf("%s: got the error %v", m, err)
		}
	}
}
