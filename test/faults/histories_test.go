// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const (
	histories = 300
	// allNamespaces makes the operator watch all namespaces.
	allNamespaces        = ""
	operationsPerHistory = 8
)

// TestHistories changes Memcacheds as users would, in random order, and kills the operator again and again. Each Memcached must end
// with exactly the objects and nodes of its last spec. The environment variable HISTORY selects one history by its number.
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

// killOperator runs an operator until the test ends. Every few seconds, it kills the operator and starts another one. The returned function
// stops the operator, and returns how often it was killed.
func killOperator(t *testing.T) func() int {
	t.Helper()
	w := newWire()
	o, err := startOperator(t.Context(), w, allNamespaces)
	if err != nil {
		t.Fatal(err)
	}
	ending, stopped, kills, random := make(chan struct{}), make(chan struct{}), 0, rand.New(rand.NewPCG(1, 1))
	go func() {
		defer close(stopped)
		for err == nil {
			select {
			case <-ending:
				if err = o.crash(); err == nil {
					return
				}
			case <-time.After(time.Duration(1000+random.IntN(3000)) * time.Millisecond):
				if err = o.crash(); err == nil {
					o, err = startOperator(t.Context(), w, allNamespaces)
					kills++
				}
			}
		}
		t.Errorf("kill the operator: %v", err)
	}()
	stop := sync.OnceFunc(func() { close(ending); <-stopped })
	t.Cleanup(stop)
	return func() int { stop(); return kills }
}

// randomHistory is a sequence of random operations on one Memcached.
type randomHistory struct {
	*sandbox

	random *rand.Rand
	// done are the names of the operations so far, for the log of a failed test.
	done []string
}

// run creates a Memcached, changes it, and verifies the final state.
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
		if operation.edit != nil {
			h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { operation.edit(h.random, spec) })
		} else {
			operation.do(h)
		}
		if h.random.IntN(2) == 0 {
			h.await("the operator has seen the spec", seen)
		}
	}
	h.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = false })
	h.await("the end", ended)
	h.removeAll()
}

func seen(now objects) string {
	if mc := get[*cachev1alpha1.Memcached](now, "memcacheds"); mc == nil || mc.Status.ObservedGeneration != mc.Generation {
		return "the status is about another spec"
	}
	return ""
}

// ended checks that the Memcached is settled, and that exactly the objects for its spec exist.
func ended(now objects) string {
	if missing := settled(now); missing != "" {
		return missing
	}
	spec := get[*cachev1alpha1.Memcached](now, "memcacheds").Spec
	for resource, wanted := range map[string]bool{
		"services":             true,
		"poddisruptionbudgets": ptr.Deref(spec.PodDisruptionBudget.Enabled, true),
		"networkpolicies":      spec.NetworkPolicy != nil,
	} {
		switch object := now[resource+"/"+cacheName]; {
		case wanted != (object != nil):
			return fmt.Sprintf("%s: wanted is %t, but it is %v", resource, wanted, object)
		case wanted && !ownedByMemcached(object):
			return "nobody owns the object in " + resource
		}
	}
	return ""
}

// operations are the changes from which TestHistories chooses at random: each edits the spec, or does something else. An operation that is
// listed twice is twice as likely.
var operations = []struct {
	name string
	edit func(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec)
	do   func(h *randomHistory)
}{
	{name: "size", edit: randomSize},
	{name: "size", edit: randomSize},
	{name: "image", edit: randomImage},
	{name: "image", edit: randomImage},
	{name: "threads", edit: randomThreads},
	{name: "threads", edit: randomThreads},
	{name: "memory", edit: func(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) { // spec.storage.type MemoryFile needs 128Mi
		spec.Config.Memory = resource.NewQuantity(int64(128+64*r.IntN(3))<<20, resource.BinarySI)
	}},
	{name: "connections", edit: func(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) {
		spec.Config.MaxConnections = int32(1024 + r.IntN(3))
	}},
	{name: "restart", edit: func(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) {
		spec.RestartedAt = ptr.To(metav1.Date(2026, 1, 1+r.IntN(3), 0, 0, 0, 0, time.UTC))
	}},
	{name: "pod update policy", edit: randomPolicy},
	{name: "pause or resume", edit: func(_ *rand.Rand, spec *cachev1alpha1.MemcachedSpec) { spec.Paused = !spec.Paused }},
	{name: "optional objects", edit: randomObjects},
	{name: "spoil the arguments", do: (*randomHistory).spoilArguments},
	{name: "delete a pod", do: (*randomHistory).deletePod},
	{name: "delete a child", do: (*randomHistory).deleteChild},
	{name: "create again", do: func(h *randomHistory) {
		h.remove(&cachev1alpha1.Memcached{})
		h.createRandom()
	}},
}

func (h *randomHistory) createRandom() {
	h.createCache(0, func(spec *cachev1alpha1.MemcachedSpec) {
		if h.random.IntN(2) == 0 {
			statefulSetNodes(spec)
		}
		if h.random.IntN(2) == 0 && spec.Workload == cachev1alpha1.WorkloadStatefulSet {
			inFiles(spec)
		}
		randomSize(h.random, spec)
		randomObjects(h.random, spec)
		randomPolicy(h.random, spec)
	})
}

func randomSize(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) { spec.Size = int32(r.IntN(5)) }

func randomImage(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) {
	spec.Image = fmt.Sprintf("memcached:1.6.%d", 45+r.IntN(3))
}

func randomThreads(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) {
	spec.Config.Threads = int32(4 + r.IntN(3))
}

// randomPolicy decides whether pods are changed in place. Pods of a Deployment never are.
func randomPolicy(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) {
	spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateRecreate
	if r.IntN(2) == 0 && spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
	}
}

func randomObjects(r *rand.Rand, spec *cachev1alpha1.MemcachedSpec) {
	spec.PodDisruptionBudget.Enabled = ptr.To(r.IntN(2) == 0)
	if spec.NetworkPolicy = nil; r.IntN(2) == 0 {
		spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{}
	}
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

func (h *randomHistory) deleteChild() {
	child := memcached.Children[h.random.IntN(len(memcached.Children))].Named(client.ObjectKey{Namespace: h.namespace, Name: cacheName})
	h.done = append(h.done, fmt.Sprintf("(%T)", child))
	h.must(client.IgnoreNotFound(user.Delete(h.ctx, child)))
}

func (h *randomHistory) deletePod() {
	var pods corev1.PodList
	h.must(user.List(h.ctx, &pods, client.InNamespace(h.namespace)))
	if len(pods.Items) > 0 {
		pod := &pods.Items[h.random.IntN(len(pods.Items))]
		h.must(client.IgnoreNotFound(user.Delete(h.ctx, pod, client.GracePeriodSeconds(0))))
	}
}
