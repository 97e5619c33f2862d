// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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

// contestOf returns the contest about an object; it is empty if the object is another one of the same name.
func (a *Applier) contestOf(live client.Object) contest {
	known, ok := a.contests.get(live)
	if !ok || known.uid != live.GetUID() {
		return contest{uid: live.GetUID()}
	}
	return known
}

// wrote reports whether this process has written what was rendered, so that what differs is the work of somebody else.
func (a *Applier) wrote(live client.Object, rendered *unstructured.Unstructured) bool {
	return a.contestOf(live).hash == a.differ.hashOf(rendered)
}

// contested reports whether somebody else keeps writing what is ours in a live object, and for how long it must not be corrected.
func (a *Applier) contested(desired, live client.Object) (_ *ContestedError, wait time.Duration) {
	known := a.contestOf(live)
	since := a.clock.Since(known.last)
	if known.contested == "" || since >= contestWindow {
		return nil, 0
	}
	return &ContestedError{
		Kind: desired.GetObjectKind().GroupVersionKind().Kind, Name: live.GetName(),
		Field: known.contested, Manager: known.manager, RetryAfter: contestWindow - since,
	}, contestInterval - since
}

// corrects is called before a correction is written. If it makes a field contested, the API server is asked who writes it:
// after the write, the managed fields no longer show it.
func (a *Applier) corrects(ctx context.Context, s step) contest {
	known, now := a.contestOf(s.live), a.clock.Now()
	corrections := map[string][]time.Time{}
	for field, times := range known.corrections {
		times = slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return now.Sub(at) >= contestWindow })
		if len(times) > 0 {
			corrections[field] = times
		}
	}
	known.corrections, known.last = corrections, now
	known.contested = ""
	for _, path := range s.difference.fields {
		field := strings.TrimPrefix(path.String(), ".")
		corrections[field] = append(corrections[field], now)
		if len(corrections[field]) >= contestedCorrections && known.contested == "" {
			known.contested, known.manager = field, a.managerOf(ctx, s, path)
		}
	}
	return known
}

// managerOf returns the field manager of a field of a live object, empty if nobody knows. That is who wrote it last: whoever
// changes a value takes it from the others.
func (a *Applier) managerOf(ctx context.Context, s step, path fieldpath.Path) string {
	live, err := a.empty(s.desired)
	if err != nil || a.live.Get(ctx, client.ObjectKeyFromObject(s.live), live) != nil {
		return ""
	}
	for _, entry := range live.GetManagedFields() {
		fields := &fieldpath.Set{}
		if entry.FieldsV1 != nil && fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil && fields.Has(path) {
			return entry.Manager
		}
	}
	return ""
}
