// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply/field"
)

// Child is a Kind of object that the operator keeps for MemcachedProxies, as memcached.Child is for Memcacheds.
type Child struct {
	// Kind with its group and version.
	Kind schema.GroupVersionKind
	// Suffix follows the name of the MemcachedProxy in that of the object.
	Suffix string
	// New returns an empty object.
	New func() client.Object
	// Spec returns the part of an object that the operator determines.
	Spec func(client.Object) any
	// Workload reports that objects of this Kind run the proxies, so that their status counts.
	Workload bool
	// Fields are the rules for its fields.
	Fields field.Rules
	// Expected reports whether one may exist even if the cache does not hold it, because it has lost its label.
	Expected func(*cachev1alpha1.MemcachedProxy) bool
}

// Children are the Kinds of objects that the operator keeps.
var Children = []Child{
	child(Child{
		Kind:     corev1.SchemeGroupVersion.WithKind("Service"),
		Fields:   field.Rules{Owned: [][]string{{"spec", "publishNotReadyAddresses"}, {"spec", "ports"}, {"spec", "sessionAffinity"}}},
		Expected: wasCarriedOut,
	}, func(s *corev1.Service) any { return &s.Spec }),
	child(Child{
		Kind:     policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		Fields:   field.Rules{Owned: [][]string{{"spec"}}},
		Expected: func(proxy *cachev1alpha1.MemcachedProxy) bool { return changed(proxy) && !wantsBudget(proxy) },
	}, func(b *policyv1.PodDisruptionBudget) any { return &b.Spec }),
	child(Child{
		Kind:     networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		Fields:   field.Rules{Owned: [][]string{{"spec"}}, Guard: true},
		Expected: func(*cachev1alpha1.MemcachedProxy) bool { return false },
	}, func(p *networkingv1.NetworkPolicy) any { return &p.Spec }),
	child(Child{
		Kind:     corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Suffix:   RoutesSuffix,
		Fields:   field.Rules{Owned: [][]string{{"data"}, {"binaryData"}}},
		Expected: func(proxy *cachev1alpha1.MemcachedProxy) bool { return proxy.Status.Routes != nil },
	}, func(c *corev1.ConfigMap) any { return []any{c.Data, c.BinaryData} }),
	child(Child{
		Kind:     appsv1.SchemeGroupVersion.WithKind("Deployment"),
		Workload: true,
		Fields: field.Rules{
			Owned:     [][]string{{"spec", "template", "spec"}, {"spec", "paused"}, {"spec", "minReadySeconds"}},
			Size:      []string{"spec", "replicas"},
			Immutable: [][]string{{"spec", "selector"}},
			Guarded:   true,
		},
		Expected: wasCarriedOut,
	}, func(d *appsv1.Deployment) any { return &d.Spec }),
}

// child completes a row with what depends on the Go type of the objects.
func child[T any, P interface {
	*T
	client.Object
}](row Child, spec func(P) any) Child {
	row.New = func() client.Object { return P(new(T)) }
	row.Spec = func(object client.Object) any {
		return spec(object.(P)) //nolint:forcetypeassert // the row is that of the type
	}
	return row
}

// Named returns the object of this Kind that a MemcachedProxy may have, empty but for its name.
func (c Child) Named(proxy types.NamespacedName) client.Object {
	object := c.New()
	object.SetNamespace(proxy.Namespace)
	object.SetName(proxy.Name + c.Suffix)
	return object
}

// ProxyOf returns the name of the MemcachedProxy that may have the object of this Kind and name. It is empty if none may.
func (c Child) ProxyOf(object types.NamespacedName) types.NamespacedName {
	name, found := strings.CutSuffix(object.Name, c.Suffix)
	if !found {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.Namespace, Name: name}
}

// ChildOf returns the row of an object; false if its Kind is not in the table.
func ChildOf(object client.Object) (Child, bool) {
	i := slices.IndexFunc(Children, func(c Child) bool { return reflect.TypeOf(c.New()) == reflect.TypeOf(object) })
	if i < 0 {
		return Child{}, false
	}
	return Children[i], true
}

func wasCarriedOut(proxy *cachev1alpha1.MemcachedProxy) bool { return proxy.Status.Image != "" }

// changed reports whether the spec has changed since the last status.
func changed(proxy *cachev1alpha1.MemcachedProxy) bool {
	observed := proxy.Status.ObservedGeneration
	return observed > 0 && observed != proxy.Generation
}

func wantsBudget(proxy *cachev1alpha1.MemcachedProxy) bool {
	return ptr.Deref(proxy.Spec.PodDisruptionBudget.Enabled, true)
}

func wantsNetworkPolicy(proxy *cachev1alpha1.MemcachedProxy) bool {
	wanted := proxy.Spec.NetworkPolicy
	return ptr.Deref(wanted.Enabled, len(wanted.From) > 0 || len(wanted.MetricsFrom) > 0)
}
