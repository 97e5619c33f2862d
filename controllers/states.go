// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/memcached"
)

// states maps the names of resources to what this process remembers of them. It is safe for concurrent use.
type states[T any] struct {
	mutex  sync.Mutex
	states map[types.NamespacedName]T
}

func (s *states[T]) get(name types.NamespacedName) T {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.states[name]
}

func (s *states[T]) update(name types.NamespacedName, change func(*T)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	changed := s.states[name]
	change(&changed)
	if s.states == nil {
		s.states = map[types.NamespacedName]T{}
	}
	s.states[name] = changed
}

func (s *states[T]) forget(name types.NamespacedName) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.states, name)
}

// known is what this process remembers of its writes of the status.
type known struct {
	// written is the resource version of the last status that this process has written, at the time writtenAt.
	written   string
	writtenAt time.Time
	// undecidedSince is when reconciles began to fail transiently, zero if the last one did not.
	undecidedSince time.Time
}

// transientGracePeriod is how long transient failures stay out of the status. After that, the status is written, because such failures
// may go on for long.
const transientGracePeriod = time.Minute

// IsTransient reports whether reconciles have failed transiently, but for so short a time that the status should not report it yet.
func (r *Reconciler) IsTransient(name types.NamespacedName, written memcached.Written) (transient bool) {
	now := r.Clock.Now()
	r.known.update(name, func(k *known) {
		switch {
		case !written.Transient:
			k.undecidedSince = time.Time{}
		case k.undecidedSince.IsZero():
			k.undecidedSince = now
		}
		transient = written.Transient && now.Sub(k.undecidedSince) < transientGracePeriod
	})
	return transient
}

// instanceState is what this process remembers of a Memcached.
type instanceState struct {
	// answers holds the answers of parents that need not be asked again during a rollout.
	answers memcached.Answers
	// filled holds the UIDs of pods that have all items of their number, as their parents have reported.
	filled map[types.UID]bool
	// absent is since when pods are missing, by their names.
	absent map[string]time.Time
	// refusal is what the events of the StatefulSet that lacks pods said at refusalReadAt.
	refusal       string
	refusalReadAt time.Time
	// corrections limits the events about corrections.
	corrections *rate.Limiter
}
