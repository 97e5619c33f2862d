// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A field is contested when it has been corrected so often within the window. From then on it is corrected at most once an
// interval, until it was left alone for as long as the window.
const (
	contestedCorrections = 3
	contestWindow        = 2 * time.Minute
	contestInterval      = 30 * time.Second
)

// contest is what this process knows of those who change an object that it has written.
type contest struct {
	uid types.UID
	// hash is that of what this process wrote last.
	hash string
	// corrections are when each field was corrected, the last few of each.
	corrections map[string][]time.Time
	// contested is the field that somebody else keeps writing, empty if there is none; manager is who does; last is when it was
	// last corrected.
	contested, manager string
	last               time.Time
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

// contested reports whether somebody else keeps writing what is ours in a live object, and for how long it must not be corrected.
func (c *contests) contested(desired, live client.Object) (_ *ContestedError, wait time.Duration) {
	known := c.of(live)
	since := c.clock.Since(known.last)
	if known.contested == "" || since >= contestWindow {
		return nil, 0
	}
	return &ContestedError{
		Kind: desired.GetObjectKind().GroupVersionKind().Kind, Name: live.GetName(),
		Field: known.contested, Manager: known.manager, RetryAfter: contestWindow - since,
	}, contestInterval - since
}

// corrects is called before a correction of some fields is written. If it makes one of them contested, managerOf must say who
// writes it: after the write, the managed fields no longer show it.
func (c *contests) corrects(live client.Object, fields []fieldpath.Path, managerOf func(fieldpath.Path) string) contest {
	known, now := c.of(live), c.clock.Now()
	corrections := map[string][]time.Time{}
	for field, times := range known.corrections {
		times = slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return now.Sub(at) >= contestWindow })
		if len(times) > 0 {
			corrections[field] = times
		}
	}
	known.corrections, known.last = corrections, now
	known.contested = ""
	for _, path := range fields {
		field := strings.TrimPrefix(path.String(), ".")
		corrections[field] = append(corrections[field], now)
		if len(corrections[field]) >= contestedCorrections && known.contested == "" {
			known.contested, known.manager = field, managerOf(path)
		}
	}
	return known
}
