// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/apply/field"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// Reconciler reconciles MemcachedProxy resources.
type Reconciler struct {
	client    client.Client
	live      client.Reader
	mutations *apply.MutationCache
	applier   *apply.Applier
	recorder  events.EventRecorder
	// clock measures how much time has passed, serverClock is that of the times in objects.
	clock, serverClock clock.PassiveClock
	options            memcached.Options
	states             states
}

// NewReconciler returns a Reconciler that reads from the cache of c, reads past it with live, and writes with c.
func NewReconciler(
	c client.Client, live client.Reader, recorder events.EventRecorder, clock, serverClock clock.PassiveClock, options memcached.Options,
) *Reconciler {
	mutations, rules := apply.NewMutationCache(clock), map[schema.GroupVersionKind]field.Rules{}
	for _, child := range memcachedproxy.Children {
		rules[child.Kind] = child.Fields
	}
	return &Reconciler{
		client: c, live: live, mutations: mutations, recorder: recorder, clock: clock, serverClock: serverClock, options: options,
		applier: apply.New(c, live, mutations, clock, apply.Options{
			FieldOwner:     memcached.ManagedBy,
			HashAnnotation: memcached.AppliedHashAnnotation,
			Identity:       func(owner client.Object) map[string]string { return memcachedproxy.IdentityOf(owner.GetName()) },
			Rules:          rules,
		}),
	}
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcachedproxies,verbs=list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcachedproxies/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcachedproxies/finalizers,verbs=update

// Reconcile makes the objects of a MemcachedProxy be as its spec says, and its status say how that went.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	proxy, err := r.get(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if proxy == nil {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	view, err := r.observe(ctx, proxy)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := memcachedproxy.For(view, r.options)
	written := r.write(ctx, view, plan)
	if r.isTransient(request.NamespacedName, written) {
		return reconcile.Result{}, written.Err
	}
	if err := r.report(ctx, proxy, memcachedproxy.StatusFor(view, plan, written)); err != nil {
		return reconcile.Result{}, err // alone: beside a terminal error it would not be retried
	}
	return requeue(view, plan, written)
}

// recheckInterval is when the operator looks again without an event: at an object in the way that it does not watch, and at a
// creation that the cache should have received by then.
const recheckInterval = apply.CreationGrace

// requeue is what Reconcile returns. No event comes when an announced number of nodes holds.
func requeue(view memcachedproxy.View, plan memcachedproxy.Plan, written memcached.Written) (reconcile.Result, error) {
	waits := []time.Duration{written.RetryAfter, plan.Next}
	if view.PendingCreate || written.Created || written.Waiting != "" {
		waits = append(waits, recheckInterval)
	}
	var wait time.Duration
	for _, other := range waits {
		if wait == 0 || other != 0 && other < wait {
			wait = other
		}
	}
	if wait > 0 && (written.Err == nil || errors.Is(written.Err, reconcile.TerminalError(nil))) {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return reconcile.Result{}, written.Err
}
