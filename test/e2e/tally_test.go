// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"time"
)

// tally is what a census says in figures.
type tally struct {
	dns, status figures
	// blind is the longest time without a sample.
	blind time.Duration
	// failures are those of nodes that DNS had announced and that were not leaving.
	failures []string
	// ended is how many commands failed at nodes that were leaving. served is for how long after its deletion the one that
	// ended first had answered all; zero if none left.
	ended  int
	served time.Duration
}

// figures are what either DNS or status.nodes said.
type figures struct {
	// fewest and most are the smallest and the largest number of members.
	fewest, most int
	// stale is the longest time after its deletion had begun at which a pod was still seen as a member.
	stale time.Duration
	// complete is the time from the change until the members were those who stay.
	complete time.Duration
}

func (c *census) tally() tally {
	t := tally{
		dns:    c.figuresOf(c.inDNS, func(ip string, _ *podLife) string { return ip }),
		status: c.figuresOf(c.inStatus, func(_ string, pod *podLife) string { return pod.name }),
		blind:  max(longestGap(c.inDNS), longestGap(c.inStatus)),
	}
	for ip, failures := range c.failures {
		t.addNode(c, c.pods[ip], failures)
	}
	return t
}

// addNode adds what became of the commands to a node that DNS has announced.
func (t *tally) addNode(c *census, pod *podLife, failures []failure) {
	leaving := slices.IndexFunc(failures, func(f failure) bool {
		return pod != nil && !pod.leaving.IsZero() && f.at.After(pod.leaving)
	})
	if leaving < 0 {
		leaving = len(failures)
	}
	for _, f := range failures[:leaving] {
		t.failures = append(t.failures, fmt.Sprintf("%s after the change: %v", seconds(f.at.Sub(c.began)), f.err))
	}
	if pod == nil || pod.leaving.IsZero() {
		return
	}
	end := pod.gone
	if leaving < len(failures) {
		end = failures[leaving].at
	}
	if served := end.Sub(pod.leaving); t.served == 0 || served < t.served {
		t.served = served
	}
	t.ended += len(failures) - leaving
}

// figuresOf counts in samples, in which a pod bears the name that nameOf returns.
func (c *census) figuresOf(samples []sample, nameOf func(ip string, pod *podLife) string) figures {
	f := figures{fewest: len(samples[0].members)}
	for _, s := range samples {
		f.fewest, f.most = min(f.fewest, len(s.members)), max(f.most, len(s.members))
	}
	for ip, pod := range c.pods {
		if pod.leaving.IsZero() {
			continue
		}
		name := nameOf(ip, pod)
		for _, s := range samples {
			if slices.Contains(s.members, name) {
				f.stale = max(f.stale, s.at.Sub(pod.leaving))
			}
		}
	}
	final := samples[len(samples)-1].members
	complete := lastChange(samples, func(s sample) bool { return slices.Equal(s.members, final) })
	f.complete = max(0, complete.Sub(c.began))
	return f
}

// lastChange returns the time of the sample since which something holds.
func lastChange(samples []sample, holds func(sample) bool) time.Time {
	since := len(samples) - 1
	for since > 0 && holds(samples[since-1]) {
		since--
	}
	return samples[since].at
}

func longestGap(samples []sample) time.Duration {
	var longest time.Duration
	for i := range samples[1:] {
		longest = max(longest, samples[i+1].at.Sub(samples[i].at))
	}
	return longest
}
