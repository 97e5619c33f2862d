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

// Children is the table of the objects that the operator keeps for a Memcached. docs/development.md says how to add a Kind.
var Children = []Child{
	serviceChild(Child{Suffix: NodesSuffix}),
	serviceChild(Child{Proxy: true}),
	budgetChild(Child{Expected: func(mc *cachev1alpha1.Memcached) bool {
		// If the spec has changed and asks for no budget, one from before the change may still exist, even if the cache does not contain it.
		return mc.Status.ObservedGeneration > 0 && mc.Status.ObservedGeneration != mc.Generation && !WantsBudget(mc.Spec.PodDisruptionBudget)
	}}),
	budgetChild(Child{Suffix: ProxySuffix, Proxy: true}),
	policyChild(Child{}),
	policyChild(Child{Suffix: ProxySuffix, Proxy: true}),
	configMapChild(Child{Suffix: ServersSuffix}), // applications may read all keys into their environment
	configMapChild(Child{Suffix: ArgumentsSuffix}),
	configMapChild(Child{Suffix: RoutesSuffix, Proxy: true, Fields: field.Rules{Guard: true}, Expected: hadProxies}),
	deploymentChild(Child{Expected: wasWritten(cachev1alpha1.WorkloadDeployment)}),
	deploymentChild(Child{Suffix: ProxySuffix, Proxy: true, Expected: hadProxies}),
	statefulSetChild(0),
	statefulSetChild(1),
	statefulSetChild(2),
}

// OwnersOf returns the names of the Memcacheds that could have a child with the name of the object. There may be several, because
// Memcacheds can be named like children of others.
func OwnersOf(object client.Object) (owners []types.NamespacedName) {
	for _, child := range Children {
		owner := child.OwnerOf(client.ObjectKeyFromObject(object))
		if reflect.TypeOf(child.New()) == reflect.TypeOf(object) && owner.Name != "" && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}

// Kinds returns the first row of each Kind.
func Kinds() []Child {
	var kinds []Child
	for _, child := range Children {
		if !slices.ContainsFunc(kinds, func(other Child) bool { return other.Kind == child.Kind }) {
			kinds = append(kinds, child)
		}
	}
	return kinds
}

// hadProxies reports whether the last status shows proxies. While the spec asks for none, they are deleted.
func hadProxies(mc *cachev1alpha1.Memcached) bool { return mc.Status.Proxies != nil }

// wasWritten returns a function that reports whether a Memcached has a workload of this Kind, according to its spec and last status.
func wasWritten(kind cachev1alpha1.WorkloadKind) func(*cachev1alpha1.Memcached) bool {
	return func(mc *cachev1alpha1.Memcached) bool { return mc.Status.Image != "" && WorkloadKind(mc) == kind }
}

// IsWorkload reports whether objects of this Kind run nodes or proxies.
func IsWorkload(kind string) bool {
	return slices.ContainsFunc(Children, func(child Child) bool { return child.Workload && child.Kind.Kind == kind })
}

// Child describes one Kind of object that the operator keeps for each Memcached. The code that caches, watches and writes objects is the
// same for all Kinds. The table Children, with one Child in each row, holds their differences.
type Child struct {
	// Kind is the GroupVersionKind of the objects.
	Kind schema.GroupVersionKind
	// Suffix is appended to the Memcached's name to form the object's name. Rows of the same Kind have different suffixes.
	Suffix string
	// Proxy reports that the object is about the proxies. Its labels are those of ProxyLabels.
	Proxy bool
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
	Expected func(*cachev1alpha1.Memcached) bool
}

// newChild adds the functions New and Spec, which depend on the Go type of the object, to a row.
func newChild[T any, P interface {
	*T
	client.Object
}](row Child, spec func(P) any) Child {
	row.New = func() client.Object { return P(new(T)) }
	row.Spec = func(object client.Object) any {
		return spec(object.(P)) //nolint:forcetypeassert // all objects of this row have type P
	}
	return row
}

// Named returns an object of this Kind that has only the namespace and name of the Memcached's child.
func (c Child) Named(owner types.NamespacedName) client.Object {
	object := c.New()
	object.SetNamespace(owner.Namespace)
	object.SetName(owner.Name + c.Suffix)
	return object
}

// OwnerOf returns the name of the Memcached whose child has this name. It returns an empty name if the suffix does not match.
func (c Child) OwnerOf(object types.NamespacedName) types.NamespacedName {
	name, found := strings.CutSuffix(object.Name, c.Suffix)
	if !found || name == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.Namespace, Name: name}
}

func serviceChild(row Child) Child {
	row.Kind = corev1.SchemeGroupVersion.WithKind("Service")
	row.Fields.Owned = [][]string{{"spec", "publishNotReadyAddresses"}, {"spec", "ports"}, {"spec", "sessionAffinity"}}
	return newChild(row, func(s *corev1.Service) any { return &s.Spec })
}

func budgetChild(row Child) Child {
	row.Kind, row.Fields.Owned = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), [][]string{{"spec"}}
	return newChild(row, func(b *policyv1.PodDisruptionBudget) any { return &b.Spec })
}

// WantsBudget reports whether the spec asks for a PodDisruptionBudget.
func WantsBudget(wanted cachev1alpha1.MemcachedPodDisruptionBudget) bool {
	return ptr.Deref(wanted.Enabled, true)
}

func policyChild(row Child) Child {
	row.Kind = networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	row.Fields = field.Rules{Owned: [][]string{{"spec"}}, Guard: true}
	return newChild(row, func(p *networkingv1.NetworkPolicy) any { return &p.Spec })
}

// configMapChild returns the row of a ConfigMap. The operator removes keys that others add. With Fields.Guard, no pod may start with a
// ConfigMap of somebody else.
func configMapChild(row Child) Child {
	row.Kind, row.Fields.Owned = corev1.SchemeGroupVersion.WithKind("ConfigMap"), [][]string{{"data"}, {"binaryData"}}
	return newChild(row, func(c *corev1.ConfigMap) any { return []any{c.Data, c.BinaryData} })
}

// podSpecPath is the pod spec in a workload. The operator removes what others add there: see ADR-0015. Others can still add labels
// and annotations to the pod template.
var podSpecPath = []string{"spec", "template", "spec"}

func deploymentChild(row Child) Child {
	row.Kind, row.Workload = appsv1.SchemeGroupVersion.WithKind("Deployment"), true
	row.Fields = field.Rules{
		Owned:     [][]string{podSpecPath, {"spec", "paused"}, {"spec", "minReadySeconds"}},
		Size:      []string{"spec", "replicas"},
		Immutable: [][]string{{"spec", "selector"}},
		Guarded:   true,
	}
	return newChild(row, func(d *appsv1.Deployment) any { return &d.Spec })
}

// statefulSetChild returns the row of the StatefulSet of a copy.
func statefulSetChild(number int) Child {
	return newChild(Child{
		Kind:     appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		Suffix:   copySuffixes[number],
		Workload: true,
		Fields: field.Rules{
			// The operator removes spec.ordinals, so that nodes are numbered from 0. With OnDelete, spec.updateStrategy has nothing else.
			Owned:     [][]string{podSpecPath, {"spec", "minReadySeconds"}, {"spec", "ordinals"}, {"spec", "updateStrategy"}},
			Size:      []string{"spec", "replicas"},
			Immutable: [][]string{{"spec", "selector"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"}},
			Guarded:   true,
		},
		Expected: func(mc *cachev1alpha1.Memcached) bool {
			return number < Copies(mc) && wasWritten(cachev1alpha1.WorkloadStatefulSet)(mc)
		},
	}, func(s *appsv1.StatefulSet) any { return &s.Spec })
}

// FieldRules returns the rules for the fields of an object of this Kind and name. Of several rows of a Kind whose suffixes fit, the
// rules are the same.
func FieldRules(kind schema.GroupVersionKind, name string) (rules field.Rules) {
	for _, child := range Children {
		if child.Kind == kind && strings.HasSuffix(name, child.Suffix) {
			rules = child.Fields
		}
	}
	return rules
}

// IdentityOf returns the labels that the child with this name of a Memcached has.
func IdentityOf(owner string, object client.Object) map[string]string {
	for _, child := range Children {
		if child.Proxy && reflect.TypeOf(child.New()) == reflect.TypeOf(object) && object.GetName() == owner+child.Suffix {
			return ProxyLabels(owner)
		}
	}
	return NodeLabels(owner)
}
