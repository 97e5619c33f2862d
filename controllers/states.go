// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// States are what this process remembers of all resources of a Kind, by name. It is safe for concurrent use.
type States[T any] struct {
	mutex  sync.Mutex
	states map[types.NamespacedName]T
}

// Get returns what is remembered of a resource.
func (s *States[T]) Get(name types.NamespacedName) T {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.states[name]
}

// Update changes what is remembered.
func (s *States[T]) Update(name types.NamespacedName, change func(*T)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	changed := s.states[name]
	change(&changed)
	if s.states == nil {
		s.states = map[types.NamespacedName]T{}
	}
	s.states[name] = changed
}

// Forget drops what is remembered of a resource that is gone.
func (s *States[T]) Forget(name types.NamespacedName) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.states, name)
}

// transientGracePeriod is for how long the API server may fail to decide before that is reported. A webhook may fail for ever, and
// everything else that there is to report must not wait for it.
const transientGracePeriod = time.Minute

// Transience is since when the API server has failed to decide about the children of a resource.
type Transience struct{ since time.Time }

// Note remembers whether the API server has failed to decide, and reports whether it has for a short time only, so that there is nothing
// to report.
func (t *Transience) Note(failed bool, now time.Time) bool {
	switch {
	case !failed:
		t.since = time.Time{}
	case t.since.IsZero():
		t.since = now
	}
	return failed && now.Sub(t.since) < transientGracePeriod
}
