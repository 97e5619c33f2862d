// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// conditions returns the four conditions that always exist, and then the others that apply.
func conditions(f facts) []metav1.Condition {
	degraded, progressing := degradedCondition(f), progressingCondition(f)
	ready := readyCondition(f, progressing, degraded)
	all := []metav1.Condition{ready, availableCondition(f), progressing, degraded}
	all = slices.Concat(all, KStatusConditions(ready, progressing, degraded), attentionConditions(f))
	return Complete(all, f.Last.Conditions, f.Memcached.Generation, f.Now)
}

// Complete adds the generation and the transition time to each condition, and sanitizes its message. A condition with an unchanged
// status keeps its transition time.
func Complete(conditions, last []metav1.Condition, generation int64, now time.Time) []metav1.Condition {
	for i := range conditions {
		condition := &conditions[i]
		condition.ObservedGeneration = generation
		condition.Message = SanitizeMessage(condition.Message)
		condition.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		if old := meta.FindStatusCondition(last, condition.Type); old != nil && old.Status == condition.Status &&
			old.Reason != cachev1alpha1.ReasonWaitingForOperator { // the schema's default has this reason and a meaningless time
			condition.LastTransitionTime = old.LastTransitionTime
		}
	}
	return conditions
}

func availableCondition(f facts) metav1.Condition {
	condition := metav1.Condition{
		Type:    cachev1alpha1.ConditionAvailable,
		Status:  metav1.ConditionTrue,
		Reason:  cachev1alpha1.ReasonMinimumNodesReady,
		Message: fmt.Sprintf("%d of %d nodes are ready", f.ready, f.size),
	}
	switch {
	case f.available && f.discoverable:
		return condition
	case f.available:
		condition.Status, condition.Reason = metav1.ConditionFalse, cachev1alpha1.ReasonServiceMissing
		condition.Message += ", but no Service leads clients to them"
		return condition
	}
	condition.Status, condition.Reason = metav1.ConditionFalse, cachev1alpha1.ReasonNodesUnavailable
	condition.Message += fmt.Sprintf(", %d are needed", f.required)
	if f.Workload != nil && f.Workload.ObservedGeneration == 0 && len(f.nodes) == 0 && f.podProblem == nil {
		condition.Status, condition.Reason = metav1.ConditionUnknown, cachev1alpha1.ReasonCreating
		condition.Message = "The cluster has not reported on the nodes yet"
	}
	return condition
}

func degradedCondition(f facts) metav1.Condition {
	problem := f.primaryProblem()
	condition := Degraded(problem)
	if problem != nil {
		condition.Message = withRunbook(*problem)
	}
	return condition
}

// Degraded returns the condition Degraded: True for a problem, and False for nil.
func Degraded(problem *memcached.Problem) metav1.Condition {
	condition := metav1.Condition{
		Type:    cachev1alpha1.ConditionDegraded,
		Status:  metav1.ConditionFalse,
		Reason:  cachev1alpha1.ReasonAsExpected,
		Message: "Nothing prevents the desired state",
	}
	if problem != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, problem.Reason, problem.Message
	}
	return condition
}

// primaryProblem returns the problem that Degraded reports, or nil. A problem of the plan or the write comes first, then one of the
// pods, then one of the twins.
func (f facts) primaryProblem() *memcached.Problem {
	if f.Problem != nil {
		return f.Problem
	}
	return cmp.Or(f.podProblem, f.plan.Twins.Problem)
}

// stoppedByProblem is the message of Progressing if the problem in Degraded stops the change.
const stoppedByProblem = "The change cannot continue: see the condition Degraded"

// progressingCondition returns the condition Progressing. Only the cases that return early leave it True.
func progressingCondition(f facts) metav1.Condition {
	mc := f.Memcached
	condition := metav1.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	stuck := f.stuck()
	switch {
	case mc.DeletionTimestamp != nil:
		condition.Reason, condition.Message = cachev1alpha1.ReasonWaitingForDeletion, "The Memcached is being deleted"
		return condition
	case mc.Spec.Paused:
		condition.Reason, condition.Message = cachev1alpha1.ReasonPaused, pausedMessage(f)
	case f.Waiting != "":
		condition.Reason, condition.Message = cachev1alpha1.ReasonWaitingForDeletion, f.Waiting
		return condition
	case stuck != "":
		condition.Reason, condition.Message = cachev1alpha1.ReasonStuck, stuck
		if problem := f.primaryProblem(); problem != nil && problem.Message == stuck {
			condition.Message = stoppedByProblem
		}
	case f.rollout.reason != "":
		condition.Reason, condition.Message = f.rollout.reason, f.rollout.message
		return condition
	case f.unsupported() != "":
		condition.Reason, condition.Message = cachev1alpha1.ReasonUnsupportedVersion, f.unsupported()
	case f.newer() != "":
		condition.Reason, condition.Message = cachev1alpha1.ReasonNewerDefaultsAvailable, f.newer()
	default:
		condition.Reason, condition.Message = cachev1alpha1.ReasonComplete, "No change is under way"
	}
	condition.Status = metav1.ConditionFalse
	return condition
}

// stuck returns why the current change cannot proceed, or an empty text. The first of these cases decides:
//  1. There is a problem of the plan or the write, and it stops the change: this problem.
//  2. The workload exists, and its nodes change: the problem of the pods, or else the exceeded deadline, if any.
//  3. Otherwise: the problem of the plan or the write, if any.
func (f facts) stuck() string {
	changing := f.rollout.reason != "" && f.Workload != nil
	switch {
	case f.Problem != nil && f.unwritten():
		return f.Problem.Message
	case changing && f.podProblem != nil:
		return f.podProblem.Message
	case changing:
		return f.rollout.deadlineMessage
	case f.Problem != nil:
		return f.Problem.Message
	default:
		return ""
	}
}

// readyCondition returns the summary: True if everything is as specified, Unknown if a pause holds changes back, and otherwise
// False with the first cause. A problem comes before a pause.
func readyCondition(f facts, progressing, degraded metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case degraded.Status == metav1.ConditionTrue:
		condition.Reason, condition.Message = degraded.Reason, degraded.Message
	case f.Memcached.Spec.Paused && len(f.held) > 0:
		condition.Status = metav1.ConditionUnknown
		condition.Reason = cachev1alpha1.ReasonPaused
		condition.Message = "spec.paused holds back: " + strings.Join(f.held, ", ")
	case progressing.Status == metav1.ConditionTrue, progressing.Reason == cachev1alpha1.ReasonStuck:
		condition.Reason, condition.Message = progressing.Reason, progressing.Message
	case f.rollout.reason != "":
		condition.Reason, condition.Message = f.rollout.reason, f.rollout.message
	case len(f.nodes) > int(f.size):
		condition.Reason = cachev1alpha1.ReasonScaling
		condition.Message = fmt.Sprintf("%d nodes exist, %d are wanted", len(f.nodes), f.size)
	case f.ready != f.size:
		condition.Reason = cachev1alpha1.ReasonNodesUnavailable
		condition.Message = fmt.Sprintf("%d of %d nodes are ready", f.ready, f.size)
	default:
		condition.Status = metav1.ConditionTrue
		condition.Reason = cachev1alpha1.ReasonAllNodesReady
		condition.Message = allReady(f.size)
	}
	return condition
}
