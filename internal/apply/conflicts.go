// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Bounds of the interval between two checks whether a conflict still exists. The interval doubles after each check.
const (
	firstConflictInterval = 5 * time.Second
	lastConflictInterval  = 55 * time.Second
)

// conflict is another owner's object that has the name of a desired object and is missing from the cache.
type conflict struct {
	found    ConflictError
	interval time.Duration
	at       time.Time
}

type conflicts struct {
	history[conflict]

	clock clock.PassiveClock
}

// known returns the remembered conflict of a desired object with the time until the next check, or nil.
func (c *conflicts) known(desired client.Object) *ConflictError {
	known, ok := c.get(desired)
	if !ok {
		return nil
	}
	found := known.found
	found.RetryAfter = max(known.interval-c.clock.Since(known.at), 0)
	return &found
}

// found remembers a conflict, and returns it with the time until the next check.
func (c *conflicts) found(desired client.Object, found *ConflictError) *ConflictError {
	interval := firstConflictInterval
	if known, ok := c.get(desired); ok {
		interval = min(2*known.interval, lastConflictInterval)
	}
	c.set(desired, conflict{found: *found, interval: interval, at: c.clock.Now()})
	result := *found
	result.RetryAfter = interval
	return &result
}
