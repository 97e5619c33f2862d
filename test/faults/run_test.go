// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
)

// The names of the Memcached in each namespace, and of some of its children.
const (
	cacheName  = "cache"
	nodesName  = cacheName + "-nodes"
	proxyName  = cacheName + "-proxy"
	routesName = cacheName + "-routes"
)

// convergenceTimeout is how long a run of a scenario may take. It exceeds the operator's longest backoff.
const convergenceTimeout = 120 * time.Second

// requestTimeout is how long the operator's client waits for a response. Watches have no timeout.
const requestTimeout = 2 * time.Second

var defaults = memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"}

// operator simulates one process of the operator. It has real caches.
type operator struct {
	connection *connection
	registry   *prometheus.Registry
	manager    ctrl.Manager
	cancel     context.CancelFunc
	stopped    chan error
}

// startOperator starts an operator for this namespace, and waits until its caches are synced.
func startOperator(ctx context.Context, w *wire, namespace string) (*operator, error) {
	connection, through := w.connect()
	o := &operator{connection: connection, registry: prometheus.NewRegistry(), stopped: make(chan error, 1)}
	running, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	var err error
	o.manager, err = ctrl.NewManager(through, ctrl.Options{
		Scheme:     testenv.Scheme(),
		Cache:      controllers.CacheOptions(namespace),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			httpClient := *options.HTTPClient
			httpClient.Timeout = requestTimeout
			options.HTTPClient = &httpClient
			return client.New(config, options)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("create the operator: %w", err)
	}
	if err := controllers.SetupWithManager(running, o.manager, metrics.New(o.registry), controllers.Options{
		Memcached: defaults, MaxConcurrentReconciles: 8, Nodes: parents{}, ServerClock: clockOf(namespace),
	}); err != nil {
		return nil, fmt.Errorf("set up the operator: %w", err)
	}
	go func() { o.stopped <- o.manager.Start(running) }()
	if !o.manager.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.New("the caches of the operator did not sync")
	}
	return o, nil
}

// crash stops the operator. None of its requests reaches the API server afterwards.
func (o *operator) crash() error {
	o.connection.cut()
	o.cancel()
	select {
	case err := <-o.stopped:
		return err
	case <-time.After(30 * time.Second):
		return errors.New("the operator did not stop")
	}
}

// unchanged returns how many reconciliations have found nothing to do.
func (o *operator) unchanged() float64 {
	return sumCounters(o.registry, "memcached_operator_reconciles_total", "Unchanged")
}

// run is one run of a scenario: a namespace in which a user acts, with its own operator.
type run struct {
	*testing.T

	ctx       context.Context //nolint:containedctx // the run's own context
	cancel    context.CancelFunc
	namespace string
	wire      *wire
	// foreign are the objects of others, as the API server returned them when they were created.
	foreign []client.Object

	mutex    sync.Mutex
	operator *operator
	// restarted receives the result of each restart of the operator. It has a buffer, because a test may end without reading the
	// result.
	restarted chan error
}

var namespaces atomic.Int32

// newRun creates a namespace with objects of others, and starts an operator for it.
func newRun(t *testing.T) *run {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), convergenceTimeout, errors.New("it did not converge"))
	r := &run{
		T: t, ctx: ctx, cancel: cancel, namespace: fmt.Sprintf("run-%d", namespaces.Add(1)),
		wire: &wire{injected: make(chan struct{})}, restarted: make(chan error, 1),
	}
	r.must(user.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}))
	r.foreign = foreignObjects(r.namespace)
	for _, object := range r.foreign {
		r.must(user.Create(ctx, object))
	}
	r.wire.crash = r.restart
	var err error
	r.operator, err = startOperator(ctx, r.wire, r.namespace)
	r.must(err)
	return r
}

// end stops the operator, and deletes the objects of the scenario, because existing objects slow down later runs.
func (r *run) end() {
	defer r.cancel()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.operator.crash(); err != nil {
		r.Errorf("stop the operator: %v", err)
	}
	defer history.forget(r.namespace)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: cacheName}}
	for _, object := range append(r.foreign, mc) {
		if err := client.IgnoreNotFound(user.Delete(ctx, object)); err != nil {
			r.Errorf("clean up: %v", err)
		}
	}
}

func (r *run) restart() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	err := r.operator.crash()
	if err == nil {
		r.operator, err = startOperator(r.ctx, r.wire, r.namespace)
	}
	r.restarted <- err
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// await waits until the check finds nothing missing. The first argument describes the wait in the error.
func (r *run) await(what string, check check) {
	r.Helper()
	if err := history.await(r.ctx, r.namespace, check); err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

// awaitWrite waits until the history contains this version of the object, or a later one.
func (r *run) awaitWrite(object client.Object) {
	r.Helper()
	r.await("the write of the user", func(objects) string {
		return unless(slices.ContainsFunc(history.of(r.namespace), func(e entry) bool {
			return e.object.GetUID() == object.GetUID() && e.version >= versionOf(object)
		}), "it is not in the history")
	})
}

func (r *run) create(object client.Object) {
	r.Helper()
	object.SetNamespace(r.namespace)
	r.must(user.Create(r.ctx, object))
	r.awaitWrite(object)
}

// createCache creates the Memcached with this size, after applying the changes to its spec in order.
func (r *run) createCache(size int32, changes ...change) {
	r.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: cachev1alpha1.MemcachedSpec{Size: size}}
	for _, change := range changes {
		change(&mc.Spec)
	}
	r.create(mc)
}

func (r *run) read(object client.Object) {
	r.Helper()
	r.must(user.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: cmp.Or(object.GetName(), cacheName)}, object))
}

// remove deletes an object, which has the name of the Memcached if it has none.
func (r *run) remove(object client.Object) {
	r.Helper()
	r.read(object)
	uid := object.GetUID()
	r.must(user.Delete(r.ctx, object))
	r.await("the deletion by the user", func(now objects) string {
		for _, remaining := range now {
			if remaining.GetUID() == uid && remaining.GetDeletionTimestamp() == nil {
				return "it is not in the history"
			}
		}
		return ""
	})
}

// edit changes an object as a user would. It has the name of the Memcached if it has none.
func edit[T client.Object](r *run, object T, change func(T)) {
	r.Helper()
	r.read(object)
	before := object.DeepCopyObject().(client.Object)
	change(object)
	r.must(user.Patch(r.ctx, object, client.MergeFrom(before), client.FieldOwner("user")))
	r.awaitWrite(object)
}

// change is a change of a spec.
type change = func(*cachev1alpha1.MemcachedSpec)

func (r *run) changeSpec(changes ...change) {
	r.Helper()
	edit(r, &cachev1alpha1.Memcached{}, func(mc *cachev1alpha1.Memcached) {
		for _, change := range changes {
			change(&mc.Spec)
		}
	})
}

func (r *run) awaitReason(condition, reason string) {
	r.Helper()
	r.await(condition+" is "+reason, func(now objects) string {
		mc := now.cache()
		if mc == nil {
			return "there is no Memcached"
		}
		c := meta.FindStatusCondition(mc.Status.Conditions, condition)
		if c == nil || c.Reason != reason || mc.Status.ObservedGeneration != mc.Generation {
			return fmt.Sprintf("it is %+v", c)
		}
		return ""
	})
}

// note annotates the Service of the nodes, which triggers a reconciliation that has nothing to do.
func (r *run) note() {
	r.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: nodesName}}
	edit(r, service, func(service *corev1.Service) {
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, noteAnnotation, service.ResourceVersion)
	})
}
