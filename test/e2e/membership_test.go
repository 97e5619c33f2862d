// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// Limits that clients may rely on when the nodes of a cache change.
const (
	// longestKnown is how long clients may still find a deleted node, in DNS or in the status.
	longestKnown = 7 * time.Second
	// recordTTL is how long a client may cache an answer of the cluster's DNS. longestKnown includes this time.
	recordTTL = 5 * time.Second
	// shortestService is how long a deleted node must continue to serve: the default of
	// gracefulShutdown.preStopDelaySeconds, minus a second, because the test notices the deletion late.
	shortestService = 4 * time.Second
	// longestBlind is how long the sampler may get no answer from DNS or the API server, because a busy machine is slow.
	longestBlind = 3 * time.Second
)

// This measurement needs the local cluster, for its pod network, and for its DNS, which does not cache answers.
var _ = Describe("A client that follows the members of a Memcached", Label(onLocalCluster), func() {
	It("never sees too many or too few, and finds all of them serving", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		m := membership{k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3)}
		m.see(ctx, "a rolling change of 3", 2, 3, func() { roll(ctx, m.mc, "1") })
		m.see(ctx, "size 3 to 5", 3, 5, func() { scale(ctx, m.mc, 5) })
		m.see(ctx, "size 5 to 1", 1, 5, func() { scale(ctx, m.mc, 1) })
		m.see(ctx, "a rolling change of 1, of which the new one starts first", 1, 2, func() { roll(ctx, m.mc, "2") })
	})

	It("sees nodes of a StatefulSet leave one by one", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		m := membership{k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Workload, mc.Spec.UpdateStrategy.MinReadySeconds = cachev1alpha1.WorkloadStatefulSet, 5
		})}
		rolled := m.see(ctx, "a rolling change of 2, minReadySeconds 5, StatefulSet", 1, 2, func() { roll(ctx, m.mc, "1") })
		Expect(rolled.left).To(Equal([]string{"cache-1", "cache-0"}), "one after the other, from the last")
	})
})

func scale(ctx context.Context, mc *cachev1alpha1.Memcached, nodes int32) {
	GinkgoHelper()
	k8s.Change(ctx, mc, func() { mc.Spec.Size = nodes })
}

// roll changes an annotation of the pod template, which replaces every pod.
func roll(ctx context.Context, mc *cachev1alpha1.Memcached, value cachev1alpha1.AnnotationValue) {
	GinkgoHelper()
	k8s.Change(ctx, mc, func() {
		mc.Spec.PodMetadata.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/roll": value}
	})
}

// membership is a Memcached whose nodes change.
type membership struct{ mc *cachev1alpha1.Memcached }

// see makes a change, and checks what clients find in DNS and in status.nodes. The number of nodes must always be between the parameters
// fewest and most.
func (m membership) see(ctx context.Context, title string, fewest, most int, change func()) summary {
	GinkgoHelper()
	By(title)
	seen := sampleMembership(ctx, m.mc, change).summary()
	AddReportEntry(title, fmt.Sprintf("%+v", seen))
	Expect(seen.blind).To(BeNumerically("<", longestBlind), "time without samples")
	for where, members := range map[string]figures{"in DNS": seen.dns, "in status.nodes": seen.status} {
		Expect(members.fewest).To(BeNumerically(">=", fewest), "members "+where)
		Expect(members.most).To(BeNumerically("<=", most), "members "+where)
	}
	Expect(seen.dns.stale+recordTTL).To(BeNumerically("<", longestKnown), "a terminated node, in DNS and in cached records")
	Expect(seen.status.stale).To(BeNumerically("<", longestKnown), "a terminated node, in status.nodes")
	Expect(seen.failures).To(BeEmpty(), "of nodes that stay or have come")
	if seen.served != 0 {
		Expect(seen.served).To(BeNumerically(">", shortestService), "a terminating node")
	}
	return seen
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// summary is what a sampler has measured.
type summary struct {
	dns, status figures
	// blind is the longest time without a sample.
	blind time.Duration
	// left are the names of the deleted pods, in the order in which their deletion began.
	left []string
	// failures describe the failed commands to announced nodes whose deletion had not begun.
	failures []string
	// served is the shortest time for which a deleted node still answered every command. It is zero if no node was deleted.
	served time.Duration
}

// figures are the results for either DNS or status.nodes.
type figures struct {
	// fewest and most are the smallest and the largest number of listed nodes.
	fewest, most int
	// stale is the longest time for which a pod was still listed after its deletion had begun.
	stale time.Duration
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
	lives := slices.DeleteFunc(slices.Collect(maps.Values(m.pods)), func(pod *podLife) bool { return pod.leaving.IsZero() })
	slices.SortFunc(lives, func(a, b *podLife) int { return a.leaving.Compare(b.leaving) })
	for _, pod := range lives {
		s.left = append(s.left, pod.name)
	}
	return s
}

// addNode adds the results of the commands that were sent to one node, which DNS has announced.
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
}

// figuresOf computes the figures from samples. nameOf returns what the samples contain for a pod: its IP address or its name. Samples
// from before the change do not count: some nodes may be missing there, because DNS can list a ready node late.
func (m *sampler) figuresOf(samples []sample, nameOf func(ip string, pod *podLife) string) figures {
	samples = slices.DeleteFunc(slices.Clone(samples), func(seen sample) bool { return seen.at.Before(m.began) })
	f := figures{fewest: len(samples[0].members)}
	for _, seen := range samples {
		f.fewest, f.most = min(f.fewest, len(seen.members)), max(f.most, len(seen.members))
	}
	for ip, pod := range m.pods {
		if pod.leaving.IsZero() {
			continue
		}
		name, until := nameOf(ip, pod), m.successor(pod)
		for _, seen := range samples {
			if slices.Contains(seen.members, name) && (name == ip || seen.at.Before(until)) {
				f.stale = max(f.stale, seen.at.Sub(pod.leaving))
			}
		}
	}
	return f
}

// successor returns when the next pod of the same name was created, or the current time if there is none.
func (m *sampler) successor(former *podLife) time.Time {
	first := time.Now()
	for _, pod := range m.pods {
		if pod.name == former.name && pod.came.After(former.came) && pod.came.Before(first) {
			first = pod.came
		}
	}
	return first
}

func longestGap(samples []sample) time.Duration {
	var longest time.Duration
	for i := range samples[1:] {
		longest = max(longest, samples[i+1].at.Sub(samples[i].at))
	}
	return longest
}
