// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
)

// Reconciler reconciles Memcached resources.
type Reconciler struct {
	*Base[*cachev1alpha1.Memcached]
	metrics   *metrics.Metrics
	agents    *agents
	states    states[instanceState]
	twinLocks twinLocks
}

var memcachedKind = Kind[*cachev1alpha1.Memcached]{
	Name:       "Memcached",
	New:        func() *cachev1alpha1.Memcached { return &cachev1alpha1.Memcached{} },
	NewList:    func() client.ObjectList { return &cachev1alpha1.MemcachedList{} },
	Children:   memcached.Children,
	IdentityOf: memcached.IdentityOf,
	Status:     func(mc *cachev1alpha1.Memcached) any { return mc.Status },
}

// NewReconciler returns a Reconciler that reads from the cache and writes with c, and reads from the API server with live.
func NewReconciler(
	c client.Client, live client.Reader, recorder events.EventRecorder, m *metrics.Metrics, clock clock.PassiveClock,
	options memcached.Options,
) *Reconciler {
	return &Reconciler{Base: NewBase(memcachedKind, c, live, recorder, clock, options), metrics: m, agents: newAgents()}
}
