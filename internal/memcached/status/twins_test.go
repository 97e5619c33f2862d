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
		return memcached.Answers{"cache-0": {Status: protocol.Status{List: protocol.List{Target: "a"}, Fill: fill}}}
	}
	set := []client.Object{makeStatefulSet(t, mc, setCounts(3, 3))}
	was := memcachedtest.Cache(3, inStatefulSet, memcachedtest.Image("memcached:1"))
	const empty = ". Nodes that start meanwhile stay empty: restart them after the correction"
	return []statusCase{{
		name: "twins: all nodes are filled", mc: mc, others: set, pods: setPods(3), twins: at(dump),
		answers: answers(&protocol.Fill{State: protocol.FillDone}),
	}, {
		name: "twins: there is none", mc: mc, others: set, pods: setPods(3),
		trouble: "InvalidReference: spec.fillFrom.name: there is no Memcached twin in the namespace: create it, or correct the name" + empty,
	}, {
		name: "twins: without dump", mc: mc, others: set, pods: setPods(3), twins: at(),
		trouble: "InvalidReference: spec.fillFrom.name: the Memcached twin must have spec.config.dump true, with which nodes tell each other their keys" + empty,
	}, {
		name: "twins: a node is not filled", mc: mc, others: set, pods: setPods(3), twins: at(dump),
		answers: answers(&protocol.Fill{From: "twin-0.twin.shop.svc:11211", State: protocol.FillFailed, Reason: "connection refused"}),
		trouble: "NodesUnfilled: the node cache-0 serves without the items of its twin, and tries again to get them from " +
			"twin-0.twin.shop.svc:11211: connection refused",
	}, {
		name: "twins: a rollout waits", mc: mc, others: set, pods: setPods(3, of(t, was)), twins: at(dump),
		changing: "RollingOut: Replacing nodes, while their copies keep the items: 0 of 3 nodes are updated; cache-2 is waiting until all nodes " +
			"of its twin twin are ready: 0 of 0 are. To go on without its items, remove spec.fillFrom of cache",
	}}
}

// TestItemsLeft covers a Memcached that fills its nodes from a twin, also from one that lacks some of them, and the twin itself.
func TestItemsLeft(t *testing.T) {
	filled, twin, smaller := memcachedtest.Cache(3, fillsFromTwin), memcachedtest.Cache(3, inStatefulSet), memcachedtest.Cache(2, inStatefulSet)
	twin.Name, smaller.Name = "twin", "twin"
	for _, test := range []struct {
		mc, twin *cachev1alpha1.Memcached
		problem  *memcached.Problem
		items    string
	}{
		{filled, twin, nil, "while their copies keep the items"},
		{filled, twin, &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidReference}, "without their items"},
		{filled, smaller, nil, "without their items"},
		{twin, filled, nil, "without their items"},
	} {
		f := &facts{View: memcached.View{Memcached: test.mc, Twins: []memcached.View{{Memcached: test.twin}}}, size: 3}
		f.plan.Twins.Problem = test.problem
		if items := f.itemsLeft(); items != test.items {
			t.Error(items, test.mc.Name, test.twin.Spec.Size)
		}
	}
}
