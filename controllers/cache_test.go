// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
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
	received.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	reduced, err := controllers.CacheOptions("").DefaultTransform(received)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(client.Object(read), reduced); diff != "" {
		t.Errorf("-wanted +kept:\n%.500s", diff)
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

// TestTheCacheKeepsOfAPodWhatIsRead transforms a pod twice, as client-go does to listed pods.
func TestTheCacheKeepsOfAPodWhatIsRead(t *testing.T) {
	container := func(name, memory string) corev1.Container {
		limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
		return corev1.Container{
			Name: name, Image: name, Args: []string{name}, Resources: corev1.ResourceRequirements{Limits: limits},
			ResizePolicy: []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}},
		}
	}
	read := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "cache-0", UID: "1", Generation: 2, Labels: map[string]string{"a": "b"}, CreationTimestamp: metav1.Unix(1, 0),
		Annotations:     map[string]string{memcached.AskedAnnotation: "{}", memcached.WakeAnnotation: "1"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "cache"}}, DeletionGracePeriodSeconds: ptr.To[int64](35),
	}}
	read.Spec.NodeName = "host"
	read.Spec.Containers = []corev1.Container{container(memcached.ContainerName, "2Gi")}
	read.Spec.InitContainers = []corev1.Container{container(memcached.AgentContainerName, "32Mi")}
	former := container(memcached.ContainerName, "1Gi")
	read.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.1",
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(2, 0)}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: former.Name, Ready: true, Started: ptr.To(true), RestartCount: 3, Resources: &former.Resources,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 71}},
		}},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: memcached.AgentContainerName, Ready: true}},
	}
	received := read.DeepCopy()
	received.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	received.Spec.Volumes, received.Spec.Affinity = []corev1.Volume{{Name: "tls"}}, &corev1.Affinity{}
	received.Spec.Tolerations, received.Annotations["example.com/note"] = []corev1.Toleration{{Key: "long"}}, "long"
	received.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
	received.Status.ContainerStatuses[0].VolumeMounts = []corev1.VolumeMountStatus{{Name: "tls"}}
	for range 2 {
		reduced, err := podTransform(received)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(client.Object(read), reduced); diff != "" {
			t.Errorf("-want +kept:\n%s", diff)
		}
	}
}

// podTransform applies the cache's transform for pods.
func podTransform(object any) (any, error) {
	for kind, options := range controllers.CacheOptions("").ByObject {
		if _, ok := kind.(*corev1.Pod); ok {
			return options.Transform(object)
		}
	}
	return nil, errors.New("the cache keeps no pods")
}
