// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
		Memcached: defaults, MaxConcurrentReconciles: 8, Nodes: allLaunchers, ServerClock: clockOf(namespace),
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
