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

// Correction describes the changes by others that a write to one object has undone.
type Correction struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Fields are the paths of the corrected fields, such as spec.replicas.
	Fields []string
	// Managers are the field managers that wrote these fields before the correction. A removed field has none.
	Managers []string
	// Complete reports that all fields were corrected and none is contested. Otherwise, Apply returns an error about the object.
	Complete bool

	paths []fieldpath.Path
}

// Touches reports whether a corrected field is the given one, or below it.
func (c Correction) Touches(field ...string) bool {
	return slices.ContainsFunc(c.paths, func(path fieldpath.Path) bool { return startsWith(path, field) })
}

// correctionOf describes the correction that a step has made. The managed fields must come from before the write, because the write
// makes the operator the manager of the corrected fields.
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

// nameOf returns the path of a field without a leading dot, such as spec.replicas.
func nameOf(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

// managedFields holds the fields of each field manager.
type managedFields []managedBy

type managedBy struct {
	manager string
	fields  *fieldpath.Set
}

// managedFieldsOf reads the step's object from the API server, because the cache drops managed fields. It returns the object's
// resource version and managed fields. If the read fails or finds a later object of the same name, it returns the step's resource
// version and no fields.
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

// managerOf returns the first field manager that owns the field, empty if none does.
func (m managedFields) managerOf(path fieldpath.Path) string {
	for _, by := range m {
		if by.has(path) {
			return by.manager
		}
	}
	return ""
}

// has reports whether the manager owns the field, or a field below it.
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
