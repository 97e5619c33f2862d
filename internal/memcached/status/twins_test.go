// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func fillsFromTwin(mc *cachev1alpha1.Memcached) {
	inStatefulSet(mc)
	mc.Spec.FillFrom = &cachev1alpha1.MemcachedFillFrom{Name: "twin"}
	mc.Spec.Config.Dump = ptr.To(true)
}

func twinRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3, fillsFromTwin)
	at := func(changes ...func(*cachev1alpha1.Memcached)) []memcached.View {
		twin := memcachedtest.Cache(3, append([]func(*cachev1alpha1.Memcached){inStatefulSet}, changes...)...)
		twin.Name = "twin"
		return []memcached.View{memcachedtest.View(twin, memcached.Observed{})}
	}
	dump := func(twin *cachev1alpha1.Memcached) { twin.Spec.Config.Dump = ptr.To(true) }
	answers := func(fill *protocol.Fill) memcached.Answers {
		return memcached.Answers{setPods("a")[0].UID: {Status: protocol.Status{Fill: fill}}}
	}
	set := []client.Object{makeStatefulSet(t, mc, setCounts(3, 3, 3))}
	braked := makeStatefulSet(t, mc, setCounts(3, 0, 3), revisions("a", "b"))
	braked.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(int32(3))
	const empty = ". Nodes that start meanwhile stay empty: restart them after the correction"
	return []statusCase{{
		name: "twins: all nodes are filled", mc: mc, others: set, pods: setPods("a", "a", "a"), twins: at(dump),
		answers: answers(&protocol.Fill{State: protocol.FillDone}),
	}, {
		name: "twins: there is none", mc: mc, others: set, pods: setPods("a", "a", "a"),
		trouble: "TwinUnusable: spec.fillFrom.name: there is no Memcached twin in the namespace: create it, or correct the name" + empty,
	}, {
		name: "twins: without dump", mc: mc, others: set, pods: setPods("a", "a", "a"), twins: at(),
		trouble: "TwinUnusable: spec.fillFrom.name: the Memcached twin must have spec.config.dump true, with which nodes tell each other their keys" + empty,
	}, {
		name: "twins: a node is not filled", mc: mc, others: set, pods: setPods("a", "a", "a"), twins: at(dump),
		answers: answers(&protocol.Fill{From: "twin-0.twin.shop.svc:11211", State: protocol.FillFailed, Reason: "connection refused"}),
		trouble: "NodesUnfilled: the node cache-0 serves without the items of its twin, and tries again to get them from " +
			"twin-0.twin.shop.svc:11211: connection refused",
	}, {
		name: "twins: a rollout waits", mc: mc, others: []client.Object{braked}, pods: setPods("a", "a", "a"), twins: at(dump),
		answers: answers(nil),
		changing: "RollingOut: Replacing nodes, while their copies keep the items: 0 of 3 nodes are updated. Waiting until all nodes of its twin twin are ready: 0 of 0 are. " +
			"To go on without its items, remove spec.fillFrom of cache",
	}}
}

// TestCostWithACopy covers a restart in place of a Memcached that fills its nodes from a twin, also from one that lacks some of them, and
// of the twin.
func TestCostWithACopy(t *testing.T) {
	filled, twin, smaller := memcachedtest.Cache(3, fillsFromTwin), memcachedtest.Cache(3, inStatefulSet), memcachedtest.Cache(2, inStatefulSet)
	twin.Name, smaller.Name = "twin", "twin"
	for _, test := range []struct {
		mc, twin *cachev1alpha1.Memcached
		problem  *memcached.Problem
		items    string
	}{
		{filled, twin, nil, "while their copies keep the items"},
		{filled, twin, &memcached.Problem{Reason: cachev1alpha1.ReasonTwinUnusable}, "without their items"},
		{filled, smaller, nil, "without their items"},
		{twin, filled, nil, "without their items"},
	} {
		v := memcached.View{Memcached: test.mc, Twins: []memcached.View{{Memcached: test.twin}}}
		plan := memcached.Plan{Wave: memcached.Wave{Effect: memcached.LosesItems}, Twins: memcached.Twins{Problem: test.problem}}
		if _, doing := costOf(v, plan, false); doing != "Restarting in place, "+test.items {
			t.Error(doing, test.mc.Name, test.twin.Spec.Size)
		}
		if will, _ := costOf(v, plan, true); will != "the nodes will be replaced, "+test.items {
			t.Error(will, test.mc.Name, test.twin.Spec.Size)
		}
	}
}
