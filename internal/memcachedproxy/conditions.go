// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// conditions returns the four conditions that always exist and, if it applies, Reconciling or Stalled for kstatus.
func conditions(f facts) []metav1.Condition {
	degraded, progressing := status.Degraded(f.problem), progressingCondition(f)
	ready := readyCondition(f, progressing, degraded)
	all := []metav1.Condition{ready, availableCondition(f), progressing, degraded}
	all = append(all, status.KStatusConditions(ready, progressing, degraded)...)
	return status.Complete(all, f.Proxy.Status.Conditions, f.Proxy.Generation, f.Now)
}

// availableCondition returns Available. It is True if a Service leads clients to the proxies and at least one proxy is ready. If the size
// is 0, the Service is enough.
func availableCondition(f facts) metav1.Condition {
	condition := metav1.Condition{
		Type:    cachev1alpha1.ConditionAvailable,
		Status:  metav1.ConditionTrue,
		Reason:  cachev1alpha1.ReasonAsExpected,
		Message: fmt.Sprintf("%d of %d proxies are ready", f.ready, f.size),
	}
	available := f.ready > 0 || f.size == 0
	switch {
	case available && memcached.Discoverable(f.Children, SelectorLabels(f.Proxy)):
		return condition
	case available:
		condition.Status, condition.Reason = metav1.ConditionFalse, cachev1alpha1.ReasonNotReady
		condition.Message += ", but no Service leads clients to them"
		return condition
	}
	condition.Status, condition.Reason = metav1.ConditionFalse, cachev1alpha1.ReasonNotReady
	if f.workload != nil && f.workload.ObservedGeneration == 0 && f.existing == 0 && f.problem == nil {
		condition.Status, condition.Reason = metav1.ConditionUnknown, cachev1alpha1.ReasonCreating
		condition.Message = "The cluster has not reported on the proxies yet"
	}
	return condition
}

func progressingCondition(f facts) metav1.Condition {
	condition := metav1.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	reason, message := rollout(f)
	switch {
	case f.Proxy.DeletionTimestamp != nil:
		condition.Reason, condition.Message = cachev1alpha1.ReasonWaitingForDeletion, "The MemcachedProxy is being deleted"
	case f.Waiting != "":
		condition.Reason, condition.Message = cachev1alpha1.ReasonWaitingForDeletion, f.Waiting
	case f.stuck(reason != ""):
		condition.Status, condition.Reason = metav1.ConditionFalse, cachev1alpha1.ReasonStuck
		condition.Message = "The change cannot continue: see the condition Degraded"
	case reason != "":
		condition.Reason, condition.Message = reason, message
		if f.workload != nil && f.workload.Overdue != "" {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, cachev1alpha1.ReasonStuck, f.workload.Overdue
		}
	case announced(f) != "":
		condition.Reason, condition.Message = cachev1alpha1.ReasonRollingOut, announced(f)
	case differingSizes(f.View) != "":
		condition.Reason, condition.Message = cachev1alpha1.ReasonScaling, differingSizes(f.View)
	default:
		condition.Status = metav1.ConditionFalse
		condition.Reason, condition.Message = cachev1alpha1.ReasonAsExpected, "No change is under way"
	}
	return condition
}

// stuck reports whether a problem stops a change. A problem of the spec or of a write always stops it. A problem of the pods stops it only
// if the Deployment is missing, differs from the spec, or is changing. The parameter moving reports that the Deployment is changing.
func (f facts) stuck(moving bool) bool {
	return f.Written.Problem != nil || f.problem != nil && (f.workload == nil || f.unwritten || moving)
}

// rollout returns the reason and the message of Progressing while the Deployment changes. Otherwise both are empty.
func rollout(f facts) (reason, message string) {
	w := f.workload
	switch {
	case w == nil || w.ObservedGeneration == 0:
		return cachev1alpha1.ReasonCreating, fmt.Sprintf("Starting %d proxies", f.size)
	case w.Complete && w.Updated == w.Replicas && w.Replicas != f.size:
		return cachev1alpha1.ReasonScaling, fmt.Sprintf("Scaling from %d to %d proxies", w.Replicas, f.size)
	case w.Unobserved():
		return cachev1alpha1.ReasonRollingOut, fmt.Sprintf("Updating %d proxies", f.size)
	case !w.Complete && w.First:
		return cachev1alpha1.ReasonCreating, fmt.Sprintf("%d of %d proxies are started", w.Ready, f.size)
	case !w.Complete || w.Updated != w.Replicas:
		return cachev1alpha1.ReasonRollingOut, fmt.Sprintf("%d of %d proxies are updated", w.Updated, f.size)
	default:
		return "", ""
	}
}

// readyCondition returns Ready. It is True if everything is as specified. Otherwise, Ready repeats Degraded if there is a problem. If
// there is none, it repeats Progressing if a change is in progress or stuck. If neither applies, it counts the ready proxies.
func readyCondition(f facts, progressing, degraded metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case degraded.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = degraded.Reason, degraded.Message
	case progressing.Status == metav1.ConditionTrue, progressing.Reason == cachev1alpha1.ReasonStuck:
		condition.Reason, condition.Message = progressing.Reason, progressing.Message
	case f.ready != f.size || f.existing != f.size:
		condition.Reason = cachev1alpha1.ReasonNotReady
		condition.Message = fmt.Sprintf("%d of %d proxies are ready", f.ready, f.size)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, cachev1alpha1.ReasonAllProxiesReady
		condition.Message = fmt.Sprintf("All %d proxies are ready%s", f.size, unfilled(f.View))
	}
	return condition
}
