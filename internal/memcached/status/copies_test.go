// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// TestStatusOfCopies covers a cache with two copies of three nodes. The last of them is cache-b-2.
func TestStatusOfCopies(t *testing.T) {
	last := func(change func(*corev1.Pod)) func(*front) { return func(f *front) { change(&f.view.Pods[5]) } }
	fill := func(state protocol.FillState, ready bool) func(*front) {
		return func(f *front) {
			f.view.Answers["cache-b-2"] = memcached.Answer{Status: protocol.Status{List: protocol.List{Target: "a"}, Fill: &protocol.Fill{
				From: "cache-2.cache-nodes.shop.svc:11211", State: state, Reason: "connection refused", Ready: ready,
			}}}
		}
	}
	only := func(pods ...int) func(*front) {
		return func(f *front) {
			all := slices.Clone(f.view.Pods)
			f.view.Pods = nil
			for _, i := range pods {
				f.view.Pods = append(f.view.Pods, all[i])
			}
		}
	}
	const well, troubled = "True/AllNodesReady True/AsExpected False/AsExpected False/AsExpected", "True/AsExpected False/AsExpected False/AsExpected"
	for _, row := range []frontRow{
		{"all is well", func(*front) {}, well, "6 of 6 nodes and 2 of 2 proxies are ready"},
		{"a node fills while it serves", fill(protocol.FillWaiting, true), well, "6 of 6 nodes"},
		{
			"a node is being filled", func(f *front) { last(notReady)(f); fill(protocol.FillCopying, false)(f) },
			"False/Filling " + troubled, "5 of 6 nodes and 2 of 2 proxies are ready: the items of another copy come first to cache-b-2",
		},
		{"a node is away", last(notReady), "False/NotReady " + troubled, "5 of 6 nodes"},
		{
			"a node is not filled", fill(protocol.FillFailed, false), "False/NodesUnfilled True/AsExpected False/AsExpected True/NodesUnfilled",
			"the node cache-b-2 serves without the items of the other copies, and tries again to get them from cache-2.cache-nodes.shop.svc:11211: " +
				"connection refused",
		},
		{"each number has a node", only(0, 4, 5), "False/NotReady " + troubled, "3 of 6 nodes"},
		{"two numbers have none", only(0, 3), "False/NotReady False/NotReady False/AsExpected False/AsExpected", "2 of 6 nodes"},
		{"the first copy was away before", func(f *front) {
			f.view.Memcached.Status.Conditions = append(f.view.Memcached.Status.Conditions, metav1.Condition{
				Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonAsExpected,
			})
			only(3)(f)
		}, "False/NotReady False/NotReady False/AsExpected False/AsExpected", "1 of 6 nodes"},
		{
			"new numbers have no nodes yet", func(f *front) { f.view.Memcached.Status.Servers = make([]string, 1); only(0)(f) },
			"False/Scaling True/AsExpected True/Scaling False/AsExpected", "to 3 nodes",
		},
		{"the second has another size", func(f *front) {
			for _, child := range f.view.Children {
				if set, ok := child.(*appsv1.StatefulSet); ok && set.Name == "cache-b" {
					setCounts(2, 2)(set)
				}
			}
		}, "False/Scaling True/AsExpected True/Scaling False/AsExpected", "Scaling from 2 to 3 nodes"},
	} {
		f := newFront(t, 2)
		reported(cachev1alpha1.ReasonAsExpected, time.Hour)(f.view.Memcached)
		row.check(t, f)
	}
}
