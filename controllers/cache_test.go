// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	memcachedstatus "github.com/example/memcached-operator/internal/memcached/status"
)

// TestTheCacheKeepsOfAMemcachedWhatIsRead caches a Memcached with all metadata that a user can write. Its annotations are as
// large as the API server accepts.
func TestTheCacheKeepsOfAMemcachedWhatIsRead(t *testing.T) {
	now := metav1.Unix(1, 0)
	read := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "cache", UID: "1", ResourceVersion: "2", Generation: 3, CreationTimestamp: now, DeletionTimestamp: &now,
	}}
	randfill.NewWithSeed(1).NilChance(0).Fill(&read.Spec)
	read.Status.Nodes = []string{"cache-1"}
	received := read.DeepCopy()
	received.Labels = map[string]string{"team": "shop"}
	received.Annotations = map[string]string{"example.com/note": "long"}
	received.Finalizers = []string{"example.com/stay"}
	received.OwnerReferences = []metav1.OwnerReference{{Kind: "Shop", Name: "shop"}}
	received.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	received.GenerateName = "cache-"
	reduced, err := controllers.CacheOptions("").DefaultTransform(received)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(client.Object(read), reduced); diff != "" {
		t.Errorf("-wanted +kept:\n%.500s", diff)
	}
}

// TestTheCacheKeepsNoMetadataOfAMemcachedProxy caches a MemcachedProxy with annotations and labels, which may take 256 KiB.
func TestTheCacheKeepsNoMetadataOfAMemcachedProxy(t *testing.T) {
	read := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front", UID: "1", Generation: 3}}
	read.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: "cache"}}
	received := read.DeepCopy()
	received.Labels, received.Annotations = map[string]string{"team": "shop"}, map[string]string{"example.com/note": "long"}
	reduced, err := controllers.CacheOptions("").DefaultTransform(received)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(client.Object(read), reduced); diff != "" {
		t.Errorf("-wanted +kept:\n%s", diff)
	}
}

// TestTheCacheKeepsAllOfAChild expects that the cache drops nothing but the managed fields of a child.
func TestTheCacheKeepsAllOfAChild(t *testing.T) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "cache"}}
	mc.Spec.Size = 3
	wanted := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Unix(1000, 0)), defaults)
	if wanted.Problem != nil {
		t.Fatal(wanted.Problem)
	}
	for _, child := range wanted.Objects {
		received := child.DeepCopyObject().(client.Object)
		received.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "memcached-operator"}})
		kept, err := controllers.CacheOptions("").DefaultTransform(received)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(child, kept); diff != "" {
			t.Errorf("-wanted +kept:\n%s", diff)
		}
	}
}

// TestThePodsInTheCacheTellAllThatCounts compares the status computed from whole pods with the one computed from cached pods.
func TestThePodsInTheCacheTellAllThatCounts(t *testing.T) {
	exit := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 71, Reason: "Error", Message: "no memory"}}
	for name, change := range map[string]func(status *corev1.PodStatus){
		"one that starts":    func(s *corev1.PodStatus) { s.Phase, s.Conditions, s.ContainerStatuses = corev1.PodPending, nil, nil },
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
		"a pod that was ready after an earlier exit": func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(3, 0)}}
			s.ContainerStatuses[0].State.Running.StartedAt = metav1.Unix(2, 0)
			s.ContainerStatuses[0].LastTerminationState = exit
		},
		"a pod that was not": func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(1, 0)}}
			s.ContainerStatuses[0].State.Running.StartedAt = metav1.Unix(2, 0)
			s.ContainerStatuses[0].LastTerminationState = exit
		},
		"a container that is ready": func(s *corev1.PodStatus) {
			s.Conditions, s.ContainerStatuses[0].LastTerminationState, s.ContainerStatuses[0].Ready = nil, exit, true
		},
		"one that does not answer its agent": func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(3, 0)}}
			s.ContainerStatuses[0].State.Running.StartedAt = metav1.Unix(2, 0)
			s.InitContainerStatuses = []corev1.ContainerStatus{{
				Name: memcached.AgentContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1, 0)}},
			}}
		},
		"an agent that refuses a Secret":   func(s *corev1.PodStatus) { *s = refusingSecret(false) },
		"an agent that refused one before": func(s *corev1.PodStatus) { *s = refusingSecret(true) },
		"an exit":                          func(s *corev1.PodStatus) { s.Conditions, s.ContainerStatuses[0].State = nil, exit },
		"an earlier exit":                  func(s *corev1.PodStatus) { s.Conditions, s.ContainerStatuses[0].LastTerminationState = nil, exit },
	} {
		t.Run(name, func(t *testing.T) {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "cache", UID: "1"}}
			mc.Spec.Size = 1
			owner := metav1.OwnerReference{Kind: "ReplicaSet", Name: "cache-f", Controller: ptr.To(true)}
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "a", Name: "cache-f-1", CreationTimestamp: metav1.Unix(90, 0),
				OwnerReferences: []metav1.OwnerReference{owner}, Labels: map[string]string{
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
			// The kubelet evicted another pod 50 s before this pod was created. While this pod starts, it counts as the replacement.
			failed := *pod.DeepCopy()
			failed.Name, failed.CreationTimestamp = "cache-f-0", metav1.Unix(0, 0)
			failed.Status = corev1.PodStatus{
				Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory",
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: metav1.Unix(40, 0)}},
			}
			statusOf := func(pods ...corev1.Pod) cachev1alpha1.MemcachedStatus {
				observed := memcached.Observed{Pods: pods, Children: []client.Object{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
					Name: "cache", OwnerReferences: []metav1.OwnerReference{{UID: "1", Controller: ptr.To(true)}},
				}}}}
				view := memcached.NewView(mc, observed, time.Unix(1000, 0))
				return memcachedstatus.For(view, desired.For(view, defaults), memcached.Written{})
			}
			want := statusOf(pod, failed)
			if len(want.Nodes) != 1 {
				t.Fatalf("the pod is no node of %+v", want)
			}
			reduced := func(pod corev1.Pod) corev1.Pod {
				kept, err := podTransform(&pod)
				if err != nil {
					t.Fatal(err)
				}
				return *kept.(*corev1.Pod)
			}
			if diff := cmp.Diff(want, statusOf(reduced(pod), reduced(failed))); diff != "" {
				t.Errorf("-whole +reduced:\n%s", diff)
			}
			told := map[string]string{
				"one that starts":                    cachev1alpha1.ReasonNodesFailed,
				"one that does not answer its agent": cachev1alpha1.ReasonNodesUnresponsive,
				"an agent that refuses a Secret":     cachev1alpha1.ReasonInvalidCertificate,
			}
			if degraded := want.Conditions[3]; told[name] != "" && degraded.Reason != told[name] {
				t.Errorf("it is not told: %+v", degraded)
			}
		})
	}
}

func TestTheCacheSelectsPods(t *testing.T) {
	for object, options := range controllers.CacheOptions("").ByObject {
		if _, ok := object.(*corev1.Pod); !ok {
			continue
		}
		for phase, want := range map[corev1.PodPhase]bool{
			corev1.PodPending: true, corev1.PodRunning: true, corev1.PodFailed: true, corev1.PodUnknown: true, corev1.PodSucceeded: false,
		} {
			if got := options.Field.Matches(fields.Set{"status.phase": string(phase)}); got != want {
				t.Errorf("%s: %t, want %t", phase, got, want)
			}
		}
	}
}

// TestTheCacheKeepsLittleOfFailedPods checks what the cache keeps of a failed pod, because there may be thousands of them.
func TestTheCacheKeepsLittleOfFailedPods(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "cache-f-0", Namespace: "a", UID: "1", ResourceVersion: "2", Annotations: map[string]string{"a": "b"},
		Labels: map[string]string{memcached.InstanceLabel: "cache", "pod-template-hash": "f", "another": "label"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "cache-f", UID: "3", Controller: ptr.To(true),
		}},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "memcached"}}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: "Evicted", Message: strings.Repeat("m", 5000),
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: metav1.Unix(1, 0)}},
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Unix(2, 0)},
		}}},
	}
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "cache-f-0", Namespace: "a", UID: "1", ResourceVersion: "2", CreationTimestamp: metav1.Unix(2, 0),
		Labels:          map[string]string{memcached.InstanceLabel: "cache", "pod-template-hash": "f"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "cache-f", Controller: ptr.To(true)}},
	}}
	want.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: strings.Repeat("m", 1024)}
	reduced, err := podTransform(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, reduced); diff != "" {
		t.Errorf("-want +kept:\n%s", diff)
	}
}

// podTransform applies the cache's transform for pods twice, as client-go does to listed pods.
func podTransform(object any) (any, error) {
	for kind, options := range controllers.CacheOptions("").ByObject {
		if _, ok := kind.(*corev1.Pod); ok {
			once, err := options.Transform(object)
			if err != nil {
				return nil, err
			}
			return options.Transform(once)
		}
	}
	return nil, errors.New("the cache keeps no pods")
}
