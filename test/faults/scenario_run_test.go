// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// scenarioRun is one run of a scenario. It has its own namespace and its own operator.
type scenarioRun struct {
	*sandbox

	cancel context.CancelFunc
	proxy  *proxy
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
	r := &scenarioRun{sandbox: newSandbox(ctx, t), cancel: cancel, restarted: make(chan error, 1)}
	r.foreign = foreignObjects(r.namespace)
	for _, object := range r.foreign {
		r.must(user.Create(ctx, object))
	}
	r.proxy, r.operator = startProxiedOperator(ctx, t, r.namespace)
	r.proxy.crash = r.restart
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
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: cacheName}}
	front := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: frontName}}
	twin := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: twinName}}
	for _, object := range append(r.foreign, mc, twin, front) {
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
		var next *operator
		if next, err = startOperator(r.ctx, r.proxy, r.namespace); err == nil {
			r.operator = next
		}
	}
	r.restarted <- err
}
