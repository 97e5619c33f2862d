// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of a Memcached from what was observed, the plan, and the result of the write. It is pure, and
// knows of the desired state only what is in memcached.Plan. Package memcached explains the words node, workload, copy and
// record. An orphan is a node of a former workload.
package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// For computes the status from the view before the write, the plan, and the result of the write. It uses the last status only
// through memcached.Last.
func For(before memcached.View, plan memcached.Plan, written memcached.Written) cachev1alpha1.MemcachedStatus {
	facts := factsOf(before, plan, written)
	mc := facts.Memcached
	status := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: mc.Generation,
		Replicas:           int32(len(facts.nodes)), //nolint:gosec // a thousand at most, and a few more in a rollout
		ReadyReplicas:      readyNodes(facts.nodes),
		Selector:           labels.SelectorFromSet(memcached.CopyLabels(mc, 0)).String(),
		ServiceName:        facts.ServiceName(),
		Servers:            facts.KnownServers(),
		Address:            memcached.Address(mc),
		Proxies:            facts.proxiesStatus(),
	}
	for _, pod := range facts.nodes {
		status.Nodes = append(status.Nodes, pod.Name)
	}
	if facts.Workload != nil {
		status.Image = plain(facts.image()) // somebody else may have set it
		switch {
		case memcached.IsStatefulSet(mc):
			status.UpdatedReplicas = int32(plan.Rollout.Updated / len(facts.Workloads)) //nolint:gosec // as above
		case !facts.templateUnobserved && !facts.TemplatePending:
			status.UpdatedReplicas = facts.Workload.Updated
		}
	}
	if status.Image != "" {
		status.Version, _ = versionOf(status.Image)
	}
	status.Conditions = facts.conditions()
	return status
}

// Unobserved returns the status of a Memcached if some of its objects could not be read. The problem says why. The counts and
// Available stay as in the last status, because it is unknown what exists. The observed generation stays, because the operator has
// not acted on the spec.
func Unobserved(v memcached.View, problem memcached.Problem) cachev1alpha1.MemcachedStatus {
	v.Agents.Pending = true // agents are asked only if everything could be read
	f := &facts{View: v, Written: memcached.Written{Problem: &problem}, unobserved: true, front: frontOf(v)}
	if v.Memcached.Spec.Paused {
		f.held = []string{"what cannot be read"}
	}
	status := *v.Memcached.Status.DeepCopy()
	status.Conditions = f.conditions()
	if known := meta.FindStatusCondition(v.Last.Conditions, available); known != nil {
		*meta.FindStatusCondition(status.Conditions, available) = *known
	}
	return status
}

// conditions returns the four conditions that always exist, and then the others that apply.
func (f *facts) conditions() []metav1.Condition {
	trouble, change, asks := f.all(degraded), f.first(progressing), f.needsAttention()
	summary := f.readyCondition(trouble, change, asks)
	all := append([]metav1.Condition{summary, f.first(available), change, trouble}, KStatusConditions(summary, change, trouble)...)
	return Complete(append(all, asks...), f.Last.Conditions, f.Memcached.Generation, f.Now)
}

// needsAttention returns the condition NeedsAttention, or none. An existing one stays until all agents have been asked: an operator that
// has just started knows no reports yet. It also stays if no agent reports a problem but some agents have not answered.
func (f *facts) needsAttention() []metav1.Condition {
	last, said := meta.FindStatusCondition(f.Last.Conditions, attention), f.all(attention)
	switch {
	case last != nil && (f.Agents.Pending || f.Agents.Unanswered && said.Reason == ""):
		return []metav1.Condition{*last}
	case said.Reason == "":
		return nil
	}
	return []metav1.Condition{said}
}

// readyCondition returns the summary. It also says which proxies cannot use which nodes. A problem comes before what a pause holds back,
// and that before a change. While all nodes are ready, a problem that agents report is the reason, because kubectl get shows it.
func (f *facts) readyCondition(trouble, change metav1.Condition, asks []metav1.Condition) metav1.Condition {
	result := f.first(ready)
	switch {
	case trouble.Status == is:
		result.Status, result.Reason, result.Message = isNot, trouble.Reason, trouble.Message
	case len(f.held) > 0:
	case change.Status == is, change.Reason == cachev1alpha1.ReasonStuck:
		result.Status, result.Reason, result.Message = isNot, change.Reason, change.Message+f.missed()
	case result.Status == is && len(asks) > 0:
		result.Reason, result.Message = asks[0].Reason, result.Message+". "+asks[0].Message
	}
	return result
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

// KStatusConditions returns Reconciling or Stalled while Ready is False. Otherwise, also while a pause makes Ready Unknown, it
// returns no condition: sigs.k8s.io/cli-utils/pkg/kstatus treats an absent condition as False. The result depends only on the three
// given conditions. So it changes only when they change, and causes no additional write of the status.
func KStatusConditions(ready, progressing, degraded metav1.Condition) []metav1.Condition {
	condition := metav1.Condition{
		Type: cachev1alpha1.ConditionReconciling, Status: is, Reason: ready.Reason, Message: ready.Reason + ": see the condition Ready",
	}
	switch {
	case ready.Status != isNot:
		return nil
	case progressing.Status == is: // a change that proceeds is not stalled, whatever else is wrong
	case degraded.Status == is, progressing.Reason == cachev1alpha1.ReasonStuck:
		condition.Type = cachev1alpha1.ConditionStalled
	}
	return []metav1.Condition{condition}
}
