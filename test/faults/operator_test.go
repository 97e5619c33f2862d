// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
)

// operator simulates one process of the operator. It has real caches.
type operator struct {
	wire    *wire
	manager ctrl.Manager
	// begun is how many reconciliations have begun.
	begun atomic.Int64
	// running ends when the process crashes. None of its writes reaches the API server afterwards.
	running context.Context //nolint:containedctx // that of the process
	cancel  context.CancelFunc
	stopped chan error
}

// startOperator starts an operator for the namespace of a run, and waits until its caches are synced.
func (r *run) startOperator() error {
	o := &operator{wire: r.wire, stopped: make(chan error, 1)}
	o.running, o.cancel = context.WithCancel(context.Background())
	r.operator = o
	var err error
	o.manager, err = ctrl.NewManager(config, ctrl.Options{
		Scheme:     testenv.Scheme(),
		Cache:      controllers.CacheOptions(r.namespace),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true), RecoverPanic: ptr.To(false)},
		NewClient:  o.newClient,
	})
	if err == nil {
		err = controllers.SetupWithManager(o.running, o.manager, metrics.New(prometheus.NewRegistry()), controllers.Options{
			Memcached: defaults, MaxConcurrentReconciles: 8, Nodes: r, ServerClock: r,
		})
	}
	if err != nil {
		return fmt.Errorf("set up the operator: %w", err)
	}
	go func() { o.stopped <- o.manager.Start(o.running) }()
	o.manager.GetCache().WaitForCacheSync(r.ctx)
	return context.Cause(r.ctx)
}

// stop stops the operator.
func (o *operator) stop() error {
	o.cancel()
	return <-o.stopped
}

// The faults of writes: one for each combination of two questions: Is the write executed? Does the operator restart? The API server
// executes the write only with crashAfter and lostResponse. With stale, the operator restarts and first reads an earlier state, as if its
// cache lagged behind.
const (
	crashBefore  = "crash-before"
	crashAfter   = "crash-after"
	lostResponse = "lost-response"
	internal500  = "500"
	stale        = "stale"
)

// write is a call by which the operator tries to change an object.
type write struct {
	// kind is the verb and the resource, such as "patch memcacheds/status", and name the object's name.
	kind, name string
	// nth counts the writes of the same kind in the same step of the scenario, from 1.
	nth, step int
}

// fault is a failure, which is injected once.
type fault struct {
	// what is the name of the fault, such as crashBefore.
	what string
	// at is the write that fails. For the fault stale, its kind is a resource, or everything.
	at write
}

// String returns a name such as "patch_deployments_0.1/500" (the first such write in step 0) or "pods/stale".
func (f *fault) String() string {
	if f.what == stale {
		return f.at.kind + "/" + stale
	}
	return fmt.Sprintf("%s_%d.%d/%s", strings.NewReplacer(" ", "_", "/", ".").Replace(f.at.kind), f.at.step, f.at.nth, f.what)
}

// wire is between one operator and the API server. It injects at most one fault. It outlives the operator's processes.
type wire struct {
	mutex sync.Mutex
	// fault is the fault that is still to be injected, or nil. writes are those since it was set.
	fault  *fault
	writes []write
	// injected receives nil when the fault has been injected, or after a crash the result of the restart. It has a buffer, because a test
	// may end without reading it.
	injected chan error
	// step is the present step of the scenario, in which nth starts at 1 again. So retries in one step do not change the numbers of the
	// writes in the next step.
	step atomic.Int32
	// restart ends the current process of the operator, and starts another one.
	restart func() error
	// before are the objects from before the user actions. A cache that lags still holds them: that of the resource in lagging, or all.
	before  objects
	lagging atomic.Value
}

// arm sets the fault, which may be nil, and starts the counts. It is called after the setup of the scenario.
func (w *wire) arm(f *fault, before objects) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.fault, w.writes, w.before = f, nil, before
}

func (w *wire) written() []write {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.writes)
}

// lags reports whether the cache of this resource lags behind.
func (w *wire) lags(resource string) bool {
	return w.lagging.Load() == resource || w.lagging.Load() == everything
}

// newClient returns the client of a process of the operator.
func (o *operator) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.NewWithWatch(config, options)
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: o.get, List: o.list,
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return o.write(ctx, "patch", "", object, func(ctx context.Context) error {
				return c.Patch(ctx, object, patch, opts...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return o.write(ctx, "delete", "", object, func(ctx context.Context) error {
				return c.Delete(ctx, object, opts...)
			})
		},
		SubResourceCreate: func(
			ctx context.Context, c client.Client, name string, object, body client.Object, opts ...client.SubResourceCreateOption,
		) error {
			return o.write(ctx, "create", name, object, func(ctx context.Context) error {
				return c.SubResource(name).Create(ctx, object, body, opts...)
			})
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			return o.write(ctx, "patch", name, object, func(ctx context.Context) error {
				return c.SubResource(name).Patch(ctx, object, patch, opts...)
			})
		},
	}), err
}

func (o *operator) get(
	ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
) error {
	resource := resourceOf(object)
	if resource == "memcacheds" { // only Reconcile reads it, first of all
		o.begun.Add(1)
	}
	if !o.wire.lags(resource) {
		return c.Get(ctx, key, object, opts...)
	}
	held := o.wire.before[resource+"/"+key.Name]
	if held == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, key.Name)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(held.DeepCopyObject()).Elem())
	return nil
}

// list lists pods. The operator lists nothing else from its cache.
func (o *operator) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	pods, ok := list.(*corev1.PodList)
	if !ok || !o.wire.lags("pods") {
		return c.List(ctx, list, opts...)
	}
	for _, object := range o.wire.before {
		if pod, ok := object.(*corev1.Pod); ok {
			pods.Items = append(pods.Items, *pod.DeepCopy())
		}
	}
	return nil
}

// errCut is what a process gets that has crashed.
var errCut = errors.New("the connection is cut")

// write sends a write of the operator. If the write matches the fault, the operator gets the fault's response, and the API server gets the
// write only with some faults.
func (o *operator) write(
	ctx context.Context, verb, subresource string, object client.Object, send func(context.Context) error,
) error {
	if o.running.Err() != nil {
		return errCut
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.running, cancel)()
	kind := verb + " " + resourceOf(object)
	if subresource != "" {
		kind += "/" + subresource
	}
	f := o.wire.record(kind, object.GetName())
	if f == nil || f.what == crashAfter || f.what == lostResponse {
		if err := send(ctx); f == nil {
			return err
		}
	}
	if f.what == crashBefore || f.what == crashAfter {
		o.cancel() // at once, so that the operator cannot send another write
		go func() { o.wire.injected <- o.wire.restart() }()
		return errCut
	}
	o.wire.injected <- nil
	if f.what == lostResponse {
		return io.ErrUnexpectedEOF
	}
	return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
}

// record appends a write. It returns the fault to inject, or nil.
func (w *wire) record(kind, name string) *fault {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	recorded := write{kind: kind, name: name, nth: 1, step: int(w.step.Load())}
	for _, earlier := range w.writes {
		if earlier.kind == kind && earlier.step == recorded.step {
			recorded.nth++
		}
	}
	w.writes = append(w.writes, recorded)
	f := w.fault
	if f == nil || f.at.kind != kind || f.at.nth != recorded.nth || f.at.step != recorded.step {
		return nil
	}
	w.fault = nil
	return f
}

// resourceOf returns the resource of an object, such as "deployments".
func resourceOf(object client.Object) string {
	for resource, other := range kinds {
		if reflect.TypeOf(other) == reflect.TypeOf(object) {
			return resource
		}
	}
	return ""
}
