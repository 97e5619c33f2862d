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

// contestedCorrections is how often a field is corrected within the window of a pace before it is contested.
const contestedCorrections = 3

// pace is how fast somebody else keeps writing a field.
type pace struct {
	// window is that of the corrections. The field is contested until it was left alone for as long.
	window time.Duration
	// interval is how long the field is left as it is between two corrections.
	interval time.Duration
}

// paces are those that are reported, the fastest first. Corrections of a slow writer cost little, and are not put off.
var paces = []pace{{2 * time.Minute, 30 * time.Second}, {30 * time.Minute, 0}}

// paceOf returns the pace of the last corrections of a field, nil if it is not contested.
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

// contest is what this process knows of those who change an object that it has written.
type contest struct {
	uid types.UID
	// hash is that of what this process wrote last.
	hash string
	// corrections are when each field was corrected, the last few of each.
	corrections map[string][]time.Time
	// contested is the field that somebody else keeps writing, empty if there is none; manager is who does, and pace how fast; seen
	// is when it was last corrected. A correction of another field changes none of that.
	contested, manager string
	pace               pace
	seen               time.Time
	// last is when any field was last corrected.
	last time.Time
}

// contests remembers who changes which objects.
type contests struct {
	history[contest]

	clock clock.PassiveClock
}

// of returns the contest about an object; it is empty if the object is another one of the same name.
func (c *contests) of(live client.Object) contest {
	known, ok := c.get(live)
	if !ok || known.uid != live.GetUID() {
		return contest{uid: live.GetUID()}
	}
	return known
}

// wrote reports whether this process has written what has the hash, so that what differs is the work of somebody else.
func (c *contests) wrote(live client.Object, hash string) bool { return c.of(live).hash == hash }

// recall takes what an earlier process has written, by its hash, unless this process has written since. The object says the same
// unless somebody else has changed its annotations.
func (c *contests) recall(live client.Object, hash string) {
	if known := c.of(live); known.hash == "" {
		known.hash = hash
		c.set(live, known)
	}
}

// contested reports whether somebody else keeps writing what is ours in a live object, and for how long it must not be corrected.
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

// corrects is called after a correction of some fields. It may make one of them contested by who managed it.
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
