// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
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

// operator simulates one process of the operator. It has real caches, and connects to the API server through the proxy.
type operator struct {
	listener *listener
	registry *prometheus.Registry
	manager  ctrl.Manager
	cancel   context.CancelFunc
	stopped  chan error
	// fronts counts the reconciliations of the MemcachedProxy that have begun.
	fronts atomic.Int32
}

// startOperator starts an operator for this namespace, or for all, and waits until its caches are synced.
func startOperator(ctx context.Context, p *proxy, namespace string) (*operator, error) {
	o := &operator{listener: p.listen(), registry: prometheus.NewRegistry(), stopped: make(chan error, 1)}
	running, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	behindProxy := &rest.Config{Host: o.listener.server.URL, QPS: -1}
	behindProxy.ContentType = "application/json" // the proxy parses JSON only
	options := ctrl.Options{
		Scheme:     testenv.Scheme(),
		Cache:      controllers.CacheOptions(namespace),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := newClientWithTimeout(config, options)
			return interceptor.NewClient(c, interceptor.Funcs{Get: o.countFronts}), err
		},
	}
	var err error
	o.manager, err = ctrl.NewManager(behindProxy, options)
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

func startProxiedOperator(ctx context.Context, t *testing.T, namespace string) (*proxy, *operator) {
	t.Helper()
	p, err := newProxy()
	if err != nil {
		t.Fatal(err)
	}
	o, err := startOperator(ctx, p, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return p, o
}

func newClientWithTimeout(config *rest.Config, options client.Options) (client.WithWatch, error) {
	httpClient := *options.HTTPClient
	httpClient.Timeout = requestTimeout
	options.HTTPClient = &httpClient
	return client.NewWithWatch(config, options)
}

// crash stops the operator. None of its requests reaches the API server afterwards.
func (o *operator) crash() error {
	o.listener.close()
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
