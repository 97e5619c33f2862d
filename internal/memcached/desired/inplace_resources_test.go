// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestALimitGoesInTheMiddle removes a limit, which replaces pods, and changes the image before all pods are replaced. The change of
// the image must not keep the remaining pods from being replaced.
func TestALimitGoesInTheMiddle(t *testing.T) {
	f := newFleet(t, 3, inPlacePolicy, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	f.mc.Spec.Resources.Limits = nil
	for before := f.made; f.made == before; {
		f.turn()
	}
	memcachedtest.Image("memcached:1.7")(f.mc)
	f.settle()
	for _, node := range f.nodes {
		pod := node.pod(f.mc)
		if limits := memcached.ContainerOf(&pod.Spec, memcached.ContainerName).Resources.Limits; !limits.Cpu().IsZero() {
			t.Errorf("%s still has %v", pod.Name, limits)
		}
	}
}

// TestCPULimitsWithoutQuotas changes a CPU limit in a cluster whose kubelets apply no CPU limits.
func TestCPULimitsWithoutQuotas(t *testing.T) {
	limit := func(cpu string) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
	}
	f := newFleet(t, 3, inPlacePolicy, limit("500m"))
	for _, node := range f.nodes {
		node.noQuota = true
	}
	made := f.made
	limit("800m")(f.mc)
	f.settle()
	if f.made != made {
		t.Error("pods are new")
	}
}

// TestMoreMemoryThanSomeCanHave asks for more memory than one cluster node has. One pod has already grown when the cluster node of
// another pod refuses. Then the test asks for less. The pod that has grown shrinks, and the others grow.
func TestMoreMemoryThanSomeCanHave(t *testing.T) {
	f := newFleet(t, 3, inPlacePolicy, memoryOf("1Gi"))
	f.nodes[1].changed.infeasible = "Node didn't have enough capacity"
	memoryOf("8Gi")(f.mc)
	for f.plan.InPlace.Problem == nil {
		f.turn()
	}
	f.nodes[1].changed.infeasible = ""
	memoryOf("4Gi")(f.mc)
	made := f.made
	f.settle()
	if f.made != made {
		t.Error("pods are new")
	}
}

// TestMoreMemoryOrder checks the order of steps. For more memory, the limit changes before the arguments. For less memory, the
// arguments change before the limit.
func TestMoreMemoryOrder(t *testing.T) {
	order := func(from, to string) string {
		f := newFleet(t, 1, inPlacePolicy, memoryOf(from))
		memoryOf(to)(f.mc)
		f.settle()
		_, writes := f.look()
		return writes
	}
	if got, want := order("64Mi", "256Mi"), "ConfigMap StatefulSet pod 0 pod 0 resources pod 0 label ConfigMap StatefulSet ConfigMap"; got != want {
		t.Errorf("more: %s\nnot %s", got, want)
	}
	if got, want := order("256Mi", "64Mi"), "ConfigMap StatefulSet ConfigMap ConfigMap pod 0 pod 0 resources pod 0 label StatefulSet"; got != want {
		t.Errorf("less: %s\nnot %s", got, want)
	}
}
