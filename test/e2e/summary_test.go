// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"time"
)

// summary is the result of a sampler in figures.
type summary struct {
	dns, status figures
	// blind is the longest time without a sample.
	blind time.Duration
	// failures are those of announced nodes that were not leaving.
	failures []string
	// ended counts the failed commands to leaving nodes. served is how long after its deletion the first of them to end had
	// answered everything; zero if none left.
	ended  int
	served time.Duration
}

// figures are what either DNS or status.nodes said.
type figures struct {
	// fewest and most are the smallest and the largest number of members.
	fewest, most int
	// stale is the longest time after its deletion had begun at which a pod was still seen as a member.
	stale time.Duration
	// complete is the time from the change until only the remaining members were seen.
	complete time.Duration
}

func (m *sampler) summary() summary {
	s := summary{
		dns:    m.figuresOf(m.inDNS, func(ip string, _ *podLife) string { return ip }),
		status: m.figuresOf(m.inStatus, func(_ string, pod *podLife) string { return pod.name }),
		blind:  max(longestGap(m.inDNS), longestGap(m.inStatus)),
	}
	for ip, failures := range m.failures {
		s.addNode(m, m.pods[ip], failures)
	}
	return s
}

// addNode adds the results of the commands to a node that DNS has announced.
func (s *summary) addNode(m *sampler, pod *podLife, failures []failure) {
	leaving := slices.IndexFunc(failures, func(f failure) bool {
		return pod != nil && !pod.leaving.IsZero() && f.at.After(pod.leaving)
	})
	if leaving < 0 {
		leaving = len(failures)
	}
	for _, f := range failures[:leaving] {
		s.failures = append(s.failures, fmt.Sprintf("%s after the change: %v", seconds(f.at.Sub(m.began)), f.err))
	}
	if pod == nil || pod.leaving.IsZero() {
		return
	}
	end := pod.gone
	if leaving < len(failures) {
		end = failures[leaving].at
	}
	if served := end.Sub(pod.leaving); s.served == 0 || served < s.served {
		s.served = served
	}
	s.ended += len(failures) - leaving
}

// figuresOf counts in samples, which call a pod what nameOf returns.
func (m *sampler) figuresOf(samples []sample, nameOf func(ip string, pod *podLife) string) figures {
	f := figures{fewest: len(samples[0].members)}
	for _, seen := range samples {
		f.fewest, f.most = min(f.fewest, len(seen.members)), max(f.most, len(seen.members))
	}
	for ip, pod := range m.pods {
		if pod.leaving.IsZero() {
			continue
		}
		name := nameOf(ip, pod)
		for _, seen := range samples {
			if slices.Contains(seen.members, name) {
				f.stale = max(f.stale, seen.at.Sub(pod.leaving))
			}
		}
	}
	final := samples[len(samples)-1].members
	complete := lastChange(samples, func(seen sample) bool { return slices.Equal(seen.members, final) })
	f.complete = max(0, complete.Sub(m.began))
	return f
}

// lastChange returns the time of the first sample since which something holds.
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
