// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
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

// killOperator runs an operator until the test ends. After every 20 to 219 changes in the cluster, it kills the operator and starts
// another one. The returned function stops the operator, and returns how often it was killed.
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
		operation.do(h)
		if h.random.IntN(2) == 0 {
			h.await("the operator has seen the spec", seen)
		}
	}
	h.resume()
	h.await("the end", ended)
	if found := allLaunchers.violationsIn(h.namespace); len(found) > 0 {
		h.Error(found)
	}
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
