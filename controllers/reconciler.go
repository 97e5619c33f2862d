// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
)

// Reconciler reconciles Memcached resources.
type Reconciler struct {
	client    client.Client
	live      client.Reader
	mutations *apply.MutationCache
	applier   *apply.Applier
	nodes     Nodes
	recorder  events.EventRecorder
	metrics   *metrics.Metrics
	// clock measures how much time has passed, serverClock is that of the times in objects.
	clock       clock.PassiveClock
	serverClock clock.PassiveClock
	options     memcached.Options
	agents      *agents
	states      States[instanceState]
	twinLocks   twinLocks
}

// NewReconciler returns a Reconciler that reads from the cache of c, reads past it with live, and writes with c.
func NewReconciler(
	c client.Client, live client.Reader, recorder events.EventRecorder, m *metrics.Metrics, clock clock.PassiveClock,
	options memcached.Options,
) *Reconciler {
	mutations := apply.NewMutationCache(clock)
	return &Reconciler{
		client:    c,
		live:      live,
		mutations: mutations,
		applier: apply.New(c, live, mutations, clock, apply.Options{
			FieldOwner:     fieldOwner,
			HashAnnotation: memcached.AppliedHashAnnotation,
			Identity:       identity,
			Rules:          memcached.FieldRules(memcached.Children),
		}),
		recorder: recorder,
		metrics:  m,
		clock:    clock,
		options:  options,

		serverClock: clock,
		nodes:       DirectNodes{Client: ask.New()},
		agents:      newAgents(),
	}
}

// UseNodes sets how nodes are asked.
func (r *Reconciler) UseNodes(nodes Nodes) { r.nodes = nodes }

// UseServerClock sets the clock for comparisons with times in objects. Without it, the local clock is used.
func (r *Reconciler) UseServerClock(clock clock.PassiveClock) { r.serverClock = clock }

// fieldOwner is also the name under which the operator reports events.
const fieldOwner = "memcached-operator"

// identity returns the labels by which the children of a Memcached are recognized. Children of a MemcachedProxy have another name
// label.
func identity(mc client.Object) map[string]string {
	return memcached.IdentityOf(mc.GetName())
}
