// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Correction is a change by somebody else that was undone.
type Correction struct {
	// Kind and Name of the object.
	Kind, Name string
	// Fields are the paths of the fields that were set back, such as spec.replicas.
	Fields []string
	// Managers are the field managers that wrote them last. A field that was removed has none.
	Managers []string
	// Complete reports that all fields were set back and none is contested. If it is false, an error says more.
	Complete bool

	paths []fieldpath.Path
}

// Touches reports whether one of the fields is the given one, or below it.
func (c Correction) Touches(field ...string) bool {
	return slices.ContainsFunc(c.paths, func(path fieldpath.Path) bool { return startsWith(path, field) })
}

// correctionOf describes the correction of a step. It takes the managed fields from before the write: afterwards they no longer
// show who had written a field.
func correctionOf(s step, managed managedFields) *Correction {
	correction := &Correction{
		Kind:  s.desired.GetObjectKind().GroupVersionKind().Kind,
		Name:  s.desired.GetName(),
		paths: s.difference.fields,
	}
	for _, path := range correction.paths {
		correction.Fields = append(correction.Fields, nameOf(path))
		manager := managed.managerOf(path)
		if manager != "" && !slices.Contains(correction.Managers, manager) {
			correction.Managers = append(correction.Managers, manager)
		}
	}
	slices.Sort(correction.Fields)
	slices.Sort(correction.Managers)
	return correction
}

// nameOf is the path of a field as people write it.
func nameOf(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

// managedFields are the fields that each field manager has written.
type managedFields []managedBy

type managedBy struct {
	manager string
	fields  *fieldpath.Set
}

// managedFieldsOf reads the managed fields of a step's object, which the cache drops, and its resource version. If the read fails,
// it returns no fields and the version of the step.
func (a *Applier) managedFieldsOf(ctx context.Context, s step) (version string, _ managedFields) {
	live, err := a.empty(s.desired)
	if err != nil || a.live.Get(ctx, client.ObjectKeyFromObject(s.live), live) != nil || live.GetUID() != s.live.GetUID() {
		return s.live.GetResourceVersion(), nil
	}
	var managed managedFields
	for _, entry := range live.GetManagedFields() {
		fields := &fieldpath.Set{}
		if entry.FieldsV1 != nil && fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil {
			managed = append(managed, managedBy{entry.Manager, fields})
		}
	}
	return live.GetResourceVersion(), managed
}

// managerOf returns the field manager of a field: the last writer, who took it from the others. It is empty if unknown.
func (m managedFields) managerOf(path fieldpath.Path) string {
	for _, by := range m {
		if by.has(path) {
			return by.manager
		}
	}
	return ""
}

// has reports whether the manager wrote a field, or something below it.
func (m managedBy) has(path fieldpath.Path) bool {
	if m.fields.Has(path) {
		return true
	}
	below := m.fields
	for _, element := range path {
		below = below.WithPrefix(element)
	}
	return !below.Empty()
}
