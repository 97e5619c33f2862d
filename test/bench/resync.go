// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/operator"
)

const (
	resyncUser = "operator-resync"
	// resyncPeriod is how often the caches deliver everything again, which in the operator is every ten hours. Before the
	// first resync, the operator has reconciled everything once.
	resyncPeriod = time.Minute
	// resyncs is the number of resyncs that are measured.
	resyncs = 2
)

// resync counts the requests of the operator when its caches deliver all n Memcacheds and their children again. The operator
// has no flag for the period, so its controller runs in the process of the benchmark.
func (b *bench) resync(ctx context.Context, t *testbed, n int) error {
	config, err := t.clientConfig(resyncUser)
	if err != nil {
		return err
	}
	image, err := operator.DefaultImage()
	if err != nil {
		return err
	}
	options := controllers.CacheOptions("")
	options.SyncPeriod = ptr.To(resyncPeriod)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: t.k8s.Scheme(), Cache: options, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	err = controllers.SetupWithManager(running, mgr, metrics.New(prometheus.NewRegistry()), controllers.Options{
		Memcached: memcached.Options{DefaultImage: image}, MaxConcurrentReconciles: rawWorkers,
	})
	if err != nil {
		return err
	}
	since, err := t.log.mark()
	if err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(running) }()
	err = awaitResyncs(running, n)
	cancel()
	if err := errors.Join(err, <-stopped); err != nil {
		return err
	}
	requests, err := t.log.since(since, resyncUser)
	if err != nil {
		return err
	}
	b.holdNothing(requests, fmt.Sprintf("%d resyncs of %d resources", resyncs, n))
	return nil
}

// awaitResyncs waits until each of n Memcacheds has been reconciled at the start and in each resync.
func awaitResyncs(ctx context.Context, n int) error {
	done := func(context.Context) (bool, error) {
		gathered, err := ctrlmetrics.Registry.Gather()
		if err != nil {
			return false, err
		}
		f := families{}
		for _, family := range gathered {
			f[family.GetName()] = family
		}
		return f.reconciles() >= float64(n*(1+resyncs)), nil
	}
	deadline := startDeadline + resyncs*2*resyncPeriod
	if err := wait.PollUntilContextTimeout(ctx, time.Second, deadline, true, done); err != nil {
		return fmt.Errorf("waiting for resyncs: %w", err)
	}
	return nil
}
