// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// eventRecord is an event to be emitted.
type eventRecord struct {
	// kind is Normal or Warning. action is what the operator did.
	kind, reason, action, note string
	// related is the child that the event is about, or nil.
	related client.Object
}

// transitions returns the events for conditions whose status or reason changed. A change of only the message causes no event.
func transitions(before, after cachev1alpha1.MemcachedStatus) []eventRecord {
	var records []eventRecord
	for _, condition := range after.Conditions {
		if condition.Type == cachev1alpha1.ConditionAvailable && after.ReadyReplicas >= before.ReadyReplicas && !losesProxies(before, after) {
			continue // nothing was lost; for example, the Memcached was scaled up from size 0
		}
		if condition.Type == cachev1alpha1.ConditionDegraded && condition.Status != metav1.ConditionTrue &&
			progress(after.Conditions) == cachev1alpha1.ReasonPaused {
			continue // a pause hides whether the problem is fixed
		}
		if record := transition(before.Conditions, condition); record != nil {
			records = append(records, *record)
		}
	}
	return append(records, attentionEnded(before, after)...)
}

func losesProxies(before, after cachev1alpha1.MemcachedStatus) bool {
	none := cachev1alpha1.MemcachedProxiesStatus{}
	return ptr.Deref(after.Proxies, none).Ready < ptr.Deref(before.Proxies, none).Ready
}

// attentionEnded returns the event for the end of NeedsAttention, or none.
func attentionEnded(before, after cachev1alpha1.MemcachedStatus) []eventRecord {
	const attention = cachev1alpha1.ConditionNeedsAttention
	if meta.FindStatusCondition(before.Conditions, attention) == nil || meta.FindStatusCondition(after.Conditions, attention) != nil {
		return nil
	}
	return []eventRecord{{
		kind: corev1.EventTypeNormal, reason: recovered, action: "Observe", note: "The agents of the nodes report no problem any more",
	}}
}

// recovered is the reason of the event about a problem that is over.
const recovered = "Recovered"

// progress returns the reason of the condition Progressing.
func progress(conditions []metav1.Condition) string {
	return reasonOf(conditions, cachev1alpha1.ConditionProgressing)
}

// reasonOf returns the reason of a condition, empty if the condition does not exist.
func reasonOf(conditions []metav1.Condition, conditionType string) string {
	if condition := meta.FindStatusCondition(conditions, conditionType); condition != nil {
		return condition.Reason
	}
	return ""
}

func (r *Reconciler) emit(mc *cachev1alpha1.Memcached, e eventRecord) {
	var related runtime.Object
	if e.related != nil {
		related = e.related
	}
	r.Recorder.Eventf(mc, related, e.kind, e.reason, e.action, "%s", e.note)
}

// transition returns the event for the change of one condition, or nil for none. The argument conditions holds the conditions before
// the change.
func transition(conditions []metav1.Condition, after metav1.Condition) *eventRecord {
	before := ptr.Deref(meta.FindStatusCondition(conditions, after.Type), metav1.Condition{})
	if before.Status == after.Status && before.Reason == after.Reason {
		return nil
	}
	record := eventOf(before, after)
	if record != nil {
		record.note = after.Message
	}
	return record
}

func eventOf(before, after metav1.Condition) *eventRecord {
	switch after.Type {
	case cachev1alpha1.ConditionReady:
		if after.Status == metav1.ConditionTrue && before.Status != metav1.ConditionTrue {
			return &eventRecord{kind: corev1.EventTypeNormal, reason: cachev1alpha1.ConditionReady, action: "Observe"}
		}
	case cachev1alpha1.ConditionAvailable:
		if before.Status == metav1.ConditionTrue {
			return &eventRecord{kind: corev1.EventTypeWarning, reason: after.Reason, action: "Observe"}
		}
	case cachev1alpha1.ConditionNeedsAttention:
		return &eventRecord{kind: corev1.EventTypeWarning, reason: after.Reason, action: "Observe"}
	case cachev1alpha1.ConditionProgressing:
		return progressEvent(before, after)
	case cachev1alpha1.ConditionDegraded:
		if after.Status == metav1.ConditionTrue {
			return &eventRecord{kind: corev1.EventTypeWarning, reason: after.Reason, action: "Reconcile"}
		}
		if before.Status == metav1.ConditionTrue {
			return &eventRecord{kind: corev1.EventTypeNormal, reason: recovered, action: "Reconcile"}
		}
	}
	return nil
}

func progressEvent(before, after metav1.Condition) *eventRecord {
	switch {
	case before.Reason == "" && after.Reason == cachev1alpha1.ReasonCreating:
		return nil // the event would cost a request, and tell the creator of the Memcached nothing new
	case after.Reason == cachev1alpha1.ReasonStuck:
		return &eventRecord{kind: corev1.EventTypeWarning, reason: after.Reason, action: "Reconcile"}
	case after.Reason != cachev1alpha1.ReasonAsExpected:
		return &eventRecord{kind: corev1.EventTypeNormal, reason: after.Reason, action: "Reconcile"}
	case before.Reason == cachev1alpha1.ReasonPaused:
		return &eventRecord{kind: corev1.EventTypeNormal, reason: "Resumed", action: "Reconcile"}
	default:
		return nil
	}
}

// corrected returns the event for a correction, which has undone a change by somebody else. Contested fields cause no event: the
// condition Degraded reports them with the reason FieldContested.
func corrected(mc *cachev1alpha1.Memcached, c apply.Correction) eventRecord {
	note := fmt.Sprintf("%s %s was changed", c.Kind, c.Name)
	if len(c.Managers) > 0 {
		note += " by " + strings.Join(c.Managers, " and ")
	}
	note += fmt.Sprintf(" (%s): restored", someFields(c.Fields))
	ofTemplate := func(field string) bool { return strings.HasPrefix(field, podTemplate) }
	switch {
	case !memcached.IsWorkload(c.Kind) || c.Name == mc.Name+memcached.ProxySuffix || !slices.ContainsFunc(c.Fields, ofTemplate):
	case c.Kind == string(cachev1alpha1.WorkloadDeployment):
		note += "; nodes that have started with the change lost their keys, and are replaced"
	default:
		note += "; a node that has started with the change keeps it until its pod is replaced"
	}
	return correction(note)
}

// recreated returns the event for an object that somebody deleted. Kubernetes does not record who that was.
func recreated(object string) eventRecord { return correction(object + " was deleted: created again") }

func correction(note string) eventRecord {
	return eventRecord{kind: corev1.EventTypeWarning, reason: "Corrected", action: "Correct", note: status.SanitizeMessage(note)}
}

// someFields names at most three of the fields, and says how many more there are. Fields of the metadata come last, because they are
// less likely to have been changed on purpose.
func someFields(fields []string) string {
	const most = 3
	fields = slices.Clone(fields)
	slices.SortStableFunc(fields, func(a, b string) int { return metadataLast(a) - metadataLast(b) })
	if len(fields) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(fields[:most], ", "), len(fields)-most)
	}
	return strings.Join(fields, ", ")
}

func metadataLast(field string) int {
	if strings.HasPrefix(field, "metadata.") {
		return 1
	}
	return 0
}
