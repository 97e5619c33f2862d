// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Observed is what a single pass read from the cluster for one Memcached. It holds facts only: objects with the names of its
// children may belong to somebody else.
type Observed struct {
	// Children are the objects of the Kinds in Children that exist.
	Children []client.Object
	// Pods are those with the Memcached's instance label that have not succeeded, reduced to what the status needs: see
	// CacheOptions of the controllers.
	Pods []corev1.Pod
	// PendingCreate reports that the cache has not received an object that was created.
	PendingCreate bool
}

// View is all that decisions about a Memcached follow from.
type View struct {
	Observed

	// Memcached as it was read. It may come from a cache: nothing may change it.
	Memcached *cachev1alpha1.Memcached
	// Workload is the workload of the Kind that the spec asks for, Former that of the other Kind, which nodes leave. Each is nil if
	// the Memcached has none.
	Workload, Former *Workload
	// Last is what the last status says.
	Last Last
	// Answers are those of launchers that a plan has asked for.
	Answers Answers
	// Twins are the views of the Memcacheds that this one names in spec.fillFrom, or that name it. They have no twins of their own.
	Twins []View
	// Filled are the nodes that have answered earlier that they have the items of their twin.
	Filled map[types.UID]bool
	// Unchangeable is the hash of a template that pods cannot be changed to, according to the API server. Empty if there is none.
	Unchangeable string
	// Agents are the reports of the nodes' agents.
	Agents AgentReports
	// Now is the time of the API server, as in objects.
	Now time.Time
}

// Last is the part of the last status that decisions and the next status depend on.
type Last struct {
	// Generation is that of the spec that it is about.
	Generation int64
	// Applied is what was carried out for the pods, nil if that is not known.
	Applied *cachev1alpha1.MemcachedRecord
	// Servers is the number of servers in that status, Ready and Updated the counts of nodes.
	Servers        int
	Ready, Updated int32
	// Conditions say what was in progress since when, and whether the nodes were ready.
	Conditions []metav1.Condition
}

// Spec is the spec that was last carried out, nil if that is not known.
func (l Last) Spec() map[string]cachev1alpha1.RecordedValue {
	if l.Applied == nil {
		return nil
	}
	return l.Applied.Spec
}

// IsTrue reports whether a condition was True.
func (l Last) IsTrue(condition string) bool {
	return meta.IsStatusConditionTrue(l.Conditions, condition)
}

// NewView returns the view of a Memcached.
func NewView(mc *cachev1alpha1.Memcached, observed Observed, now time.Time) View {
	v := View{
		Observed:  observed,
		Memcached: mc,
		Last: Last{
			Generation: mc.Status.ObservedGeneration,
			Applied:    mc.Status.LastApplied,
			Servers:    len(mc.Status.Servers),
			Ready:      mc.Status.ReadyReplicas,
			Updated:    mc.Status.UpdatedReplicas,
			Conditions: mc.Status.Conditions,
		},
		Now: now,
	}
	wanted := WorkloadKind(mc)
	v.Workload = belonging(mc, findWorkload(observed.Children, func(w *Workload) bool { return w.Kind == wanted }))
	v.Former = belonging(mc, findWorkload(observed.Children, func(w *Workload) bool { return w.Kind != wanted }))
	return v
}

// After returns the view after a write, which was answered with the given objects.
func (v View) After(answers []client.Object) View {
	observed := v.Observed
	observed.Children = slices.Clone(observed.Children)
	for _, object := range answers {
		if i := slices.IndexFunc(observed.Children, func(child client.Object) bool { return sameName(child, object) }); i >= 0 {
			observed.Children[i] = object
		} else {
			observed.Children = append(observed.Children, object)
		}
	}
	after := NewView(v.Memcached, observed, v.Now)
	after.Answers, after.Twins, after.Filled = v.Answers, v.Twins, v.Filled
	after.Unchangeable, after.Agents = v.Unchangeable, v.Agents
	return after
}

func sameName(a, b client.Object) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a.GetName() == b.GetName()
}

// belonging returns a workload if it belongs to the Memcached, else nil. A workload without an owner that was made for a Memcached
// of this name belongs to it: its pods hold the cache.
func belonging(mc *cachev1alpha1.Memcached, workload *Workload) *Workload {
	if workload == nil {
		return nil
	}
	orphaned := metav1.GetControllerOfNoCopy(workload) == nil && workload.TemplateHash() != "" &&
		maps.Equal(workload.Selector, SelectorLabels(mc))
	if !orphaned && !metav1.IsControlledBy(workload, mc) {
		return nil
	}
	return workload
}

// ServiceName returns the name of the Memcached's Service, or an empty name.
func (v View) ServiceName() string {
	for _, child := range v.Children {
		if service, ok := child.(*corev1.Service); ok && metav1.IsControlledBy(service, v.Memcached) {
			return service.Name
		}
	}
	return ""
}

// Discoverable reports whether a Service with the right name exists, whoever owns it.
func (v View) Discoverable() bool {
	return slices.ContainsFunc(v.Children, func(child client.Object) bool {
		service, ok := child.(*corev1.Service)
		return ok && maps.Equal(service.Spec.Selector, SelectorLabels(v.Memcached))
	})
}

// Occupied reports whether the Service of the name is that of a MemcachedProxy.
func (v View) Occupied() bool {
	return slices.ContainsFunc(v.Children, func(child client.Object) bool {
		service, ok := child.(*corev1.Service)
		return ok && service.Spec.Selector[NameLabel] == ProxyName
	})
}
