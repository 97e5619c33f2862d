// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/largest"
)

func TestCacheOptionsNamespaces(t *testing.T) {
	for value, want := range map[string][]string{
		"":          nil,
		" ":         nil,
		"one":       {"one"},
		"one,two":   {"one", "two"},
		" one, two": {"one", "two"},
		"one,,two,": {"one", "two"},
	} {
		got := slices.Sorted(maps.Keys(controllers.CacheOptions(value).DefaultNamespaces))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("WATCH_NAMESPACE=%q: -want +got:\n%s", value, diff)
		}
	}
}

// TestTheCacheKeepsOfAMemcachedWhatIsRead has all metadata that an author can write, as large as the API server accepts it.
func TestTheCacheKeepsOfAMemcachedWhatIsRead(t *testing.T) {
	now := metav1.Unix(1, 0)
	read := largest.Memcached("shop", "cache")
	read.ObjectMeta = metav1.ObjectMeta{
		Namespace: "shop", Name: "cache", UID: "1", ResourceVersion: "2", Generation: 3, CreationTimestamp: now, DeletionTimestamp: &now,
	}
	read.Status.Nodes = []string{"cache-1"}
	for value, kept := range map[string]map[string]string{
		"true": {cachev1alpha1.PausedAnnotation: "true"},
		"more": nil,
	} {
		received := read.DeepCopy()
		received.Labels = map[string]string{"team": "shop"}
		received.Annotations = largest.Memcached("shop", "cache").Annotations
		received.Annotations[cachev1alpha1.PausedAnnotation] = value
		received.Finalizers = []string{"example.com/stay"}
		received.OwnerReferences = []metav1.OwnerReference{{Kind: "Shop", Name: "shop"}}
		received.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		received.GenerateName = "cache-"
		want := read.DeepCopy()
		want.Annotations = kept
		reduced, err := controllers.CacheOptions("").DefaultTransform(received)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, reduced); diff != "" {
			t.Errorf("paused: %s: -wanted +kept:\n%.500s", value, diff)
		}
	}
}

// TestTheCacheKeepsAllOfAChildOnce compares what was received with what the cache keeps of it.
func TestTheCacheKeepsAllOfAChildOnce(t *testing.T) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "cache"}}
	mc.Spec.Size = 3
	children, err := memcached.Desired(mc, memcached.Observed{}, defaults)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
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
			for _, other := range labels {
				if reflect.ValueOf(other).Pointer() != reflect.ValueOf(labels[0]).Pointer() {
					t.Errorf("%v is in memory more than once", other)
				}
			}
		})
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

// TestThePodsInTheCacheTellAllThatCounts compares the status computed from whole pods and from what the cache keeps of them.
func TestThePodsInTheCacheTellAllThatCounts(t *testing.T) {
	var reduce cache.TransformFunc
	for object, options := range controllers.CacheOptions("").ByObject {
		if _, ok := object.(*corev1.Pod); ok {
			reduce = options.Transform
		}
	}
	exit := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 71, Reason: "Error", Message: "no memory"}}
	for name, change := range map[string]func(status *corev1.PodStatus){
		"a ready pod":        func(*corev1.PodStatus) {},
		"one that was ready": func(s *corev1.PodStatus) { s.Conditions[0].Status = corev1.ConditionFalse },
		"no room": func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available",
			}}
		},
		"no image": func(s *corev1.PodStatus) {
			s.Conditions, s.ContainerStatuses = nil, waiting("ImagePullBackOff", `Back-off pulling image "a": ErrImagePull: not found`)
		},
		"no image of a container that runs first": func(s *corev1.PodStatus) {
			s.Conditions, s.InitContainerStatuses = nil, waiting("ImagePullBackOff", `Back-off pulling image "a": ErrImagePull: not found`)
		},
		"a container that ran first": func(s *corev1.PodStatus) {
			s.Conditions, s.InitContainerStatuses = nil, []corev1.ContainerStatus{{
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}},
			}}
		},
		"an exit":         func(s *corev1.PodStatus) { s.Conditions, s.ContainerStatuses[0].State = nil, exit },
		"an earlier exit": func(s *corev1.PodStatus) { s.Conditions, s.ContainerStatuses[0].LastTerminationState = nil, exit },
	} {
		t.Run(name, func(t *testing.T) {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "cache", UID: "1"}}
			mc.Spec.Size = 1
			owner := metav1.OwnerReference{Kind: "ReplicaSet", Name: "cache-f", Controller: ptr.To(true)}
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "a", Name: "cache-f-1", OwnerReferences: []metav1.OwnerReference{owner}, Labels: map[string]string{
					memcached.InstanceLabel: "cache", memcached.ManagedByLabel: memcached.ManagedBy, "pod-template-hash": "f",
				},
			}}
			pod.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, Reason: "Ready"},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "memcached", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}}
			change(&pod.Status)
			status := func(pod corev1.Pod) cachev1alpha1.MemcachedStatus {
				observed := memcached.Observed{Pods: []corev1.Pod{pod}, Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
					Name: "cache", OwnerReferences: []metav1.OwnerReference{{UID: "1", Controller: ptr.To(true)}},
				}}}
				return memcached.Status(mc, observed, memcached.Outcome{}, defaults, time.Time{})
			}
			reduced, err := reduce(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			want := status(pod)
			if len(want.Nodes) != 1 {
				t.Fatalf("the pod is no node of %+v", want)
			}
			if diff := cmp.Diff(want, status(*reduced.(*corev1.Pod))); diff != "" {
				t.Errorf("-whole +reduced:\n%s", diff)
			}
		})
	}
}
