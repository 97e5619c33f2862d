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
	const about, words = cachev1alpha1.ConditionAvailable, "%d of %d proxies are ready"
	switch served := f.ready > 0 || f.size == 0; {
	case served && memcached.Discoverable(f.Children, SelectorLabels(f.Proxy)):
		return says(about, metav1.ConditionTrue, cachev1alpha1.ReasonAsExpected, words, f.ready, f.size)
	case served:
		return says(about, metav1.ConditionFalse, cachev1alpha1.ReasonNotReady, words+", but no Service leads clients to them", f.ready, f.size)
	case f.workload != nil && f.workload.ObservedGeneration == 0 && f.existing == 0 && f.problem == nil:
		return says(about, metav1.ConditionUnknown, cachev1alpha1.ReasonCreating, "The cluster has not reported on the proxies yet")
	default:
		return says(about, metav1.ConditionFalse, cachev1alpha1.ReasonNotReady, words, f.ready, f.size)
	}
}

func says(about string, status metav1.ConditionStatus, reason, words string, values ...any) metav1.Condition {
	return metav1.Condition{Type: about, Status: status, Reason: reason, Message: fmt.Sprintf(words, values...)}
}

func progressingCondition(f facts) metav1.Condition {
	const about, is, isNot = cachev1alpha1.ConditionProgressing, metav1.ConditionTrue, metav1.ConditionFalse
	reason, message := rollout(f)
	switch {
	case f.Proxy.DeletionTimestamp != nil:
		return says(about, is, cachev1alpha1.ReasonWaitingForDeletion, "The MemcachedProxy is being deleted")
	case f.Waiting != "":
		return says(about, is, cachev1alpha1.ReasonWaitingForDeletion, "%s", f.Waiting)
	case f.stuck(reason != ""):
		return says(about, isNot, cachev1alpha1.ReasonStuck, "The change cannot continue: see the condition Degraded")
	case reason != "" && f.workload != nil && f.workload.Overdue != "":
		return says(about, isNot, cachev1alpha1.ReasonStuck, "%s", f.workload.Overdue)
	case reason != "":
		return says(about, is, reason, "%s", message)
	case announced(f) != "":
		return says(about, is, cachev1alpha1.ReasonRollingOut, "%s", announced(f))
	case differingSizes(f.View) != "":
		return says(about, is, cachev1alpha1.ReasonScaling, "%s", differingSizes(f.View))
	default:
		return says(about, isNot, cachev1alpha1.ReasonAsExpected, "No change is under way")
	}
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
// there is none, it repeats Progressing if a change is in progress or stuck. If neither applies, it counts the ready proxies. It also says
// which proxies cannot use which nodes.
func readyCondition(f facts, progressing, degraded metav1.Condition) metav1.Condition {
	const about, isNot = cachev1alpha1.ConditionReady, metav1.ConditionFalse
	switch {
	case degraded.Status == metav1.ConditionTrue:
		return says(about, isNot, degraded.Reason, "%s", degraded.Message)
	case progressing.Status == metav1.ConditionTrue, progressing.Reason == cachev1alpha1.ReasonStuck:
		return says(about, isNot, progressing.Reason, "%s%s", progressing.Message, f.missed())
	case f.ready != f.size || f.existing != f.size || f.missed() != "":
		return says(about, isNot, cachev1alpha1.ReasonNotReady, "%d of %d proxies are ready%s", f.ready, f.size, f.missed())
	default:
		return says(about, metav1.ConditionTrue, cachev1alpha1.ReasonAllProxiesReady, "All %d proxies are ready", f.size)
	}
}
