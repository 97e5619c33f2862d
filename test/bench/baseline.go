// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	watchapi "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	memcachedstatus "github.com/example/memcached-operator/internal/memcached/status"
	"github.com/example/memcached-operator/test/operator"
)

// rawWorkers is the number of workers of the raw writer, the same as the operator's.
const rawWorkers = controllers.DefaultConcurrentReconciles

// childrenOf returns, for each of n Memcacheds, the children that the operator would create, without owner references.
func childrenOf(n int) ([][]client.Object, error) {
	image, err := operator.DefaultImage()
	if err != nil {
		return nil, err
	}
	children := make([][]client.Object, n)
	for i := range children {
		wanted, err := decide(memcachedNumber(i), image)
		if err != nil {
			return nil, err
		}
		children[i] = wanted.Objects
	}
	return children, nil
}

func decide(mc *cachev1alpha1.Memcached, image string) (memcached.Plan, error) {
	plan := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Now()), memcached.Options{DefaultImage: image, AgentImage: image})
	if plan.Problem != nil {
		return plan, errors.New(plan.Problem.Message)
	}
	for _, child := range plan.Objects {
		child.SetNamespace(mc.Namespace)
	}
	return plan, nil
}

// apply creates an object by server-side apply, as the operator does.
func apply(ctx context.Context, c client.Client, object client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	delete(content, "status")
	body := &unstructured.Unstructured{Object: content}
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	body.SetGroupVersionKind(kind)
	text, err := body.MarshalJSON()
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, text), client.ForceOwnership, client.FieldOwner(rawUser))
}

// rawWriter does only what an operator must do. It creates the children of each new Memcached, writes the status once, and scales the
// Deployment when the size changes. It does not read, compare or repair the children.
type rawWriter struct {
	client client.WithWatch
	image  string
	queue  chan *cachev1alpha1.Memcached

	mutex sync.Mutex
	sizes map[types.UID]int32
	err   error
}

// startRawWriter starts a raw writer that runs until the context ends. capacity is the length of its queue.
func (t *testbed) startRawWriter(ctx context.Context, capacity int) *rawWriter {
	config := must(t.clientConfig(rawUser))
	config.QPS = -1
	w := &rawWriter{
		client: must(client.NewWithWatch(config, client.Options{Scheme: t.k8s.Scheme()})), image: must(operator.DefaultImage()),
		queue: make(chan *cachev1alpha1.Memcached, capacity), sizes: map[types.UID]int32{},
	}
	check(listAndWatch(ctx, w.client, memcachedList(), w.handle, w.fail))
	for range rawWorkers {
		go w.work(ctx)
	}
	return w
}

// handle queues a Memcached that is new or has a new size.
func (w *rawWriter) handle(event watchapi.EventType, object client.Object) {
	mc, ok := object.(*cachev1alpha1.Memcached)
	if !ok || event == watchapi.Deleted {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	before, known := w.sizes[mc.UID]
	w.sizes[mc.UID] = mc.Spec.Size
	if !known && mc.Status.ObservedGeneration <= 0 || known && before != mc.Spec.Size {
		w.queue <- mc
	}
}

func (w *rawWriter) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case mc := <-w.queue:
			if err := w.write(ctx, mc); err != nil && ctx.Err() == nil {
				w.fail(err)
			}
		}
	}
}

func (w *rawWriter) write(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	if mc.Status.ObservedGeneration > 0 {
		return scaleDeployment(ctx, w.client, mc, mc.Spec.Size)
	}
	wanted, err := decide(mc, w.image)
	if err != nil {
		return err
	}
	for _, child := range wanted.Objects {
		if err := apply(ctx, w.client, child); err != nil {
			return err
		}
	}
	before := mc.DeepCopy()
	view := memcached.NewView(mc, memcached.Observed{}, time.Now())
	mc.Status = memcachedstatus.For(view, wanted, memcached.Written{Objects: wanted.Objects})
	return w.client.Status().Patch(ctx, mc, client.MergeFrom(before))
}

func (w *rawWriter) fail(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.err = errors.Join(w.err, err)
}

func (w *rawWriter) failure() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.err
}

func (w *rawWriter) known() (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.sizes), w.err
}
