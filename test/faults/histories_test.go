// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const (
	histories = 300
	// allNamespaces is what the operator of all histories watches.
	allNamespaces = ""
	// operationsPerHistory is how often its users change something.
	operationsPerHistory = 8
)

// TestHistories does to several Memcacheds what users may do, in random order, while the operator is killed again and again. Each
// must end as its last spec says, with exactly the objects and nodes that it names. HISTORY repeats the operations of one history.
func TestHistories(t *testing.T) {
	only, _ := strconv.Atoi(os.Getenv("HISTORY"))
	kills := killOperator(t)
	t.Run("all", func(t *testing.T) {
		for number := 1; number <= histories; number++ {
			if only != 0 && only != number {
				continue
			}
			t.Run(strconv.Itoa(number), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := limited(t)
				defer cancel()
				h := &randomHistory{sandbox: newSandbox(ctx, t), random: rand.New(rand.NewPCG(uint64(number), 0))}
				h.run()
			})
		}
	})
	t.Logf("the operator was killed %d times", kills())
}

// killOperator runs an operator until the test ends. It kills the process after some dozens of changes in the cluster and starts
// another one. The function that it returns stops that, and returns how often it was done.
func killOperator(t *testing.T) func() int {
	t.Helper()
	p, o := startProxiedOperator(t.Context(), t, allNamespaces)
	ctx, cancel := context.WithCancel(t.Context())
	stopped, kills := make(chan struct{}), 0
	random := rand.New(rand.NewPCG(1, 1))
	go func() {
		defer close(stopped)
		for history.awaitChanges(ctx, 20+random.IntN(200)) {
			err := o.crash()
			if err == nil {
				o, err = startOperator(t.Context(), p, allNamespaces)
			}
			if err != nil {
				t.Errorf("kill the operator: %v", err)
				return
			}
			kills++
		}
		if err := o.crash(); err != nil {
			t.Errorf("stop the operator: %v", err)
		}
	}()
	stop := sync.OnceFunc(func() { cancel(); <-stopped })
	t.Cleanup(stop)
	return func() int { stop(); return kills }
}

// randomHistory is a sequence of random operations on one Memcached.
type randomHistory struct {
	*sandbox

	random *rand.Rand
	// done are the operations so far, for the report of a failure.
	done []string
}

// operations are what users do, each as often as it is listed.
var operations = []struct {
	name string
	do   func(h *randomHistory)
}{
	{"size", (*randomHistory).changeSize},
	{"size", (*randomHistory).changeSize},
	{"image", func(h *randomHistory) {
		h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) {
			spec.Image = fmt.Sprintf("memcached:1.6.%d", 45+h.random.IntN(3))
		})
	}},
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
	{"workload", func(h *randomHistory) { h.changeSpec(otherWorkload) }},
	{"workload", func(h *randomHistory) { h.changeSpec(otherWorkload) }},
	{"pause or resume", func(h *randomHistory) {
		h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = !spec.Paused })
	}},
	{"optional objects", func(h *randomHistory) { h.changeSpec(h.optionalObjects) }},
	{"delete a pod", (*randomHistory).deletePod},
	{"delete a child", func(h *randomHistory) { h.deleteChild(metav1.DeletePropagationBackground) }},
	{"orphan a child", func(h *randomHistory) { h.deleteChild(metav1.DeletePropagationOrphan) }},
	{"orphan a child", func(h *randomHistory) { h.deleteChild(metav1.DeletePropagationOrphan) }},
	{"take the label of a child", (*randomHistory).takeLabel},
	{"create again", func(h *randomHistory) { h.createAgain(metav1.DeletePropagationBackground) }},
	{"orphan and create again", func(h *randomHistory) { h.createAgain(metav1.DeletePropagationOrphan) }},
}

// run creates a Memcached, changes it, and verifies how that ends.
func (h *randomHistory) run() {
	h.Cleanup(func() {
		if h.Failed() {
			h.Logf("the operations: %s\nthe history:\n%s", strings.Join(h.done, ", "), formatHistory(history.of(h.namespace)))
		}
		history.forget(h.namespace)
	})
	h.createRandom()
	for range operationsPerHistory {
		operation := operations[h.random.IntN(len(operations))]
		h.done = append(h.done, operation.name)
		operation.do(h)
		if h.random.IntN(2) == 0 {
			h.await("the operator has seen the spec", seen)
		}
	}
	h.resume()
	h.await("the end", func(now objects) string {
		if len(now.orphans()) > 0 {
			return orphansReported(now)
		}
		return ended(now)
	})
	h.removeOrphans()
	h.await("the end without orphans", ended)
	h.removeAll()
}

// seen reports what is missing until the status is about the current spec.
func seen(now objects) string {
	if mc := get[*cachev1alpha1.Memcached](now, "memcacheds"); mc == nil || mc.Status.ObservedGeneration != mc.Generation {
		return "the status is about another spec"
	}
	return ""
}

// ended reports what is missing until a Memcached is settled and there are exactly the objects that it wants.
func ended(now objects) string {
	if missing := settled(now); missing != "" {
		return missing
	}
	spec := get[*cachev1alpha1.Memcached](now, "memcacheds").Spec
	for resource, wanted := range map[string]bool{
		"services":             true,
		"poddisruptionbudgets": ptr.Deref(spec.PodDisruptionBudget.Enabled, true),
		"networkpolicies":      ptr.Deref(spec.NetworkPolicy.Enabled, false),
	} {
		switch object := now[resource+"/"+cacheName]; {
		case wanted != (object != nil):
			return fmt.Sprintf("%s: wanted is %t, but it is %v", resource, wanted, object)
		case wanted && !ownedByMemcached(object):
			return "nobody owns the object in " + resource
		}
	}
	return sameArguments(now)
}

func (h *randomHistory) createRandom() {
	h.createCache(int32(h.random.IntN(5)), h.optionalObjects, func(spec *cachev1alpha1.MemcachedSpec) {
		if h.random.IntN(2) == 0 {
			spec.Workload = cachev1alpha1.WorkloadStatefulSet
		}
	})
}

func (h *randomHistory) changeSize() {
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = int32(h.random.IntN(5)) })
}

func (h *randomHistory) changeThreads() {
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.Threads = int32(4 + h.random.IntN(3)) })
}

// spoilArguments deletes or edits the ConfigMap of a StatefulSet's launchers.
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

func otherWorkload(spec *cachev1alpha1.MemcachedSpec) {
	if spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		spec.Workload = cachev1alpha1.WorkloadDeployment
	} else {
		spec.Workload = cachev1alpha1.WorkloadStatefulSet
	}
}

func (h *randomHistory) optionalObjects(spec *cachev1alpha1.MemcachedSpec) {
	spec.PodDisruptionBudget.Enabled = ptr.To(h.random.IntN(2) == 0)
	spec.NetworkPolicy.Enabled = ptr.To(h.random.IntN(2) == 0)
}

// existing are the children that exist now, in order.
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

func (h *randomHistory) deleteChild(propagation metav1.DeletionPropagation) {
	if found := h.existing(); len(found) > 0 {
		child := found[h.random.IntN(len(found))]
		h.done = append(h.done, fmt.Sprintf("(%T)", child))
		h.must(client.IgnoreNotFound(user.Delete(h.ctx, child, client.PropagationPolicy(propagation))))
	}
}

// takeLabel takes the label by which the operator finds a child. It finds one without the label if it wants the child.
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

func (h *randomHistory) createAgain(propagation metav1.DeletionPropagation) {
	mc := &cachev1alpha1.Memcached{}
	h.read(mc)
	h.must(user.Delete(h.ctx, mc, client.PropagationPolicy(propagation)))
	h.await("the deletion", func(now objects) string {
		if existing := get[*cachev1alpha1.Memcached](now, "memcacheds"); existing != nil && existing.UID == mc.UID {
			return "it exists"
		}
		return ""
	})
	h.createRandom()
}

// removeOrphans deletes the pods that no workload has adopted, as the status tells users to do.
func (h *randomHistory) removeOrphans() {
	var pods corev1.PodList
	h.must(user.List(h.ctx, &pods, client.InNamespace(h.namespace)))
	for _, pod := range slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Annotations[orphanedAnnotation] == "" }) {
		h.must(client.IgnoreNotFound(user.Delete(h.ctx, &pod, client.GracePeriodSeconds(0))))
	}
}
