// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// troubles makes one node of the cache "sessions" crash, and another hang. The user has no permission to connect
// to the third.
func troubles(t *testing.T, w *world) {
	w.crash(t, "sessions-7d9f-kx2lm")
	w.memcacheds["sessions-7d9f-qq8pv"].hangs = true
	w.dialErrors["sessions-7d9f-zb4td"] = errors.New(`unable to upgrade connection: pods "sessions-7d9f-zb4td" is forbidden: User ` +
		`"jane" cannot create resource "pods/portforward" in API group "" in the namespace "shop"`)
	change(t, w, &cachev1alpha1.Memcached{}, "sessions", func(mc *cachev1alpha1.Memcached) {
		ready := &mc.Status.Conditions[0]
		ready.Status, ready.Reason, ready.Message = "False", cachev1alpha1.ReasonNodesCrashing, "the pod crashes\033[2J"
	})
}

func authenticate(_ *testing.T, w *world) {
	for _, server := range w.memcacheds {
		server.authenticates = true
	}
}

func keepItems(_ *testing.T, w *world) {
	for _, server := range w.memcacheds {
		server.keepsItems = true
	}
}

func forbidFlush(t *testing.T, w *world) {
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(false) })
}

// encrypt opens the TLS port of pages-0, in addition to the port without TLS.
func encrypt(t *testing.T, w *world) {
	change(t, w, &corev1.Pod{}, "pages-0", func(pod *corev1.Pod) {
		ports := &pod.Spec.Containers[0].Ports
		*ports = append(*ports, corev1.ContainerPort{Name: "memcached-tls", ContainerPort: memcached.TLSPort})
	})
}

func ofSize(size int32) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
	}
}

func inFile(size int32) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		ofSize(size)(t, w)
		change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile
		})
	}
}

func pause(t *testing.T, w *world) {
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused = true })
}

// evict adds two evicted pods to the cache "sessions", and sets its size. The second pod was created a minute after the first.
func evict(size int32) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		change(t, w, &cachev1alpha1.Memcached{}, "sessions", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Size = size
			for i, name := range []string{"sessions-7d9f-4xw2c", "sessions-7d9f-2bn8v"} {
				pod := newPod(mc, name, "10.244.0.4")
				pod.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(i) * time.Minute))
				pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}
				if err := w.client.Create(t.Context(), pod); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
