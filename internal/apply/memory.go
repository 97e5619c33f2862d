// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	// fightCorrections is how many corrections of an object within fightWindow show that somebody fights for it. From then on,
	// fightInterval is the shortest time between two corrections, until there was none for fightWindow.
	fightCorrections = 3
	fightWindow      = 2 * time.Minute
	fightInterval    = 30 * time.Second
)

// memory is what this process remembers about an object.
type memory struct {
	uid types.UID
	// exists reports that the object exists although it was not observed. The uid is then empty.
	exists bool
	// hash is the hash of the last rendering that was written.
	hash string
	// answer is the difference that remained after that write, because a webhook changed the object, or the API server rounded a value. The
	// same write would leave it again. It is empty if there was none.
	answer string
	// corrections are the times of the last corrections, at most fightCorrections. The last one restored field, which by had written.
	corrections []time.Time
	field, by   string
}

// memories hold a memory for each object. They are safe for concurrent use.
type memories struct{ entries sync.Map }

// of returns what is remembered about an object. It returns nothing about an earlier object of the same name.
func (m *memories) of(object client.Object) memory {
	found, _ := m.entries.Load(keyOf(object))
	if known, ok := found.(memory); ok && known.uid == object.GetUID() {
		return known
	}
	return memory{uid: object.GetUID()}
}

func (m *memories) set(object client.Object, known memory) { m.entries.Store(keyOf(object), known) }

// contested returns an ObstacleError if somebody fights for the object, else nil. Wait is the time until the next correction may be made.
// If it is 0 or less, the correction may be made at once.
func (a *Applier) contested(desired, live client.Object) (_ *ObstacleError, wait time.Duration) {
	known := a.memories.of(live)
	if len(known.corrections) < fightCorrections {
		return nil, 0
	}
	last := known.corrections[fightCorrections-1]
	since := a.clock.Since(last)
	if since >= fightWindow || last.Sub(known.corrections[0]) >= fightWindow {
		return nil, 0
	}
	return &ObstacleError{
		Why: Contested, Kind: desired.GetObjectKind().GroupVersionKind().Kind, Name: live.GetName(),
		Field: known.field, By: known.by, RetryAfter: fightWindow - since,
	}, fightInterval - since
}

// corrects returns the memory after a correction.
func (m memory) corrects(correction Correction, at time.Time) memory {
	m.corrections = append(slices.Clone(m.corrections), at)
	m.corrections = m.corrections[max(0, len(m.corrections)-fightCorrections):]
	m.field, m.by = correction.Fields[len(correction.Fields)-1], strings.Join(correction.Managers, " and ")
	return m
}

// Correction describes the changes by others that a write to one object has undone.
type Correction struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Fields are the paths of the corrected fields, such as spec.replicas, sorted.
	Fields []string
	// Managers are the field managers that wrote these fields before the correction. A removed field has none.
	Managers []string
	// Contested reports that somebody fights for the object: Apply returns an ObstacleError about it.
	Contested bool
}

// correctionOf describes the correction of a difference. The live object is the one before the write, because the write makes the operator
// the manager of the corrected fields.
func correctionOf(s step, live client.Object, found difference) Correction {
	correction := Correction{Kind: s.desired.GetObjectKind().GroupVersionKind().Kind, Name: s.desired.GetName(), Fields: found.fields}
	for _, entry := range live.GetManagedFields() {
		fields := managedBy(live, entry.Manager)
		if slices.ContainsFunc(found.paths, func(path fieldpath.Path) bool { return owns(fields, path) }) {
			correction.Managers = append(correction.Managers, entry.Manager)
		}
	}
	slices.Sort(correction.Managers)
	correction.Managers = slices.Compact(correction.Managers)
	return correction
}

// managedBy returns the fields that a field manager owns.
func managedBy(live client.Object, manager string) *fieldpath.Set {
	all := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		fields := &fieldpath.Set{}
		if entry.Manager == manager && entry.FieldsV1 != nil && fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil {
			all = all.Union(fields)
		}
	}
	return all
}

// owns reports whether the fields contain this one, or one below it.
func owns(fields *fieldpath.Set, path fieldpath.Path) bool {
	below := fields
	for _, element := range path {
		below = below.WithPrefix(element)
	}
	return fields.Has(path) || !below.Empty()
}
