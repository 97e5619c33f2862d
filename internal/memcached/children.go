// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

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

// row describes one Kind of child of a Memcached.
type row = Child[*cachev1alpha1.Memcached]

// Children is the table of the objects that the operator keeps for a Memcached. docs/development.md says how to add a Kind.
var Children = []row{
	NewChild(row{
		Kind:   corev1.SchemeGroupVersion.WithKind("Service"),
		Suffix: NodesSuffix,
		Fields: field.Rules{Owned: [][]string{{"spec", "publishNotReadyAddresses"}, {"spec", "ports"}}},
	}, func(s *corev1.Service) any { return &s.Spec }),
	BudgetChild(func(mc *cachev1alpha1.Memcached) (cachev1alpha1.MemcachedPodDisruptionBudget, int64) {
		return mc.Spec.PodDisruptionBudget, mc.Status.ObservedGeneration
	}),
	PolicyChild[*cachev1alpha1.Memcached](),
	NewChild(row{
		Kind:   corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Suffix: ServersSuffix,
		// Applications may read all keys into their environment, so keys that others add are removed.
		Fields: ConfigMapFields,
	}, ConfigMapData),
	NewChild(row{
		Kind:   corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Suffix: ArgumentsSuffix,
		Fields: ConfigMapFields,
	}, ConfigMapData),
	NewChild(row{
		Kind:     appsv1.SchemeGroupVersion.WithKind("Deployment"),
		Workload: true,
		Fields:   DeploymentFields,
		Expected: wasWritten(cachev1alpha1.WorkloadDeployment),
	}, func(d *appsv1.Deployment) any { return &d.Spec }),
	NewChild(row{
		Kind:     appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		Workload: true,
		Fields: field.Rules{
			// The operator removes spec.ordinals, so that nodes are numbered from 0. With OnDelete, spec.updateStrategy has nothing else.
			Owned:     [][]string{podSpecPath, {"spec", "minReadySeconds"}, {"spec", "ordinals"}, {"spec", "updateStrategy"}},
			Size:      []string{"spec", "replicas"},
			Immutable: [][]string{{"spec", "selector"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"}},
			Guarded:   true,
		},
		Expected: wasWritten(cachev1alpha1.WorkloadStatefulSet),
	}, func(s *appsv1.StatefulSet) any { return &s.Spec }),
}

// podSpecPath is the pod spec in a workload. The operator removes what others add there: see ADR-0015. Others can still add labels
// and annotations to the pod template.
var podSpecPath = []string{"spec", "template", "spec"}

// ChildOf returns the row for an object, and false if the table does not contain its Kind. If the object's name has none of the
// suffixes, it returns the first row of the Kind.
func ChildOf(object client.Object) (Child[*cachev1alpha1.Memcached], bool) {
	var found row
	for _, child := range Children {
		if reflect.TypeOf(child.New()) != reflect.TypeOf(object) {
			continue
		}
		if found.New == nil || strings.HasSuffix(object.GetName(), child.Suffix) {
			found = child
		}
	}
	return found, found.New != nil
}

// Kinds returns the first row of each Kind.
func Kinds() []Child[*cachev1alpha1.Memcached] {
	var kinds []row
	for _, child := range Children {
		if !slices.ContainsFunc(kinds, func(other row) bool { return other.Kind == child.Kind }) {
			kinds = append(kinds, child)
		}
	}
	return kinds
}

// wasWritten returns a function that reports whether a Memcached has a workload of this Kind, according to its spec and last status.
func wasWritten(kind cachev1alpha1.WorkloadKind) func(*cachev1alpha1.Memcached) bool {
	return func(mc *cachev1alpha1.Memcached) bool { return mc.Status.Image != "" && WorkloadKind(mc) == kind }
}

// IsWorkload reports whether objects of this Kind run nodes.
func IsWorkload(kind string) bool {
	return slices.ContainsFunc(Children, func(child row) bool { return child.Workload && child.Kind.Kind == kind })
}

// Child describes one Kind of object that the operator keeps for each owner, a Memcached or a MemcachedProxy. The code that caches,
// watches and writes objects is the same for all Kinds. A table with one Child in each row holds their differences.
type Child[Owner client.Object] struct {
	// Kind is the GroupVersionKind of the objects.
	Kind schema.GroupVersionKind
	// Suffix is appended to the owner's name to form the object's name. If several rows have the same Kind, each needs a suffix that does
	// not end with the suffix of another row. Otherwise, objects of two owners could have the same name.
	Suffix string
	// New returns an empty object.
	New func() client.Object
	// Spec returns the part of an object in which the operator sets fields. If somebody else changes that part, the operator reacts at
	// once.
	Spec func(client.Object) any
	// Workload reports that objects of this Kind run the nodes or proxies. Changes of their status also cause a reconcile.
	Workload bool
	// Fields are the rules for writing fields of the objects.
	Fields field.Rules
	// Expected reports whether the plan depends on an object that is missing from the cache. It may exist, but lack the label by which the
	// cache selects objects, so the API server is asked. If Expected is nil, the plan does not.
	Expected func(Owner) bool
}

// NewChild adds the functions New and Spec, which depend on the Go type of the object, to a row.
func NewChild[Owner client.Object, T any, P interface {
	*T
	client.Object
}](row Child[Owner], spec func(P) any) Child[Owner] {
	row.New = func() client.Object { return P(new(T)) }
	row.Spec = func(object client.Object) any {
		return spec(object.(P)) //nolint:forcetypeassert // all objects of this row have type P
	}
	return row
}

// Named returns an object of this Kind that has only the namespace and name of the owner's child.
func (c Child[Owner]) Named(owner types.NamespacedName) client.Object {
	object := c.New()
	object.SetNamespace(owner.Namespace)
	object.SetName(owner.Name + c.Suffix)
	return object
}

// OwnerOf returns the name of the owner whose child has this name. It returns an empty name if the suffix does not match.
func (c Child[Owner]) OwnerOf(object types.NamespacedName) types.NamespacedName {
	name, found := strings.CutSuffix(object.Name, c.Suffix)
	if !found {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.Namespace, Name: name}
}

// BudgetChild returns the row of the PodDisruptionBudget. The function returns the part of an owner's spec about it, and the generation of
// the spec for which the last status was computed. If the spec has changed since, and asks for no budget, one from before the change may
// still exist, even if the cache does not contain it.
func BudgetChild[Owner client.Object](of func(Owner) (wanted cachev1alpha1.MemcachedPodDisruptionBudget, observed int64)) Child[Owner] {
	return NewChild(Child[Owner]{
		Kind:   policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		Fields: field.Rules{Owned: [][]string{{"spec"}}},
		Expected: func(owner Owner) bool {
			wanted, observed := of(owner)
			return observed > 0 && observed != owner.GetGeneration() && !WantsBudget(wanted)
		},
	}, func(b *policyv1.PodDisruptionBudget) any { return &b.Spec })
}

// WantsBudget reports whether the spec asks for a PodDisruptionBudget.
func WantsBudget(wanted cachev1alpha1.MemcachedPodDisruptionBudget) bool {
	return ptr.Deref(wanted.Enabled, true)
}

// PolicyChild returns the row of the NetworkPolicy.
func PolicyChild[Owner client.Object]() Child[Owner] {
	return NewChild(Child[Owner]{
		Kind:   networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		Fields: field.Rules{Owned: [][]string{{"spec"}}, Guard: true},
	}, func(p *networkingv1.NetworkPolicy) any { return &p.Spec })
}

// ConfigMapFields are the rules for a ConfigMap. The operator removes keys that others add.
var ConfigMapFields = field.Rules{Owned: [][]string{{"data"}, {"binaryData"}}}

// ConfigMapData returns the fields of a ConfigMap that the operator controls.
func ConfigMapData(c *corev1.ConfigMap) any { return []any{c.Data, c.BinaryData} }

// DeploymentFields are the rules for a Deployment.
var DeploymentFields = field.Rules{
	Owned:     [][]string{podSpecPath, {"spec", "paused"}, {"spec", "minReadySeconds"}},
	Size:      []string{"spec", "replicas"},
	Immutable: [][]string{{"spec", "selector"}},
	Guarded:   true,
}

// FieldRules returns the rules for the fields of each Kind.
func FieldRules[Owner client.Object](children []Child[Owner]) map[schema.GroupVersionKind]field.Rules {
	rules := map[schema.GroupVersionKind]field.Rules{}
	for _, child := range children {
		rules[child.Kind] = child.Fields
	}
	return rules
}
