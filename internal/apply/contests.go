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

// contestedCorrections is how many corrections within a pace's window make a field contested.
const contestedCorrections = 3

// pace is a rate at which another writer changes a field.
type pace struct {
	// window is the period in which corrections are counted. A field stops being contested if it is not corrected for this long.
	window time.Duration
	// interval is the shortest time between two corrections of the object, 0 for no limit.
	interval time.Duration
}

// paces are the rates that count as a contest, the fastest first. The operator delays its corrections only against the fastest.
var paces = []pace{{2 * time.Minute, 30 * time.Second}, {30 * time.Minute, 0}}

// paceOf returns the fastest pace that the times of a field's corrections reach, or nil if the field is not contested.
func paceOf(corrections []time.Time) *pace {
	if len(corrections) < contestedCorrections {
		return nil
	}
	took := corrections[len(corrections)-1].Sub(corrections[0])
	for i := range paces {
		if took < paces[i].window {
			return &paces[i]
		}
	}
	return nil
}

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
	// contested is the contested field, or empty. manager is the field's writer, pace is the writer's rate, and seen is when the field was
	// last corrected. Corrections of other fields do not change these values, unless one of those fields reaches a faster pace.
	contested, manager string
	pace               pace
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
	if known.contested == "" || since >= known.pace.window {
		return nil, 0
	}
	return &ContestedError{
		Kind: desired.GetObjectKind().GroupVersionKind().Kind, Name: live.GetName(),
		Field: known.contested, Manager: known.manager, RetryAfter: known.pace.window - since,
	}, known.pace.interval - c.clock.Since(known.last)
}

// corrects returns the object's contest after a correction of these fields. One of the fields may have become contested.
func (c *contests) corrects(live client.Object, fields []fieldpath.Path, managed managedFields) contest {
	known, now := c.of(live), c.clock.Now()
	corrections := maps.Clone(known.corrections)
	maps.DeleteFunc(corrections, func(_ string, times []time.Time) bool {
		return now.Sub(times[len(times)-1]) >= paces[len(paces)-1].window
	})
	if corrections == nil {
		corrections = map[string][]time.Time{}
	}
	known.corrections, known.last = corrections, now
	again := slices.ContainsFunc(fields, func(path fieldpath.Path) bool { return nameOf(path) == known.contested })
	if again || now.Sub(known.seen) >= known.pace.window {
		known.contested = ""
	}
	for _, path := range fields {
		field := nameOf(path)
		times := append(slices.Clone(corrections[field]), now)
		corrections[field] = times[max(0, len(times)-contestedCorrections):]
		if pace := paceOf(corrections[field]); pace != nil && (known.contested == "" || pace.window < known.pace.window) {
			known.contested, known.manager, known.pace, known.seen = field, managed.managerOf(path), *pace, now
		}
	}
	return known
}
