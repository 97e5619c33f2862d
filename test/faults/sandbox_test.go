// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	proxies "github.com/example/memcached-operator/controllers/proxy"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
)

// cacheName is the name of the Memcached in each test. A second Memcached is called twinName.
const cacheName = "cache"

// convergenceTimeout is how long a test or a run of a scenario may take. It exceeds the operator's longest backoff. The environment
// variable FAULTS_LIMIT overrides it.
const convergenceTimeout = 120 * time.Second

var namespaces atomic.Int32

// sandbox is a namespace in which a test acts as a user.
type sandbox struct {
	*testing.T

	ctx       context.Context //nolint:containedctx // the test's own context
	namespace string
}

func newSandbox(ctx context.Context, t *testing.T) *sandbox {
	t.Helper()
	s := &sandbox{T: t, ctx: ctx, namespace: fmt.Sprintf("sandbox-%d", namespaces.Add(1))}
	s.must(user.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
	return s
}

func limited(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	timeout := convergenceTimeout
	if override, err := time.ParseDuration(os.Getenv("FAULTS_LIMIT")); err == nil {
		timeout = override
	}
	return context.WithTimeoutCause(t.Context(), timeout, errors.New("it did not converge"))
}

func (s *sandbox) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// await waits until the check finds nothing missing. A check returns what is missing, or an empty string. The first argument describes
// the wait in the error.
func (s *sandbox) await(what string, check func(objects) string) {
	s.Helper()
	if err := history.await(s.ctx, s.namespace, check); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// awaitWrite waits until the history contains this version of the object, or a later one. It compares types, because objects of
// several kinds have the same name.
func (s *sandbox) awaitWrite(object client.Object) {
	s.Helper()
	s.await("the write of the user", func(objects) string {
		for _, e := range history.of(s.namespace) {
			same := reflect.TypeOf(e.object) == reflect.TypeOf(object) && e.object.GetName() == object.GetName()
			if same && e.version >= versionOf(object) {
				return ""
			}
		}
		return "it is not in the history"
	})
}

func (s *sandbox) create(object client.Object) {
	s.Helper()
	object.SetNamespace(s.namespace)
	s.must(user.Create(s.ctx, object))
	s.awaitWrite(object)
}

// createCache creates the Memcached "cache" with this size, after applying the changes to its spec in order.
func (s *sandbox) createCache(size int32, changes ...func(*cachev1alpha1.MemcachedSpec)) {
	s.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, change := range changes {
		change(&mc.Spec)
	}
	s.create(mc)
}

// remove deletes an object. An object without a name stands for the Memcached "cache", or for its child of this Kind.
func (s *sandbox) remove(object client.Object) {
	s.Helper()
	s.read(object)
	uid := object.GetUID()
	s.must(user.Delete(s.ctx, object))
	s.await("the deletion by the user", func(now objects) string {
		for _, remaining := range now {
			if remaining.GetUID() == uid && remaining.GetDeletionTimestamp() == nil {
				return "it is not in the history"
			}
		}
		return ""
	})
}

// removeAll deletes the Memcached "cache", and waits until its children and pods are gone. It does nothing after the context has
// ended.
func (s *sandbox) removeAll() {
	if s.ctx.Err() == nil {
		s.remove(&cachev1alpha1.Memcached{})
		s.await("clean up", hasNone)
	}
}

func (s *sandbox) read(object client.Object) {
	s.Helper()
	name := client.ObjectKey{Namespace: s.namespace, Name: cmp.Or(object.GetName(), cacheName)}
	if child, ok := memcached.ChildOf(object); ok && object.GetName() == "" {
		name = client.ObjectKeyFromObject(child.Named(name))
	}
	s.must(user.Get(s.ctx, name, object))
}

// change edits an object as a user would. An object without a name stands for the Memcached "cache", or for its child of this Kind.
func change[T client.Object](s *sandbox, object T, edit func(T)) {
	s.Helper()
	s.read(object)
	before := object.DeepCopyObject().(client.Object)
	edit(object)
	s.must(user.Patch(s.ctx, object, client.MergeFrom(before), client.FieldOwner("user")))
	s.awaitWrite(object)
}

func (s *sandbox) changeSpec(edit func(*cachev1alpha1.MemcachedSpec)) {
	s.Helper()
	change(s, &cachev1alpha1.Memcached{}, func(mc *cachev1alpha1.Memcached) { edit(&mc.Spec) })
}

func (s *sandbox) awaitReason(condition, reason string) {
	s.Helper()
	s.await(condition+" is "+reason, func(now objects) string {
		mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
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
	// fronts counts the reconciliations of the MemcachedProxy that have begun.
	fronts atomic.Int32
}

// startOperator starts an operator for this namespace, or for all, and waits until its caches are synced.
func startOperator(ctx context.Context, w *wire, namespace string) (*operator, error) {
	connection, through := w.connect()
	o := &operator{connection: connection, registry: prometheus.NewRegistry(), stopped: make(chan error, 1)}
	running, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	options := ctrl.Options{
		Scheme:     testenv.Scheme(),
		Cache:      controllers.CacheOptions(namespace),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			httpClient := *options.HTTPClient
			httpClient.Timeout = requestTimeout
			options.HTTPClient = &httpClient
			c, err := client.NewWithWatch(config, options)
			return interceptor.NewClient(c, interceptor.Funcs{Get: o.countFronts}), err
		},
	}
	var err error
	o.manager, err = ctrl.NewManager(through, options)
	if err != nil {
		return nil, fmt.Errorf("create the operator: %w", err)
	}
	controller := controllers.Options{
		Memcached: defaults, MaxConcurrentReconciles: 8, Nodes: allParents, ServerClock: clockOf(namespace),
	}
	err = errors.Join(controllers.SetupWithManager(running, o.manager, metrics.New(o.registry), controller),
		proxies.SetupWithManager(o.manager, controller))
	if err != nil {
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

// countFronts gets an object, and counts the gets of the MemcachedProxy. Each reconciliation of the MemcachedProxy begins with a get.
func (o *operator) countFronts(
	ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
) error {
	if _, ok := object.(*cachev1alpha1.MemcachedProxy); ok && key.Name == frontName {
		o.fronts.Add(1)
	}
	return c.Get(ctx, key, object, opts...)
}

func (o *operator) reconciles(outcome string) float64 {
	return sumCounters(o.registry, "memcached_operator_reconciles_total", outcome)
}

// scenarioRun is one run of a scenario. It has its own namespace and its own operator.
type scenarioRun struct {
	*sandbox

	cancel context.CancelFunc
	wire   *wire
	// foreign are the objects of others, as the API server returned them when they were created.
	foreign []client.Object

	mutex    sync.Mutex
	operator *operator
	// restarted receives the result of each restart of the operator. It has a buffer, because a test may end without reading the
	// result.
	restarted chan error
}

// newScenarioRun creates a namespace with objects of others, and starts an operator for it.
func newScenarioRun(t *testing.T) *scenarioRun {
	t.Helper()
	ctx, cancel := limited(t)
	r := &scenarioRun{sandbox: newSandbox(ctx, t), cancel: cancel, wire: newWire(), restarted: make(chan error, 1)}
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
func (r *scenarioRun) end() {
	defer r.cancel()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.operator.crash(); err != nil {
		r.Errorf("stop the operator: %v", err)
	}
	defer history.forget(r.namespace)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	mc, twin := &cachev1alpha1.Memcached{}, &cachev1alpha1.Memcached{}
	mc.Name, twin.Name = cacheName, twinName
	for _, object := range append(r.foreign, mc, twin, front()) {
		object.SetNamespace(r.namespace)
		if err := client.IgnoreNotFound(user.Delete(ctx, object)); err != nil {
			r.Errorf("clean up: %v", err)
		}
	}
}

func (r *scenarioRun) restart() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	err := r.operator.crash()
	if err == nil {
		r.operator, err = startOperator(r.ctx, r.wire, r.namespace)
	}
	r.restarted <- err
}
