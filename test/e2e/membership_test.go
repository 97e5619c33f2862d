// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// What clients may rely on whenever the members of a cache change.
const (
	// longestKnown is for how long a client may know a node whose deletion has begun, from DNS or from the status.
	longestKnown = 7 * time.Second
	// recordTTL is for how much of that a client may keep an answer of the cluster's DNS.
	recordTTL = 5 * time.Second
	// shortestService is for how long such a node goes on serving those who do not know it yet: the default of
	// gracefulShutdown.preStopDelaySeconds, less a second that the news may take to get to this test.
	shortestService = 4 * time.Second
	// longestBlind is for how long a census may have seen nothing. On a busy machine an answer takes its time.
	longestBlind = 3 * time.Second
)

// The figures need the DNS of the local cluster, which keeps no answers, and the network of the pods.
var _ = Describe("A client that follows the members of a Memcached", Label(onLocalCluster), func() {
	var m *movements
	BeforeEach(func() {
		m = &movements{rows: [][]string{{
			"change", "in DNS", "in status.nodes", "gone: in DNS for", "in status.nodes for", "complete: in DNS after",
			"in status.nodes after", "failures of those who stay", "of those who leave",
		}}}
	})
	AfterEach(func() { AddReportEntry("What clients see", tabulate(m.rows), ReportEntryVisibilityAlways) })

	It("never sees too many or too few, and finds all of them serving", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		m.mc = newMemcached(ctx, newNamespace(ctx), 3)
		m.see(ctx, "a rolling change of 3", 2, 3, verbosity(1))
		m.see(ctx, "a pod of 3 is deleted", 2, 3, func(ctx context.Context, mc *cachev1alpha1.Memcached) {
			Expect(k8s.Delete(ctx, &podsOf(ctx, mc)[0])).To(Succeed())
		})
		m.see(ctx, "size 3 to 5", 3, 5, size(5))
		m.see(ctx, "size 5 to 2", 2, 5, size(2))
	})

	It("sees one more than size during a rollout only if a surge is asked for", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		m.mc = newMemcached(ctx, newNamespace(ctx), 2, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.UpdateStrategy.MaxSurge = ptr.To(intstr.FromInt32(1))
			// Else the old node leaves in the moment in which the new one is announced.
			mc.Spec.UpdateStrategy.MinReadySeconds = 2
		})
		seen := m.see(ctx, "a rolling change of 2, maxSurge 1", 2, 3, verbosity(1))
		Expect(seen.dns.most).To(Equal(3))
	})

	It("always sees a single node, of which the new one starts first", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		m.mc = newMemcached(ctx, newNamespace(ctx), 1)
		m.see(ctx, "a rolling change of 1", 1, 2, verbosity(1))
	})
})

// edit is a change that somebody makes to a Memcached or what belongs to it.
type edit func(ctx context.Context, mc *cachev1alpha1.Memcached)

func size(nodes int32) edit {
	return func(ctx context.Context, mc *cachev1alpha1.Memcached) {
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = nodes })
	}
}

// verbosity is an option of memcached, so that a change of it replaces every pod.
func verbosity(level int32) edit {
	return func(ctx context.Context, mc *cachev1alpha1.Memcached) {
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Verbosity = level })
	}
}

// movements are the changes of who the members of a Memcached are, with a row for each.
type movements struct {
	mc   *cachev1alpha1.Memcached
	rows [][]string
}

// see makes a change and checks what clients see of it. There are never fewer members than fewest nor more than most.
func (m *movements) see(ctx context.Context, title string, fewest, most int, change edit) tally {
	GinkgoHelper()
	By(title)
	seen := censusOf(ctx, m.mc, func() { change(ctx, m.mc) }).tally()
	m.rows = append(m.rows, []string{
		title, between(seen.dns), between(seen.status), seconds(seen.dns.stale), seconds(seen.status.stale),
		seconds(seen.dns.complete), seconds(seen.status.complete), fmt.Sprint(len(seen.failures)), ending(seen),
	})
	Expect(seen.blind).To(BeNumerically("<", longestBlind), "too little was seen to know")
	for where, members := range map[string]figures{"in DNS": seen.dns, "in status.nodes": seen.status} {
		Expect(members.fewest).To(BeNumerically(">=", fewest), "members "+where)
		Expect(members.most).To(BeNumerically("<=", most), "members "+where)
	}
	Expect(seen.dns.stale+recordTTL).To(BeNumerically("<", longestKnown), "a node that is gone, in DNS and what is kept of it")
	Expect(seen.status.stale).To(BeNumerically("<", longestKnown), "a node that is gone, in status.nodes")
	Expect(seen.failures).To(BeEmpty(), "of nodes that stay, or that have come")
	if seen.served != 0 {
		Expect(seen.served).To(BeNumerically(">", shortestService), "a node that leaves")
	}
	return seen
}

func between(f figures) string {
	if f.fewest == f.most {
		return fmt.Sprint(f.most)
	}
	return fmt.Sprintf("%d to %d", f.fewest, f.most)
}

func ending(t tally) string {
	if t.served == 0 {
		return "-"
	}
	return fmt.Sprintf("%d, none within %s", t.ended, seconds(t.served))
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
