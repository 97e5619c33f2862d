// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/internal/testenv"
)

// patience is how long the operator waits for the answer to a write.
const patience = 2 * time.Second

var defaults = memcached.Options{DefaultImage: "memcached:1.6.45"}

// operator is one process of the operator, with its real caches, behind the proxy.
type operator struct {
	listener *listener
	registry *prometheus.Registry
	manager  ctrl.Manager
	cancel   context.CancelFunc
	stopped  chan error
}

// startOperator starts a process and waits until its caches are filled.
func startOperator(ctx context.Context, p *proxy, namespaces string, changes ...func(*ctrl.Options)) (*operator, error) {
	o := &operator{listener: p.listen(), registry: prometheus.NewRegistry(), stopped: make(chan error, 1)}
	running, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	behindProxy := &rest.Config{Host: o.listener.server.URL, QPS: -1}
	behindProxy.ContentType = "application/json" // the proxy reads it
	options := ctrl.Options{
		Scheme:     testenv.Scheme(),
		Cache:      controllers.CacheOptions(namespaces),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			return newImpatientClient(config, options)
		},
	}
	for _, change := range changes {
		change(&options)
	}
	var err error
	o.manager, err = ctrl.NewManager(behindProxy, options)
	if err != nil {
		return nil, fmt.Errorf("create the operator: %w", err)
	}
	err = controllers.SetupWithManager(running, o.manager, metrics.New(o.registry),
		controllers.Options{Memcached: defaults, MaxConcurrentReconciles: 8})
	if err != nil {
		return nil, fmt.Errorf("set up the operator: %w", err)
	}
	go func() { o.stopped <- o.manager.Start(running) }()
	if !o.manager.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.New("the caches of the operator were not filled")
	}
	return o, nil
}

// newImpatientClient gives an answer up after a while.
func newImpatientClient(config *rest.Config, options client.Options) (client.WithWatch, error) {
	impatient := *options.HTTPClient
	impatient.Timeout = patience
	options.HTTPClient = &impatient
	return client.NewWithWatch(config, options)
}

// crash ends the process: none of its requests passes any more.
func (o *operator) crash() error {
	o.listener.close()
	o.cancel()
	select {
	case err := <-o.stopped:
		return err
	case <-time.After(30 * time.Second):
		return errors.New("the operator does not stop")
	}
}

// reconciles is how many reconciliations had the outcome.
func (o *operator) reconciles(outcome string) float64 {
	families, err := o.registry.Gather()
	if err != nil {
		return 0
	}
	for _, family := range families {
		if family.GetName() != "memcached_operator_reconciles_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == outcome {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}
