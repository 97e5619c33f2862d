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
	// Fields are the paths of the corrected fields, such as spec.replicas.
	Fields []string
	// Managers are the field managers that last wrote these fields. A removed field has none.
	Managers []string
	// Complete reports that all fields were corrected and none is contested. Otherwise an error describes the other fields.
	Complete bool

	paths []fieldpath.Path
}

// Touches reports whether a corrected field is the given one, or below it.
func (c Correction) Touches(field ...string) bool {
	return slices.ContainsFunc(c.paths, func(path fieldpath.Path) bool { return startsWith(path, field) })
}

// correctionOf describes the correction of a step. The managed fields must be those from before the write, because the write makes
// the operator their manager.
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

// nameOf returns the path of a field in the usual form.
func nameOf(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

// managedFields are the fields that each field manager has written.
type managedFields []managedBy

type managedBy struct {
	manager string
	fields  *fieldpath.Set
}

// managedFieldsOf reads the managed fields of a step's object, which the cache drops, and the object's resource version. If the
// read fails, it returns no fields and the step's version.
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

// managerOf returns the field manager that wrote a field last, empty if unknown.
func (m managedFields) managerOf(path fieldpath.Path) string {
	for _, by := range m {
		if by.has(path) {
			return by.manager
		}
	}
	return ""
}

// has reports whether the manager wrote the field, or a field below it.
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
