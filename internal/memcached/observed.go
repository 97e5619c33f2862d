// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Observed is what was read from the cluster for one Memcached, in a single pass. It holds facts and no decisions: the objects
// have the names of children of the Memcached, and may belong to somebody else.
type Observed struct {
	// Children are the objects of the Kinds in Children that exist.
	Children []client.Object
	// Pods have the instance label of the Memcached and have not succeeded. They are reduced to what the status needs: see the
	// cache options of the controllers.
	Pods []corev1.Pod

	// before are the children that were observed before With put others in their place.
	before []client.Object
}

// With returns the observation with the given objects, which are the answers to writes, in the place of those of the same Kind
// and name.
func (o Observed) With(written []client.Object) Observed {
	o.before, o.Children = o.Children, slices.Clone(o.Children)
	for _, object := range written {
		if i := slices.IndexFunc(o.Children, func(child client.Object) bool { return sameName(child, object) }); i >= 0 {
			o.Children[i] = object
		} else {
			o.Children = append(o.Children, object)
		}
	}
	return o
}

func sameName(a, b client.Object) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a.GetName() == b.GetName()
}

// Workload returns the workload of the Kind that the spec asks for, nil if there is none that belongs to the Memcached.
func (o Observed) Workload(mc *cachev1alpha1.Memcached) *Workload {
	return belonging(mc, findWorkload(o.Children, func(w *Workload) bool { return w.Kind == WorkloadKind(mc) }))
}

// Former returns the workload of another Kind, which the nodes leave, nil if there is none that belongs to the Memcached.
func (o Observed) Former(mc *cachev1alpha1.Memcached) *Workload {
	return belonging(mc, findWorkload(o.Children, func(w *Workload) bool { return w.Kind != WorkloadKind(mc) }))
}

// belonging returns a workload if it belongs to the Memcached, or nil. One that was made for a Memcached of the name and that has
// no owner any more belongs to it: its pods hold the cache.
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

// Unwritten returns the workload of the Kind that the spec asks for as it was observed before With, whomever it belongs to; nil if
// nothing is known of that.
func (o Observed) Unwritten(mc *cachev1alpha1.Memcached) *Workload {
	return findWorkload(o.before, func(w *Workload) bool { return w.Kind == WorkloadKind(mc) })
}

// ServiceName is the name of the Service that belongs to the Memcached, empty if there is none.
func (o Observed) ServiceName(mc *cachev1alpha1.Memcached) string {
	for _, child := range o.Children {
		if service, ok := child.(*corev1.Service); ok && metav1.IsControlledBy(service, mc) {
			return service.Name
		}
	}
	return ""
}

// Discoverable reports whether a Service leads clients to the nodes, whomever it belongs to.
func (o Observed) Discoverable(mc *cachev1alpha1.Memcached) bool {
	return slices.ContainsFunc(o.Children, func(child client.Object) bool {
		service, ok := child.(*corev1.Service)
		return ok && maps.Equal(service.Spec.Selector, SelectorLabels(mc))
	})
}
