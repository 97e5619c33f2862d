// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// operations are the changes from which TestHistories chooses at random. An operation that is listed twice is twice as likely.
var operations = []struct {
	name string
	do   func(h *randomHistory)
}{
	{"size", (*randomHistory).changeSize},
	{"size", (*randomHistory).changeSize},
	{"image", (*randomHistory).changeImage},
	{"image", (*randomHistory).changeImage},
	{"memory", (*randomHistory).changeMemory},
	{"pod update policy", func(h *randomHistory) { h.changeSpec(h.changePolicy) }},
	{"config", func(h *randomHistory) {
		h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.MaxConnections = int32(1024 + h.random.IntN(3)) })
	}},
	{"threads", (*randomHistory).changeThreads},
	{"threads", (*randomHistory).changeThreads},
	{"restart", func(h *randomHistory) {
		h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) {
			spec.RestartedAt = ptr.To(metav1.Date(2026, 1, 1+h.random.IntN(3), 0, 0, 0, 0, time.UTC))
		})
	}},
	{"spoil the arguments", (*randomHistory).spoilArguments},
	{"pause or resume", func(h *randomHistory) {
		h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = !spec.Paused })
	}},
	{"optional objects", func(h *randomHistory) { h.changeSpec(h.optionalObjects) }},
	{"delete a pod", (*randomHistory).deletePod},
	{"delete a child", (*randomHistory).deleteChild},
	{"take the label of a child", (*randomHistory).takeLabel},
	{"create again", (*randomHistory).createAgain},
}

func (h *randomHistory) createRandom() {
	h.createCache(int32(h.random.IntN(5)), h.optionalObjects, func(spec *cachev1alpha1.MemcachedSpec) {
		if h.random.IntN(2) == 0 {
			statefulSetNodes(spec)
			h.changePolicy(spec)
		}
		if h.random.IntN(2) == 0 && spec.Workload == cachev1alpha1.WorkloadStatefulSet {
			inFiles(spec)
		}
	})
}

func (h *randomHistory) changeImage() {
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Image = fmt.Sprintf("memcached:1.6.%d", 45+h.random.IntN(3))
	})
}

// changeMemory sets at least 128 MiB, because spec.storage.type MemoryFile requires it.
func (h *randomHistory) changeMemory() {
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Config.Memory = resource.NewQuantity(int64(128+64*h.random.IntN(3))<<20, resource.BinarySI)
	})
}

// changePolicy decides at random whether pods are changed in place. Pods of a Deployment never are.
func (h *randomHistory) changePolicy(spec *cachev1alpha1.MemcachedSpec) {
	spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateRecreate
	if h.random.IntN(2) == 0 && spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
	}
}

func (h *randomHistory) changeSize() {
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = int32(h.random.IntN(5)) })
}

func (h *randomHistory) changeThreads() {
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.Threads = int32(4 + h.random.IntN(3)) })
}

// spoilArguments deletes or edits the ConfigMap with the memcached arguments for the pods of a StatefulSet, if it exists.
func (h *randomHistory) spoilArguments() {
	config := &corev1.ConfigMap{}
	err := user.Get(h.ctx, client.ObjectKey{Namespace: h.namespace, Name: cacheName + memcached.ArgumentsSuffix}, config)
	switch {
	case err != nil:
		h.must(client.IgnoreNotFound(err))
	case h.random.IntN(2) == 0:
		h.must(client.IgnoreNotFound(user.Delete(h.ctx, config)))
	default:
		before := config.DeepCopy()
		for key := range config.Data {
			config.Data[key] = "0 of somebody"
		}
		h.must(client.IgnoreNotFound(user.Patch(h.ctx, config, client.MergeFrom(before), client.FieldOwner("user"))))
	}
}

func (h *randomHistory) optionalObjects(spec *cachev1alpha1.MemcachedSpec) {
	spec.PodDisruptionBudget.Enabled = ptr.To(h.random.IntN(2) == 0)
	if spec.NetworkPolicy = nil; h.random.IntN(2) == 0 {
		spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{}
	}
}

// existing returns the children that exist and are not being deleted, in a fixed order.
func (h *randomHistory) existing() []client.Object {
	var found []client.Object
	for _, child := range memcached.Children {
		object := child.Named(client.ObjectKey{Namespace: h.namespace, Name: cacheName})
		if err := user.Get(h.ctx, client.ObjectKeyFromObject(object), object); err == nil && object.GetDeletionTimestamp() == nil {
			found = append(found, object)
		}
	}
	return found
}

func (h *randomHistory) deleteChild() {
	if found := h.existing(); len(found) > 0 {
		child := found[h.random.IntN(len(found))]
		h.done = append(h.done, fmt.Sprintf("(%T)", child))
		h.must(client.IgnoreNotFound(user.Delete(h.ctx, child)))
	}
}

// takeLabel removes the label by which the operator finds a child, and waits until the operator has restored it. Without the label, the
// operator finds a child only when it tries to create this child. So takeLabel chooses a child that every spec needs: the Service or
// the workload of the wanted kind.
func (h *randomHistory) takeLabel() {
	h.resume()
	mc := &cachev1alpha1.Memcached{}
	h.read(mc)
	found := slices.DeleteFunc(h.existing(), func(child client.Object) bool {
		_, service := child.(*corev1.Service)
		w := workloadOf(child)
		return !ownedByMemcached(child) || !service && (w == nil || w.kind != wantedKind(mc))
	})
	if len(found) > 0 {
		child := found[h.random.IntN(len(found))]
		before := child.DeepCopyObject().(client.Object)
		delete(child.GetLabels(), memcached.ManagedByLabel)
		h.must(client.IgnoreNotFound(user.Patch(h.ctx, child, client.MergeFrom(before), client.FieldOwner("user"))))
		h.awaitWrite(child)
		h.await("the label comes back", func(now objects) string {
			for key, object := range now {
				if object.GetUID() == child.GetUID() && object.GetLabels()[memcached.ManagedByLabel] == "" {
					return key + " has lost it"
				}
			}
			return ""
		})
	}
}

func (h *randomHistory) resume() {
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = false })
}

func (h *randomHistory) deletePod() {
	var pods corev1.PodList
	h.must(user.List(h.ctx, &pods, client.InNamespace(h.namespace)))
	if len(pods.Items) > 0 {
		pod := &pods.Items[h.random.IntN(len(pods.Items))]
		h.must(client.IgnoreNotFound(user.Delete(h.ctx, pod, client.GracePeriodSeconds(0))))
	}
}

func (h *randomHistory) createAgain() {
	mc := &cachev1alpha1.Memcached{}
	h.read(mc)
	h.must(user.Delete(h.ctx, mc))
	h.await("the deletion", func(now objects) string {
		if existing := get[*cachev1alpha1.Memcached](now, "memcacheds"); existing != nil && existing.UID == mc.UID {
			return "it exists"
		}
		return ""
	})
	h.createRandom()
}
