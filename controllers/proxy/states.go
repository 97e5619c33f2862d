// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// state is what this process remembers of a MemcachedProxy.
type state struct {
	// verified is the UID of the MemcachedProxy of which the API server has confirmed the version that the cache had, or whose first
	// children this process has created.
	verified types.UID
	// transientSince is since when the API server has failed to decide about the children.
	transientSince time.Time
}

// states are those of all MemcachedProxies, by name. It is safe for concurrent use.
type states struct {
	mutex  sync.Mutex
	states map[types.NamespacedName]state
}

func (s *states) get(name types.NamespacedName) state {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.states[name]
}

func (s *states) update(name types.NamespacedName, change func(*state)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	changed := s.states[name]
	change(&changed)
	if s.states == nil {
		s.states = map[types.NamespacedName]state{}
	}
	s.states[name] = changed
}

func (s *states) forget(name types.NamespacedName) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.states, name)
}

// transientGracePeriod is for how long the API server may fail to decide before that is reported.
const transientGracePeriod = time.Minute

// isTransient reports whether the API server has failed to decide for a short time only, so that there is nothing to report.
func (r *Reconciler) isTransient(name types.NamespacedName, written memcached.Written) bool {
	since, now := r.states.get(name).transientSince, r.clock.Now()
	switch {
	case !written.Transient && !since.IsZero():
		r.states.update(name, func(s *state) { s.transientSince = time.Time{} })
	case written.Transient && since.IsZero():
		r.states.update(name, func(s *state) { s.transientSince = now })
		since = now
	}
	return written.Transient && now.Sub(since) < transientGracePeriod
}

func (r *Reconciler) verified(proxy *cachev1alpha1.MemcachedProxy) bool {
	return r.states.get(client.ObjectKeyFromObject(proxy)).verified == proxy.UID
}

func (r *Reconciler) setVerified(proxy *cachev1alpha1.MemcachedProxy) {
	r.states.update(client.ObjectKeyFromObject(proxy), func(s *state) { s.verified = proxy.UID })
}

// forget drops all that is remembered of a MemcachedProxy that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	gone := &cachev1alpha1.MemcachedProxy{}
	gone.Namespace, gone.Name = name.Namespace, name.Name
	r.applier.Forget(gone)
	for _, child := range memcachedproxy.Children {
		r.applier.Forget(child.Named(name))
	}
	r.states.forget(name)
}
