// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// overdue returns a message if a change of a StatefulSet has exceeded the progress deadline, else an empty text: Kubernetes applies none.
// These events count as progress: a pod is created or deleted, a pod changes its readiness, or memcached restarts within its pod.
func overdue(v memcached.View, plan rollout.Plan) string {
	workload := v.Workload
	since, began := progressingSince(v)
	if !began {
		return ""
	}
	since = memcached.Later(since, workload.GetCreationTimestamp().Time)
	for i := range v.Pods {
		since = memcached.Later(since, movedAt(&v.Pods[i]))
		since = memcached.Later(since, v.Answers[v.Pods[i].UID].Since) // a restart in place does not change the pod
	}
	for _, twin := range v.Twins { // this change may wait for the rollout of a twin
		for i := range twin.Pods {
			since = memcached.Later(since, movedAt(&twin.Pods[i]))
		}
	}
	deadline := progressDeadline(v.Memcached)
	if v.Now.Sub(since) < deadline {
		return ""
	}
	message := fmt.Sprintf("No node has come, gone or changed for %d minutes", int(deadline.Minutes()))
	if now := plan.Now(); now != "" {
		message += ": " + now
	}
	if plan.Words == "" {
		message += fmt.Sprintf("; to see why: kubectl describe statefulset %s -n %s", workload.GetName(), workload.GetNamespace())
	}
	return message
}

// progressingSince returns when the change in progress began according to the last status, or the zero time if the change was
// already overdue. It returns false if that status is about an earlier spec, or no change was in progress.
func progressingSince(v memcached.View) (time.Time, bool) {
	last := meta.FindStatusCondition(v.Last.Conditions, cachev1alpha1.ConditionProgressing)
	switch {
	case last == nil || last.ObservedGeneration != v.Memcached.Generation:
		return time.Time{}, false
	case last.Reason == cachev1alpha1.ReasonStuck:
		// If a problem stopped the change, the deadline begins anew once the problem is gone.
		return time.Time{}, last.Message != stoppedByProblem
	default:
		return last.LastTransitionTime.Time, last.Status == metav1.ConditionTrue
	}
}

// movedAt returns when a pod was created or deleted, or changed its readiness, whichever is latest.
func movedAt(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	if pod.DeletionTimestamp != nil {
		at = memcached.Later(at, pod.DeletionTimestamp.Time)
	}
	if ready := memcached.PodCondition(pod, corev1.PodReady); ready != nil {
		at = memcached.Later(at, ready.LastTransitionTime.Time)
	}
	return at
}

// RequeueAfter returns the time after which to reconcile again even if no event occurs, or 0 for never.
func RequeueAfter(v memcached.View, current cachev1alpha1.MemcachedStatus) time.Duration {
	wait := SilentFor(v.Workload.Nodes(v.Pods), v.Now)
	if memcached.IsStatefulSet(v.Memcached) && meta.IsStatusConditionTrue(current.Conditions, cachev1alpha1.ConditionProgressing) {
		wait = memcached.Sooner(wait, progressDeadline(v.Memcached))
	}
	return wait
}

func progressDeadline(mc *cachev1alpha1.Memcached) time.Duration {
	return time.Duration(memcached.ProgressDeadlineSeconds(mc.Spec.UpdateStrategy.MinReadySeconds)) * time.Second
}
