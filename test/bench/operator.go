// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/example/memcached-operator/test/operator"
)

// startDeadline limits the time until the operator has started and its caches are synced.
const startDeadline = 5 * time.Minute

// replica is a process of the operator that has its own user name.
type replica struct {
	*operator.Operator

	user    string
	metrics *metricsClient
	// stopping means that the benchmark ends the operator, so its exit is no failure.
	stopping atomic.Bool
}

// newOperator starts the operator with the flags of config/manager, but with its own addresses, and with additional environment
// variables. It does not wait until the operator is ready. The operator ends with the testbed.
func (t *testbed) newOperator(ctx context.Context, environment ...string) *replica {
	o := &replica{user: fmt.Sprintf("operator-%d", len(t.operators)+1)}
	kubeconfig := must(t.cluster.KubeconfigFile(o.user, measured, serviceAccounts))
	endpoint := must(operator.FreeAddress())
	o.metrics = must(t.newMetricsClient(ctx, "https://"+endpoint+"/metrics"))
	o.Operator = must(operator.Start(t.cluster, kubeconfig, o.user,
		[]string{"--leader-election-namespace=" + operator.Namespace, "--metrics-bind-address=" + endpoint}, environment))
	t.operators = append(t.operators, o)
	go func() {
		if err := o.Err(); !o.stopping.Load() {
			select {
			case t.exited <- err:
			default:
			}
		}
	}()
	return o
}

// startOperator starts the operator, and waits until it is ready and its caches are synced.
func (t *testbed) startOperator(ctx context.Context, environment ...string) *replica {
	o := t.newOperator(ctx, environment...)
	check(o.UntilReady(ctx, startDeadline))
	return o
}

// startOperatorFor creates the namespaces of n Memcacheds, starts a counter of Ready Memcacheds, and starts the operator.
func (t *testbed) startOperatorFor(ctx context.Context, n int) (*replica, *counter) {
	t.createNamespaces(ctx, n, true)
	ready := t.countObjects(ctx, memcachedList(), isReady)
	return t.startOperator(ctx), ready
}

// stop ends the operator like the kubelet ends a container.
func (o *replica) stop() error {
	o.stopping.Store(true)
	return o.Stop()
}

func (o *replica) signal(signal syscall.Signal) error {
	o.stopping.Store(true)
	return syscall.Kill(o.Pid(), signal)
}

// memoryLimit returns the operator's memory limit in the manifest, in MiB.
func memoryLimit() (float64, error) {
	manager, err := operator.Container()
	if err != nil {
		return 0, err
	}
	limit := manager.Resources.Limits.Memory()
	if limit.IsZero() {
		return 0, fmt.Errorf("%s has no memory limit", operator.ManagerFile)
	}
	return limit.AsApproximateFloat64() / mebibyte, nil
}
