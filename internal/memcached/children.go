// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
