// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conflictInterval is the time between two checks whether a conflict still exists.
const conflictInterval = 10 * time.Second

// conflicts remember, for each desired object that is missing from the cache, another owner's object with its name, and when it was found.
type conflicts struct {
	history[conflict]

	clock clock.PassiveClock
}

type conflict struct {
	found ConflictError
	at    time.Time
}

// known returns the remembered conflict of a desired object with the time until the next check, or nil.
func (c *conflicts) known(desired client.Object) *ConflictError {
	known, ok := c.get(desired)
	if !ok {
		return nil
	}
	known.found.RetryAfter = max(conflictInterval-c.clock.Since(known.at), 0)
	return &known.found
}

// found remembers a conflict, and returns it with the time until the next check.
func (c *conflicts) found(desired client.Object, found *ConflictError) *ConflictError {
	c.set(desired, conflict{*found, c.clock.Now()})
	return c.known(desired)
}
