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
	"github.com/example/memcached-operator/test/clustertest"
)

// What clients may rely on when the members of a cache change.
const (
	// longestKnown is how long a client may know a node whose deletion has begun, from DNS or from the status.
	longestKnown = 7 * time.Second
	// recordTTL is the part of it for which a client may cache an answer of the cluster's DNS.
	recordTTL = 5 * time.Second
	// shortestService is how long such a node must go on serving: the default of gracefulShutdown.preStopDelaySeconds, less a
	// second for the news of the deletion to reach this test.
	shortestService = 4 * time.Second
	// longestBlind is how long the sampler may have seen nothing. On a busy machine answers are slow.
	longestBlind = 3 * time.Second
)

// The figures need the DNS of the local cluster, which keeps no answers, and the network of the pods.
var _ = Describe("A client that follows the members of a Memcached", Label(onLocalCluster), func() {
	var m *membership
	BeforeEach(func() {
		m = &membership{rows: [][]string{{
			"change", "in DNS", "in status.nodes", "gone: in DNS for", "in status.nodes for", "complete: in DNS after",
			"in status.nodes after", "failures of those who stay", "of those who leave",
		}}}
	})
	AfterEach(func() { clustertest.AddTable("What clients see", m.rows) })

	It("never sees too many or too few, and finds all of them serving", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		m.mc = k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3)
		m.see(ctx, "a rolling change of 3", 2, 3, func() { roll(ctx, m.mc) })
		m.see(ctx, "a pod of 3 is deleted", 2, 3, func() { Expect(k8s.Delete(ctx, &k8s.Pods(ctx, m.mc)[0])).To(Succeed()) })
		m.see(ctx, "size 3 to 5", 3, 5, func() { scale(ctx, m.mc, 5) })
		m.see(ctx, "size 5 to 2", 2, 5, func() { scale(ctx, m.mc, 2) })
	})

	It("sees one more than size during a rollout only if a surge is asked for", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		m.mc = k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.UpdateStrategy.MaxSurge = ptr.To(intstr.FromInt32(1))
			// Otherwise the old node would leave when the new one is announced.
			mc.Spec.UpdateStrategy.MinReadySeconds = 2
		})
		seen := m.see(ctx, "a rolling change of 2, maxSurge 1", 2, 3, func() { roll(ctx, m.mc) })
		Expect(seen.dns.most).To(Equal(3))
	})

	It("always sees a single node, of which the new one starts first", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		m.mc = k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		m.see(ctx, "a rolling change of 1", 1, 2, func() { roll(ctx, m.mc) })
	})
})

func scale(ctx context.Context, mc *cachev1alpha1.Memcached, nodes int32) {
	GinkgoHelper()
	k8s.Change(ctx, mc, func() { mc.Spec.Size = nodes })
}

// roll changes an option of memcached, which replaces every pod.
func roll(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	k8s.Change(ctx, mc, func() { mc.Spec.Config.Verbosity = 1 })
}

// membership is the nodes of a Memcached, and a table with a row for each change of them.
type membership struct {
	mc   *cachev1alpha1.Memcached
	rows [][]string
}

// see makes a change and checks what clients see of it. There are never fewer nodes than fewest, nor more than most.
func (m *membership) see(ctx context.Context, title string, fewest, most int, change func()) summary {
	GinkgoHelper()
	By(title)
	seen := sampleMembership(ctx, m.mc, change).summary()
	m.rows = append(m.rows, []string{
		title, between(seen.dns), between(seen.status), seconds(seen.dns.stale), seconds(seen.status.stale),
		seconds(seen.dns.complete), seconds(seen.status.complete), fmt.Sprint(len(seen.failures)), ending(seen),
	})
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

func between(f figures) string {
	if f.fewest == f.most {
		return fmt.Sprint(f.most)
	}
	return fmt.Sprintf("%d to %d", f.fewest, f.most)
}

func ending(s summary) string {
	if s.served == 0 {
		return "-"
	}
	return fmt.Sprintf("%d, none within %s", s.ended, seconds(s.served))
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
