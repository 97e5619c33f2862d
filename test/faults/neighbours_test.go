// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"net/http"
	"strings"
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

// TestConflictStorm scales a Memcached while somebody else writes to it and to its Deployment all the time.
func TestConflictStorm(t *testing.T) {
	p := newPlay(t)
	defer p.end()
	running(1)(p)
	p.proxy.begin(nil)
	calm := p.storm()
	p.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = 3 })
	p.await("scale in the storm", func(now objects) string {
		if d := get[*appsv1.Deployment](now, "deployments"); ptr.Deref(d.Spec.Replicas, 0) != 3 {
			return "the Deployment is not scaled"
		}
		return ""
	})
	calm()
	p.await("converge after the storm", settled)
	scaled := 0
	for _, w := range p.proxy.written() {
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

// storm annotates the Memcached and its Deployment fifty times a second, until it is calm.
func (p *play) storm() (calm func()) {
	ctx, cancel := context.WithCancel(p.ctx)
	done := make(chan struct{})
	patch := client.RawPatch(client.Merge.Type(), nil)
	go func() {
		defer close(done)
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; {
			now := <-tick.C
			patch = client.RawPatch(client.Merge.Type(), []byte(`{"metadata": {"annotations": {"storm": "`+now.String()+`"}}}`))
			for _, object := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}} {
				object.SetNamespace(p.namespace)
				object.SetName(cacheName)
				if err := user.Patch(ctx, object, patch); err != nil && ctx.Err() == nil {
					p.Errorf("the storm: %v", err)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestBusyNeighbours creates a Memcached beside as many as the operator has workers, all of which are refused and one of
// which is written to all the time.
func TestBusyNeighbours(t *testing.T) {
	var places []*play
	var names []string
	for range 9 {
		place := newPlace(t).in(t)
		places, names = append(places, place), append(names, place.namespace)
	}
	proxy, err := newProxy()
	if err != nil {
		t.Fatal(err)
	}
	o, err := startOperator(t.Context(), proxy, strings.Join(names, ","))
	if err != nil {
		t.Fatal(err)
	}
	good, bad := places[0], places[1:]
	for _, place := range bad {
		mc := &cachev1alpha1.Memcached{Spec: cachev1alpha1.MemcachedSpec{Size: 1}}
		mc.Name = cacheName
		mc.Spec.Scheduling.NodeSelector = map[string]string{"not a label": "x"}
		place.create(mc)
	}
	for _, place := range bad {
		place.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonInvalidSpec)
	}
	busy := make(chan struct{})
	var neighbours sync.WaitGroup
	for _, place := range bad {
		neighbours.Go(func() {
			size := int32(0)
			for tick := time.NewTicker(20 * time.Millisecond); ; size = 1 - size {
				select {
				case <-busy:
					return
				case <-tick.C:
				}
				mc := &cachev1alpha1.Memcached{}
				mc.Namespace, mc.Name = place.namespace, cacheName
				patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec": {"size": `+string('1'+size)+`}}`))
				if err := user.Patch(place.ctx, mc, patch); err != nil && place.ctx.Err() == nil {
					t.Errorf("the neighbour: %v", err)
				}
			}
		})
	}
	good.createCache(1)
	good.await("converge beside busy neighbours", settled)
	close(busy)
	neighbours.Wait()
	for _, place := range places {
		place.removeAll()
	}
	if err := o.crash(); err != nil {
		t.Error(err)
	}
}

// TestPanic lets the operator panic in the middle of two reconciliations.
func TestPanic(t *testing.T) {
	p := newPlay(t)
	defer p.end()
	p.must(p.operator.crash())
	var left atomic.Int32
	left.Store(2)
	var err error
	p.operator, err = startOperator(p.ctx, p.proxy, p.namespace, func(options *ctrl.Options) {
		options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := newImpatientClient(config, options)
			return interceptor.NewClient(c, interceptor.Funcs{Patch: func(
				ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption,
			) error {
				if _, ok := object.(*appsv1.Deployment); ok && left.Add(-1) >= 0 {
					panic("a mistake of a developer")
				}
				return c.Patch(ctx, object, patch, opts...)
			}}), err
		}
	})
	p.must(err)
	before := panics()
	p.createCache(1)
	p.await("converge after panics", settled)
	if count := panics() - before; count != 2 {
		t.Errorf("%v panics were counted, want 2", count)
	}
	expectedPanics += 2
}
