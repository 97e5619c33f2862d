// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func withoutOwner(pod *corev1.Pod) { pod.OwnerReferences = nil }

// orphanRows have nodes whose workload somebody has deleted with --cascade=orphan.
func orphanRows(t *testing.T) []statusCase {
	const (
		ofSet = "NodesOrphaned: Clients still use nodes of a former workload: cache-0, cache-1, cache-2. " +
			"To remove them with what they hold: kubectl delete -n shop pod/cache-0 pod/cache-1 pod/cache-2"
		ofReplicaSet = "NodesOrphaned: Clients still use nodes of a former workload: cache-5d4f-00, cache-5d4f-01, cache-5d4f-02. " +
			"To remove them with what they hold: kubectl delete -n shop replicaset/cache-5d4f"
		ofDeployment = "NodesOrphaned: Clients still use nodes of a former workload: cache-5d4f-00, cache-5d4f-01, cache-5d4f-02. " +
			"To remove them with what they hold: kubectl delete -n shop deployment/cache"
		six = "True MinimumNodesReady: 6 of 3 nodes are ready"
	)
	orphans := setPods(3)
	for i := range orphans {
		withoutOwner(&orphans[i])
	}
	mc, named := memcachedtest.Cache(3), memcachedtest.Cache(3, inStatefulSet)
	left := makeDeployment(t, mc, settled)
	left.OwnerReferences = nil
	return []statusCase{{
		name: "orphans of a former StatefulSet", mc: mc, deployment: makeDeployment(t, mc, settled),
		pods: slices.Concat(makePods(3), orphans), trouble: ofSet, available: six,
	}, {
		name: "orphans of a former Deployment", mc: named, others: []client.Object{makeStatefulSet(t, named, setCounts(3, 3))},
		pods: slices.Concat(setPods(3), makePods(3)), trouble: ofReplicaSet, available: six,
	}, {
		name: "a Deployment that was left", mc: named, deployment: left, others: []client.Object{makeStatefulSet(t, named, setCounts(3, 3))},
		pods: slices.Concat(setPods(3), makePods(3)), trouble: ofDeployment, available: six,
	}, {
		name: "orphans serve until their workload is there again", mc: named, others: []client.Object{makeStatefulSet(t, named)},
		pods: orphans, changing: "Creating: Starting 3 nodes", available: available3, degraded: asExpected,
	}, {
		name: "a pause holds back the workload of orphans", mc: memcachedtest.Cache(3, inStatefulSet, memcachedtest.Paused),
		others: []client.Object{}, pods: orphans, written: memcached.Written{Pending: []string{"StatefulSet"}},
		ready: "Unknown Paused: spec.paused holds back: the StatefulSet", available: available3, degraded: asExpected,
		progressing: "False Paused: spec.paused holds back: the StatefulSet. To resume: " +
			`kubectl patch memcached cache -n shop --type=merge -p '{"spec":{"paused":false}}'`,
	}}
}

// TestOrphansAreNamed has more orphans than a message can name.
func TestOrphansAreNamed(t *testing.T) {
	mc := memcachedtest.Cache(1)
	pods := setPods(7)
	for i := range pods {
		withoutOwner(&pods[i])
	}
	v := memcachedtest.View(mc, memcached.Observed{Pods: pods})
	got := orphaned(v, v.Orphans())
	want := memcached.Problem{
		Reason: cachev1alpha1.ReasonNodesOrphaned,
		Message: "Clients still use nodes of a former workload: cache-0, cache-1, cache-2, cache-3, cache-4 and 2 more. " +
			"To remove them with what they hold: kubectl delete -n shop pod/cache-0 pod/cache-1 pod/cache-2 pod/cache-3 pod/cache-4",
	}
	if got == nil || *got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
