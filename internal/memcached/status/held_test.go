// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

const (
	nothingHeld    = "False Paused: spec.paused holds changes back; there are none now"
	resume         = `. To resume: kubectl patch memcached cache -n shop --type=merge -p '{"spec":{"paused":false}}'`
	replaced       = "; the nodes will be replaced, without their items"
	waitingFor     = "Deployment cache is being deleted and must be gone first"
	overdueMessage = `ReplicaSet "cache-5d4f" says ProgressDeadlineExceeded`
)

func pauseRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3, memcachedtest.Paused)
	return []statusCase{{
		name: "paused, nothing held back", mc: mc, pods: makePods(3), progressing: nothingHeld,
	}, {
		name:       "paused, and the spec has changed since",
		mc:         memcachedtest.Cache(3, memcachedtest.Paused, memcachedtest.Image("memcached:2"), withoutBudget),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3),
		written:     memcached.Written{Pending: []string{"Service", "Deployment", "PodDisruptionBudget"}, TemplatePending: true},
		ready:       "Unknown Paused: spec.paused holds back: the Service, the Deployment, the PodDisruptionBudget",
		progressing: "False Paused: spec.paused holds back: the Service, the Deployment, the PodDisruptionBudget" + replaced + resume,
	}, {
		name:       "paused, and a change of the spec changes nothing",
		mc:         memcachedtest.Cache(3, memcachedtest.Paused, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = 4 }),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3), progressing: nothingHeld,
	}, {
		name: "paused, and somebody has changed the pods and the strategy", mc: mc,
		deployment: makeDeployment(t, mc, settled, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 9 }), pods: makePods(3),
		written:     memcached.Written{Pending: []string{"Deployment"}, TemplatePending: true},
		ready:       "Unknown Paused: spec.paused holds back: the Deployment",
		progressing: "False Paused: spec.paused holds back: the Deployment" + replaced + resume,
	}, {
		name: "paused, and somebody has changed the Deployment in what has no field", mc: mc, pods: makePods(3),
		written: memcached.Written{Pending: []string{"Deployment"}}, ready: "Unknown Paused: spec.paused holds back: the Deployment",
		progressing: "False Paused: spec.paused holds back: the Deployment" + resume,
	}, {
		name: "paused, and somebody else's Deployment is in the way of a change", mc: memcachedtest.Cache(5, memcachedtest.Paused),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3), written: memcached.Written{Pending: []string{"Service"}},
		ready: "Unknown Paused: spec.paused holds back: the Service", available: "True AsExpected: 3 of 5 nodes are ready",
		progressing: "False Paused: spec.paused holds back: the Service" + resume,
	}, {
		name: "paused before anything was created", mc: mc,
		written: memcached.Written{Pending: []string{"Service", "PodDisruptionBudget", "Deployment"}},
		ready:   "Unknown Paused: spec.paused holds back: the Service, the PodDisruptionBudget, the Deployment", available: unavailable0,
		progressing: "False Paused: spec.paused holds back: the Service, the PodDisruptionBudget, the Deployment" + resume,
	}, {
		name: "paused in a rollout, which the cluster goes on with", mc: mc,
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
		pods:       makePods(3), ready: "False " + replacing + "1 of 3 nodes are updated", progressing: nothingHeld,
	}, {
		name: "paused, and a node is missing", mc: mc, pods: makePods(2), ready: "False NotReady: 2 of 3 nodes are ready",
		available: available2, progressing: nothingHeld,
	}}
}

func withoutBudget(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = new(false) }

func deletionRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	return []statusCase{{
		name: "the Deployment of an earlier Memcached of the same name must be gone first", written: memcached.Written{Waiting: waitingFor},
		changing: "WaitingForDeletion: " + waitingFor, available: unavailable0,
	}, {
		name: "the Service must be gone first, the nodes run", pods: makePods(3),
		written:  memcached.Written{Waiting: "Service cache is being deleted and must be gone first"},
		changing: "WaitingForDeletion: Service cache is being deleted and must be gone first",
	}, {
		name: "the Memcached is being deleted, its pods are still there", mc: memcachedtest.Cache(3, inDeletion),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3), changing: "WaitingForDeletion: The Memcached is being deleted",
	}, {
		name: "a pause does not stop the deletion", mc: memcachedtest.Cache(3, inDeletion, memcachedtest.Paused),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3, terminating),
		changing: "WaitingForDeletion: The Memcached is being deleted", available: unavailable0,
	}}
}

func stuckRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	return []statusCase{{
		name:       "the rollout is overdue",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2), progress(rolloutOverdue)),
		pods:       append(makePods(2), makePod("cache-5d4f-02", notReady)), ready: "False Stuck: " + overdueMessage, available: available2,
		progressing: "False Stuck: " + overdueMessage,
	}, {
		name: "the creation is overdue", deployment: makeDeployment(t, mc, revision(1), counts(1, 3, 3, 2), progress(rolloutOverdue)),
		pods: append(makePods(2), makePod("cache-5d4f-02", notReady)), ready: "False Stuck: " + overdueMessage, available: available2,
		progressing: "False Stuck: " + overdueMessage,
	}, {
		name: "the rollout is overdue, and it is known why",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2),
			progress(rolloutOverdue)),
		pods: append(makePods(2), makePod("cache-5d4f-02", notReady, noRoomFor)), stuck: "Unschedulable: " + unschedulable02,
		available: available2,
	}, {
		name: "a change of the overdue rollout is on its way to the Deployment controller",
		deployment: makeDeployment(t, mc, specGeneration(3), revision(2), counts(2, 3, 1, 2),
			progress(rolloutOverdue)),
		pods: append(makePods(2), makePod("cache-5d4f-02", notReady)), changing: replacing + "0 of 3 nodes are updated",
		available: available2,
	}, {
		name:       "scaled up, and there is no room",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 3, 3, 2), progress(rolloutComplete)),
		pods:       append(makePods(2), makePod("cache-5d4f-02", notReady, noRoomFor)), trouble: "Unschedulable: " + unschedulable02,
		available: available2,
	}, {
		name: "scaling up, and a quota refuses",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 2, 2, 2), progress(rolloutComplete),
			refused(`pods "cache-5d4f-x7x2k" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2`)),
		pods:      makePods(2),
		stuck:     "QuotaExceeded: pods is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2. Lower spec.size, or raise the quota",
		available: available2,
	}, {
		name: "the ReplicaSet itself is refused",
		deployment: makeDeployment(t, mc, deploymentSays("Progressing", "ReplicaSetCreateError",
			`Failed to create new replica set "cache-5d4f": replicasets.apps "cache-5d4f" is forbidden: exceeded quota: sets`)),
		stuck:     `QuotaExceeded: Failed to create new replica set "cache-5d4f": replicasets.apps "cache-5d4f" is forbidden: exceeded quota: sets`,
		available: unavailable0,
	}, {
		name: "a change is refused, what runs is complete", pods: makePods(3),
		written: memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: "too little"}},
		stuck:   "InvalidSpec: too little",
	}, {
		name:       "the Service is refused, the rollout goes on",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
		pods:       makePods(3),
		written:    memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "Service cache belongs to nobody"}},
		trouble:    "Conflict: Service cache belongs to nobody", progressing: "True " + replacing + "1 of 3 nodes are updated",
	}, {
		name:    "nothing can be created",
		written: memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonAdmissionDenied, Message: "no"}},
		stuck:   "AdmissionDenied: no", available: unavailable0,
	}}
}

// TestHeldBackNamesAKindOnce covers a pause that holds back two ConfigMaps, as with a StatefulSet. A size of 0 keeps no items.
func TestHeldBackNamesAKindOnce(t *testing.T) {
	f := &facts{Written: memcached.Written{Pending: []string{"ConfigMap", "ConfigMap", "Deployment"}}}
	f.Workload = &memcached.Workload{Kind: cachev1alpha1.WorkloadDeployment, Size: 3}
	held := f.heldBack()
	if want := []string{"the ConfigMap", "the Deployment", "scaling from 3 to 0 nodes, which loses all items"}; !slices.Equal(held, want) {
		t.Errorf("%q, want %q", held, want)
	}
}
