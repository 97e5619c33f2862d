// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// describe gives the cache "sessions" most of what an overview can show, and more events than an overview shows.
func describe(t *testing.T, w *world) {
	change(t, w, &cachev1alpha1.Memcached{}, "sessions", func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Config.Memory = ptr.To(resource.MustParse("64Mi"))
		mc.Spec.Monitoring.Enabled = true
		mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "sessions-users"}
		mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "sessions-tls"}
	})
	change(t, w, &corev1.Pod{}, "sessions-7d9f-kx2lm", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("198Mi")}
		pod.Status.ContainerStatuses[0].RestartCount = 3
	})
	objects := []client.Object{
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
		},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "memcached-operator-system", Name: "memcached-operator-controller-manager",
				Labels: map[string]string{"app.kubernetes.io/name": "memcached-operator"},
			},
			Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "manager", Image: "registry.example/memcached-operator:0.1.0"}},
			}}},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 1},
		},
	}
	for i := range lastEvents + 2 {
		objects = append(objects, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("event-", i)},
			InvolvedObject: corev1.ObjectReference{Kind: "Memcached", Name: "sessions"},
			LastTimestamp:  metav1.NewTime(now.Add(time.Duration(i-10) * time.Minute)),
			Type:           map[bool]string{true: "Warning", false: "Normal"}[i%2 == 0], Reason: "Corrected",
			Message: fmt.Sprintf("Deployment sessions was changed %d times\033[2J", i),
		})
	}
	for _, object := range objects {
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// forbid calls describe, and also takes from the user the permission to read PodDisruptionBudgets, events and Deployments.
func forbid(t *testing.T, w *world) {
	describe(t, w)
	for _, resource := range []string{"poddisruptionbudgets", "events", "deployments"} {
		w.forbidden[resource] = errors.New(resource + ` is forbidden: User "jane" cannot read resource "` + resource + `"`)
	}
}

// mixVersions gives the two nodes of the cache "pages" different images of memcached. The operator reports that a newer image of the
// agent is available.
func mixVersions(t *testing.T, w *world) {
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions = append(mc.Status.Conditions, metav1.Condition{
			Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonNewerDefaultsAvailable,
			Message: "a newer agent is available", LastTransitionTime: metav1.NewTime(now),
		})
	})
	change(t, w, &cachev1alpha1.Memcached{}, "sessions", func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions = append(mc.Status.Conditions, metav1.Condition{
			Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonComplete,
			LastTransitionTime: metav1.NewTime(now),
		})
	})
	for name, image := range map[string]string{
		"pages-0": "memcached:1.6.44", "pages-1": "memcached:1.6.45", "sessions-7d9f-kx2lm": "memcached:1.6.45",
		"sessions-7d9f-qq8pv": "memcached:1.6.45", "sessions-7d9f-zb4td": "memcached:1.6.45",
	} {
		change(t, w, &corev1.Pod{}, name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Image = image
			pod.Spec.InitContainers = []corev1.Container{{Name: "memcached-agent", Image: "agent:0.1.0"}}
		})
	}
}

// terminate makes one node of the cache "sessions" terminate, and another one unreachable.
func terminate(t *testing.T, w *world) {
	change(t, w, &corev1.Pod{}, "sessions-7d9f-zb4td", func(pod *corev1.Pod) { pod.Finalizers = []string{"test/keep"} })
	pod := &corev1.Pod{ObjectMeta: metaNamed("sessions-7d9f-zb4td")}
	pod.Namespace = "shop"
	if err := w.client.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.dialErrors["sessions-7d9f-qq8pv"] = errors.New("error forwarding port 11211 to pod 02060891e74c, uid : failed to execute portforward in " +
		"network namespace \"/var/run/netns/cni-94a3\": failed to connect to localhost:11211 inside namespace")
}
