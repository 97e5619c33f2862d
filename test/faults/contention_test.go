// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestConflictStorm scales a Memcached while another client constantly writes to it and to its Deployment.
func TestConflictStorm(t *testing.T) {
	r := newScenarioRun(t)
	defer r.end()
	running(1)(r)
	r.proxy.arm(nil)
	stop := r.storm()
	r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = 3 })
	r.await("scale in the storm", func(now objects) string {
		if d := get[*appsv1.Deployment](now, "deployments"); ptr.Deref(d.Spec.Replicas, 0) != 3 {
			return "the Deployment is not scaled"
		}
		return ""
	})
	stop()
	r.await("converge after the storm", settled)
	scaled := 0
	for _, w := range r.proxy.written() {
		if w.Code == http.StatusConflict {
			t.Errorf("%s was refused for a conflict", w)
		}
		if w.kind() == "patch deployments" {
			scaled++
		}
	}
	if scaled != 1 {
		t.Errorf("the Deployment was written %d times, want 1", scaled)
	}
}

// storm annotates the Memcached and its Deployment fifty times a second until the returned function is called.
func (s *sandbox) storm() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	patch := client.RawPatch(client.Merge.Type(), nil)
	go func() {
		defer close(done)
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; {
			now := <-tick.C
			patch = client.RawPatch(client.Merge.Type(), []byte(`{"metadata": {"annotations": {"storm": "`+now.String()+`"}}}`))
			for _, object := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}} {
				object.SetNamespace(s.namespace)
				object.SetName(cacheName)
				if err := user.Patch(ctx, object, patch); err != nil && ctx.Err() == nil {
					s.Errorf("the storm: %v", err)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestNoisyNeighbors creates a Memcached next to eight noisy ones, as many as the operator has workers. The noisy ones have invalid
// specs, which users constantly change.
func TestNoisyNeighbors(t *testing.T) {
	var sandboxes []*sandbox
	var names []string
	for range 9 {
		s := newSandbox(t.Context(), t).forTest(t)
		sandboxes, names = append(sandboxes, s), append(names, s.namespace)
	}
	startSharedOperator(t, names...)
	quiet, noisy := sandboxes[0], sandboxes[1:]
	for _, s := range noisy {
		mc := &cachev1alpha1.Memcached{Spec: cachev1alpha1.MemcachedSpec{Size: 1}}
		mc.Name = cacheName
		mc.Spec.Scheduling.NodeSelector = map[string]string{"not a label": "x"}
		s.create(mc)
	}
	for _, s := range noisy {
		s.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonInvalidSpec)
	}
	done := make(chan struct{})
	var neighbors sync.WaitGroup
	for _, s := range noisy {
		neighbors.Go(func() {
			size := int32(0)
			for tick := time.NewTicker(20 * time.Millisecond); ; size = 1 - size {
				select {
				case <-done:
					return
				case <-s.ctx.Done():
					return
				case <-tick.C:
				}
				mc := &cachev1alpha1.Memcached{}
				mc.Namespace, mc.Name = s.namespace, cacheName
				patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec": {"size": `+string('1'+size)+`}}`))
				if err := user.Patch(s.ctx, mc, patch); err != nil && s.ctx.Err() == nil {
					t.Errorf("the neighbor: %v", err)
				}
			}
		})
	}
	quiet.createCache(1)
	quiet.await("converge beside noisy neighbors", settled)
	close(done)
	neighbors.Wait()
	for _, s := range sandboxes {
		s.removeAll()
	}
}

// TestPanic makes the operator panic twice while it writes the Deployment.
func TestPanic(t *testing.T) {
	r := newScenarioRun(t)
	defer r.end()
	r.must(r.operator.crash())
	var left atomic.Int32
	left.Store(2)
	var err error
	r.operator, err = startOperator(r.ctx, r.proxy, r.namespace, func(options *ctrl.Options) {
		options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := newClientWithTimeout(config, options)
			return interceptor.NewClient(c, interceptor.Funcs{Patch: func(
				ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption,
			) error {
				if _, ok := object.(*appsv1.Deployment); ok && left.Add(-1) >= 0 {
					panic("a programming error")
				}
				return c.Patch(ctx, object, patch, opts...)
			}}), err
		}
	})
	r.must(err)
	before := panics()
	r.createCache(1)
	r.await("converge after panics", settled)
	if count := panics() - before; count != 2 {
		t.Errorf("counted %v panics, want 2", count)
	}
	expectedPanics += 2
}
