// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	// contestedCorrections is how many corrections within contestWindow make a field contested. It stops being contested if it is not
	// corrected for contestWindow. Until then, contestInterval is the shortest time between two corrections of the object.
	contestedCorrections = 3
	contestWindow        = 2 * time.Minute
	contestInterval      = 30 * time.Second
)

// contest is what this process remembers about other writers of an object.
type contest struct {
	uid types.UID
	// hash is the hash of the last rendering that was accepted in full. The rendering was a whole object, or only its size. sized reports that
	// the last write was only the size. If a whole correction is refused, and only its size is written, sized stays false, because the whole
	// rendering was accepted earlier.
	hash  string
	sized bool
	// corrections are the times of each field's last corrections, at most contestedCorrections of them.
	corrections map[string][]time.Time
	// contested is the field that was last found to be contested, manager is its writer, and seen is the time.
	contested, manager string
	seen               time.Time
	// last is the time of the last correction of any field.
	last time.Time
}

type contests struct {
	history[contest]

	clock clock.PassiveClock
}

// of returns what is remembered about an object. It returns nothing about an earlier object of the same name.
func (c *contests) of(live client.Object) contest {
	known, ok := c.get(live)
	if !ok || known.uid != live.GetUID() {
		return contest{uid: live.GetUID()}
	}
	return known
}

// drifted reports whether the operator's last write was this rendering, so that all differences are from others. The argument applied says
// that the object's annotation has the rendering's hash. That proves nothing if a later write was only of the size.
func (c *contests) drifted(live client.Object, rendered rendering, applied bool) bool {
	known := c.of(live)
	return applied && !known.sized || known.hash == rendered.hash && known.sized == rendered.sizeOnly
}

// agrees treats a whole rendering as the last write, because the object already equals it. Without this, sized would stay true after a
// write of only the size, if a later write of only the size restored the former size.
func (c *contests) agrees(live client.Object, rendered rendering) {
	if known := c.of(live); known.sized && !rendered.sizeOnly {
		known.hash, known.sized = rendered.hash, false
		c.set(live, known)
	}
}

// contested returns an error if a field of the object is contested, else nil. Wait is the time until the next correction may be made.
// If it is 0 or less, the correction may be made at once.
func (c *contests) contested(desired, live client.Object) (_ *ContestedError, wait time.Duration) {
	known := c.of(live)
	since := c.clock.Since(known.seen)
	if since >= contestWindow {
		return nil, 0
	}
	return &ContestedError{
		Kind: desired.GetObjectKind().GroupVersionKind().Kind, Name: live.GetName(),
		Field: known.contested, Manager: known.manager, RetryAfter: contestWindow - since,
	}, contestInterval - c.clock.Since(known.last)
}

// corrects returns the object's contest after a correction of these fields. One of the fields may have become contested.
func (c *contests) corrects(live client.Object, fields []fieldpath.Path, managed managedFields) contest {
	known, now := c.of(live), c.clock.Now()
	corrections := maps.Clone(known.corrections)
	maps.DeleteFunc(corrections, func(_ string, times []time.Time) bool { return now.Sub(times[len(times)-1]) >= contestWindow })
	if corrections == nil {
		corrections = map[string][]time.Time{}
	}
	known.corrections, known.last = corrections, now
	for _, path := range fields {
		field := nameOf(path)
		times := append(slices.Clone(corrections[field]), now)
		times = times[max(0, len(times)-contestedCorrections):]
		corrections[field] = times
		if len(times) == contestedCorrections && now.Sub(times[0]) < contestWindow && !known.seen.Equal(now) { // the first of several
			known.contested, known.manager, known.seen = field, managed.managerOf(path), now
		}
	}
	return known
}
