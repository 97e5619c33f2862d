// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Observed is what a reconcile has read from the cluster for one Memcached. Owners are not checked: a child may have the right
// name but another owner.
type Observed struct {
	// Children are the existing objects with the names of the Memcached's children.
	Children []client.Object
	// Pods are the pods with the labels of the Memcached's nodes, without those that have succeeded. They have only the fields that the
	// cache keeps: see CacheOptions in package controllers.
	Pods []corev1.Pod
	// Proxies are the pods with the labels of the Memcached's proxies, in the same way.
	Proxies []corev1.Pod
	// Refused is the API server's error when it refused pods of a StatefulSet, as an event tells, or "".
	Refused string
}

// View is everything on which decisions about a Memcached depend.
type View struct {
	Observed

	// Memcached may come from a cache and must not be changed.
	Memcached *cachev1alpha1.Memcached
	// Workloads are the workloads of the copies, in order, nil where there is none. A workload of another Kind than spec.workload does not
	// count. Workload is the first of them.
	Workloads []*Workload
	Workload  *Workload
	// Last holds parts of the last status.
	Last Last
	// Answers are the answers of the parents of nodes and proxies that are known so far. Plan.Ask names the parents to ask next.
	Answers Answers
	// Filled holds the UIDs of pods that have all items of their number, as their parents have already reported.
	Filled map[types.UID]bool
	// Absent is since when pods are missing, by their names: see Plan.Absent.
	Absent map[string]time.Time
	// Agents are the reports of the nodes' agents.
	Agents AgentReports
	// Now is the API server's time.
	Now time.Time
}

// Last is the part of the last status that decisions and the next status depend on.
type Last struct {
	// Generation is the generation of the spec for which the status was computed.
	Generation int64
	// Servers, Ready and Updated are the numbers of servers, ready nodes and updated nodes in the status.
	Servers        int
	Ready, Updated int32
	// ReadyProxies is the number of ready proxies in the status.
	ReadyProxies int32
	// Conditions are the conditions of the last status. They show since when a change has been in progress.
	Conditions []metav1.Condition
}

// Complete reports whether the last status says that nothing was left to do about the nodes for the spec of this generation.
func (l Last) Complete(generation int64) bool {
	progressing := meta.FindStatusCondition(l.Conditions, cachev1alpha1.ConditionProgressing)
	if progressing == nil || progressing.ObservedGeneration != generation {
		return false
	}
	return AboutProxies(*progressing) || progressing.Status == metav1.ConditionFalse &&
		progressing.Reason != cachev1alpha1.ReasonStuck && progressing.Reason != cachev1alpha1.ReasonPaused
}

// LastReason returns the reason of a condition of the last status, or "". The API server's default for a new Memcached does not count.
// A change of the proxies says nothing about nodes, so it counts as none.
func (v View) LastReason(condition string) string {
	last := meta.FindStatusCondition(v.Last.Conditions, condition)
	switch {
	case last == nil || last.Reason == cachev1alpha1.ReasonWaitingForOperator:
		return ""
	case AboutProxies(*last):
		return cachev1alpha1.ReasonAsExpected
	default:
		return last.Reason
	}
}

// ofProxies matches messages about a change of the proxies. Other messages may have names that begin with this word.
var ofProxies = regexp.MustCompile(`^(\S+ ){1,4}([0-9]+|the|all) proxies( |$)`)

// AboutProxies reports whether a condition Progressing is about a change of the proxies. Its message names them.
func AboutProxies(condition metav1.Condition) bool {
	return condition.Type == cachev1alpha1.ConditionProgressing && ofProxies.MatchString(condition.Message)
}

// IsTrue reports whether this condition was True in the last status.
func (l Last) IsTrue(condition string) bool {
	return meta.IsStatusConditionTrue(l.Conditions, condition)
}

// NewView returns the View of a Memcached. The fields that it does not know stay empty: Answers, Filled, Absent and Agents.
func NewView(mc *cachev1alpha1.Memcached, observed Observed, now time.Time) View {
	v := View{
		Observed:  observed,
		Memcached: mc,
		Last: Last{
			Generation: mc.Status.ObservedGeneration,
			Servers:    len(mc.Status.Servers),
			Ready:      mc.Status.ReadyReplicas,
			Updated:    mc.Status.UpdatedReplicas,
			Conditions: mc.Status.Conditions,
		},
		Now: now,
	}
	if mc.Status.Proxies != nil {
		v.Last.ReadyProxies = mc.Status.Proxies.Ready
	}
	wanted := WorkloadKind(mc)
	for number := range Copies(mc) {
		v.Workloads = append(v.Workloads, WorkloadOf(mc, CopyLabels(mc, number), observed.Children, func(w *Workload) bool {
			return w.Kind == wanted && w.GetName() == CopyName(mc, number)
		}))
	}
	v.Workload = v.Workloads[0]
	if v.Workload != nil && wanted == cachev1alpha1.WorkloadStatefulSet {
		v.Workload.Refused = observed.Refused
	}
	return v
}

// After returns the View after a write. The parameter answers holds objects as they exist after the write. They replace the objects
// with the same names in the View. The field Answers, with the answers of parents, stays as it is.
func (v View) After(answers []client.Object) View {
	observed := v.Observed
	observed.Children = Written{Objects: answers}.Over(observed.Children)
	return v.With(observed)
}

// With returns the View with other observed objects. What the operator knows otherwise stays.
func (v View) With(observed Observed) View {
	other := NewView(v.Memcached, observed, v.Now)
	other.Answers, other.Filled, other.Absent, other.Agents = v.Answers, v.Filled, v.Absent, v.Agents
	return other
}

// WorkloadOf returns the first workload that fits, if it belongs to the owner of pods with these labels, and nil otherwise. A workload that
// the operator wrote, but that has no owner now, belongs to the owner whose pods it selects, because these pods hold the cache.
func WorkloadOf(owner metav1.Object, pods map[string]string, children []client.Object, fits func(*Workload) bool) *Workload {
	w := findWorkload(children, fits)
	if w == nil || metav1.IsControlledBy(w, owner) ||
		metav1.GetControllerOfNoCopy(w) == nil && w.GetAnnotations()[AppliedHashAnnotation] != "" && maps.Equal(w.Selector, pods) {
		return w
	}
	return nil
}

// ServiceName returns the name of the Service of the nodes that the Memcached controls, or "".
func (v View) ServiceName() string {
	for _, child := range v.Children {
		service, ok := child.(*corev1.Service)
		if ok && metav1.IsControlledBy(service, v.Memcached) && service.Name == v.Memcached.Name+NodesSuffix {
			return service.Name
		}
	}
	return ""
}

// Discoverable reports whether one of the objects is a Service that selects pods by these labels, whoever owns it.
func Discoverable(objects []client.Object, pods map[string]string) bool {
	return slices.ContainsFunc(objects, func(object client.Object) bool {
		service, ok := object.(*corev1.Service)
		return ok && maps.Equal(service.Spec.Selector, pods)
	})
}
