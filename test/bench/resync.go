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
	// resyncs is how many resyncs are measured.
	resyncs = 2
)

// resync counts the operator's requests during resyncs. In a resync, the operator's caches deliver all n Memcacheds and their children
// again. Usually, a resync happens every ten hours, and no flag of the operator changes this period. So the controller runs in the
// benchmark's process. Before the first resync, the controller reconciles every Memcached once.
func (b *bench) resync(ctx context.Context, t *testbed, n int) {
	options := controllers.CacheOptions("")
	options.SyncPeriod = ptr.To(b.options.resync)
	mgr := must(ctrl.NewManager(must(t.clientConfig(resyncUser)), ctrl.Options{
		Scheme: t.k8s.Scheme(), Cache: options, Metrics: metricsserver.Options{BindAddress: "0"},
	}))
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	check(controllers.SetupWithManager(running, mgr, metrics.New(prometheus.NewRegistry()), controllers.Options{
		Memcached: memcached.Options{DefaultImage: must(operator.DefaultImage())}, MaxConcurrentReconciles: rawWorkers,
	}))
	since := must(t.log.mark())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(running) }()
	err := awaitResyncs(running, n, b.options.resync)
	cancel()
	check(errors.Join(err, <-stopped))
	b.holdNothing(must(t.log.since(since, resyncUser)), fmt.Sprintf("%d resyncs of %d resources", resyncs, n))
}

// awaitResyncs waits until each of n Memcacheds has been reconciled once at the start, and once in each resync.
func awaitResyncs(ctx context.Context, n int, period time.Duration) error {
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
	deadline := startDeadline + resyncs*2*period
	if err := wait.PollUntilContextTimeout(ctx, time.Second, deadline, true, done); err != nil {
		return fmt.Errorf("waiting for resyncs: %w", err)
	}
	return nil
}
