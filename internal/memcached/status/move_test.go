// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func moveRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3, inStatefulSet)
	deployment := func(size int32) *appsv1.Deployment {
		return makeDeployment(t, memcachedtest.Cache(size), settled)
	}
	set := func(size, ready int32) []client.Object {
		return []client.Object{makeStatefulSet(t, mc, setSize(size), setCounts(size, size, ready))}
	}
	const moving0 = "RollingOut: Moving from a Deployment to a StatefulSet: 0 of 3 nodes have moved"
	const moving2 = "RollingOut: Moving from a Deployment to a StatefulSet: 2 of 3 nodes have moved"
	return []statusCase{{
		name: "move: there is no StatefulSet yet", mc: mc, deployment: deployment(3), others: []client.Object{}, pods: makePods(3),
		ready: "False " + moving0, available: available3, progressing: "True " + moving0, degraded: asExpected,
	}, {
		name: "move: the first node starts", mc: mc, deployment: deployment(3), others: set(1, 0),
		pods:  append(makePods(3), makePod("cache-0", ofStatefulSet("a"), notReady)),
		ready: "False " + moving0, available: available3, progressing: "True " + moving0, degraded: asExpected,
	}, {
		name: "move: paused", mc: memcachedtest.Cache(3, inStatefulSet, memcachedtest.Paused), deployment: deployment(3), others: set(1, 0),
		pods:  append(makePods(3), makePod("cache-0", ofStatefulSet("a"), notReady)),
		ready: "Unknown Paused: spec.paused holds back: the rest of a move", available: available3,
		progressing: "False Paused: spec.paused holds back: the rest of a move" + replaced + resume, degraded: asExpected,
	}, {
		name: "move: the first node cannot start", mc: mc, deployment: deployment(3), others: set(1, 0),
		pods:  append(makePods(3), makePod("cache-0", ofStatefulSet("a"), notReady, scheduled(corev1.ConditionFalse, "Unschedulable", "full"))),
		ready: "False Unschedulable: Pod cache-0 cannot be scheduled: full", available: available3,
		progressing: seeDegraded, degraded: "True Unschedulable: Pod cache-0 cannot be scheduled: full",
	}, {
		name: "move: two nodes have moved", mc: mc, deployment: deployment(1), others: set(2, 2),
		pods:  append(makePods(1), setPods("a", "a")...),
		ready: "False " + moving2, available: available3, progressing: "True " + moving2, degraded: asExpected,
	}, {
		name: "move: all nodes have moved, and the Deployment is there", mc: mc, deployment: deployment(0), others: set(3, 3),
		pods:        setPods("a", "a", "a"),
		ready:       "False RollingOut: Moving from a Deployment to a StatefulSet: 3 of 3 nodes have moved",
		available:   available3,
		progressing: "True RollingOut: Moving from a Deployment to a StatefulSet: 3 of 3 nodes have moved", degraded: asExpected,
	}}
}
