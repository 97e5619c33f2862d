// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
)

// TestTheCacheKeepsAllOfAChildOnce compares what was received with what the cache keeps of it.
func TestTheCacheKeepsAllOfAChildOnce(t *testing.T) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "cache"}}
	mc.Spec.Size = 3
	wanted, err := desired.For(mc, memcached.Observed{}, defaults)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range wanted.Objects {
		t.Run(child.GetObjectKind().GroupVersionKind().Kind, func(t *testing.T) {
			received := child.DeepCopyObject().(client.Object)
			received.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "memcached-operator"}})
			reduced, err := controllers.CacheOptions("").DefaultTransform(received)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(child, reduced); diff != "" {
				t.Errorf("-wanted +kept:\n%s", diff)
			}
			var labels []map[string]string
			switch kept := reduced.(type) {
			case *appsv1.Deployment:
				template := kept.Spec.Template
				labels = append(labels, kept.Labels, kept.Spec.Selector.MatchLabels, template.Labels)
				for _, constraint := range template.Spec.TopologySpreadConstraints {
					labels = append(labels, constraint.LabelSelector.MatchLabels)
				}
			case *corev1.Service:
				labels = append(labels, kept.Labels, kept.Spec.Selector)
			case *policyv1.PodDisruptionBudget:
				labels = append(labels, kept.Labels, kept.Spec.Selector.MatchLabels)
			}
			// The labels and the selector differ, and no third is needed.
			kept := map[uintptr]bool{}
			for _, some := range labels {
				kept[reflect.ValueOf(some).Pointer()] = true
			}
			if len(kept) != 2 {
				t.Errorf("%d maps of labels are in memory, not 2: %v", len(kept), labels)
			}
		})
	}
}

// TestTheCacheKeepsTheContainersOfEqualCachesOnce has three caches, of which one runs another image.
func TestTheCacheKeepsTheContainersOfEqualCachesOnce(t *testing.T) {
	transform := controllers.CacheOptions("").DefaultTransform
	containersOf := func(name, image string) *corev1.Container {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
		mc.Spec.Size, mc.Spec.Image = 3, image
		wanted, err := desired.For(mc, memcached.Observed{}, defaults)
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range wanted.Objects {
			if deployment, ok := child.(*appsv1.Deployment); ok {
				received := deployment.DeepCopy()
				if _, err := transform(received); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(deployment, received); diff != "" {
					t.Errorf("-wanted +kept:\n%s", diff)
				}
				return &received.Spec.Template.Spec.Containers[0]
			}
		}
		t.Fatal("there is no Deployment")
		return nil
	}
	first := containersOf("cache", "")
	if other := containersOf("other", "registry.example.com/memcached:1.6.44"); other == first {
		t.Error("another image is lost")
	}
	if second := containersOf("second", ""); second != first {
		t.Error("equal containers are in memory twice")
	}
	for i := range 1000 { // more than are remembered
		containersOf("many", fmt.Sprintf("registry.example.com/memcached:1.6.%d", i))
	}
	if again := containersOf("again", ""); again == first {
		t.Error("a thousand configurations later, the first is still remembered")
	}
}

// TestWhatIsSharedIsNotWritten transforms equal Deployments twice, as client-go does with a list, and at the same time, as the caches of
// two Kinds do. The race detector notices if one writes what the other one reads.
func TestWhatIsSharedIsNotWritten(t *testing.T) {
	transform := controllers.CacheOptions("").DefaultTransform
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "cache"}}
	mc.Spec.Size, mc.Spec.Resources.Limits = 3, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	workload, _, err := desired.Workload(mc, memcached.Observed{}, defaults)
	if err != nil {
		t.Fatal(err)
	}
	var both errgroup.Group
	for range 2 {
		received := workload.DeepCopyObject().(*appsv1.Deployment)
		container := &received.Spec.Template.Spec.Containers[0]
		container.Resources.Requests = maps.Clone(container.Resources.Limits)
		if _, err := transform(received); err != nil {
			t.Fatal(err)
		}
		both.Go(func() error {
			_, err := transform(received)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		t.Error(err)
	}
}

// TestTheCacheKeepsTheLabelsOfTheNodesOfACacheOnce has the pods of two workloads in the order of a list.
func TestTheCacheKeepsTheLabelsOfTheNodesOfACacheOnce(t *testing.T) {
	options := controllers.CacheOptions("")
	labels, owners := map[uintptr]bool{}, map[*metav1.OwnerReference]bool{}
	for _, cache := range []string{"a", "a", "b", "b", "b"} {
		received := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{memcached.InstanceLabel: cache},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: cache}},
		}}
		var kept *corev1.Pod
		for kind, of := range options.ByObject {
			if _, ok := kind.(*corev1.Pod); ok {
				reduced, err := of.Transform(received)
				if err != nil {
					t.Fatal(err)
				}
				kept = reduced.(*corev1.Pod)
			}
		}
		if kept.Labels[memcached.InstanceLabel] != cache || kept.OwnerReferences[0].Name != cache {
			t.Errorf("a pod of %s is kept with %v and %v", cache, kept.Labels, kept.OwnerReferences)
		}
		labels[reflect.ValueOf(kept.Labels).Pointer()], owners[&kept.OwnerReferences[0]] = true, true
	}
	if len(labels) != 2 || len(owners) != 2 {
		t.Errorf("%d maps of labels and %d lists of owners are in memory, not 2", len(labels), len(owners))
	}
}

// TestTheCacheKeepsQuantitiesAsTheyAreWritten has requests and limits that are the same amount: as texts, which are compared with
// what is desired, they differ.
func TestTheCacheKeepsQuantitiesAsTheyAreWritten(t *testing.T) {
	memory := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
	}
	for request, once := range map[string]bool{"1Gi": true, "1073741824": false} {
		deployment := &appsv1.Deployment{}
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{
			Resources: corev1.ResourceRequirements{Limits: memory("1Gi"), Requests: memory(request)},
		}}
		if _, err := controllers.CacheOptions("").DefaultTransform(deployment); err != nil {
			t.Fatal(err)
		}
		kept := deployment.Spec.Template.Spec.Containers[0].Resources
		if got := kept.Requests.Memory().String(); got != request {
			t.Errorf("a request of %s is kept as %s", request, got)
		}
		if same := reflect.ValueOf(kept.Requests).Pointer() == reflect.ValueOf(kept.Limits).Pointer(); same != once {
			t.Errorf("a request of %s and a limit of 1Gi are one map: %t, want %t", request, same, once)
		}
	}
}
