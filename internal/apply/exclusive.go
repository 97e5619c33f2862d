// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Exclusive are fields that only make sense whole, so that nobody else may add to them: resources, security contexts, hooks,
// probes. An apply takes nothing away that somebody else has added, and the API server may refuse the mixture. What is desired
// has everything in them set that the API server fills.
type Exclusive struct {
	// Kind of the objects that have the fields.
	Kind schema.GroupVersionKind
	// Path of what holds the fields. Lists on the way are matched by the names of their items.
	Path []string
	// Fields are the names of the fields. One that is not desired must not be there.
	Fields []string
}

// NamedList is a list whose items have names of their own and are merged by something else. If somebody has changed that of
// our item, an apply would be refused: it adds ours beside theirs, which has the same name.
type NamedList struct {
	// Kind of the objects that have the list.
	Kind schema.GroupVersionKind
	// Path of what holds the list. Lists on the way are matched by the names of their items.
	Path []string
	// Field is the list, Key the field of its items by which a strategic merge patch finds them.
	Field, Key string
	// Others are the further fields of an item by which an apply finds it.
	Others []string
	// Unset are the fields that our items must not have.
	Unset []string
}

// replacement returns the strategic merge patch that puts back what is ours alone where an apply cannot, because something
// must be taken away for it; nil if nothing must.
func (d differ) replacement(live, rendered *unstructured.Unstructured) map[string]any {
	patch := map[string]any{}
	for _, exclusive := range d.exclusives {
		if exclusive.Kind == rendered.GroupVersionKind() {
			merge(patch, descend(live.Object, rendered.Object, exclusive.Path, exclusive.replacement))
		}
	}
	for _, list := range d.namedLists {
		if list.Kind == rendered.GroupVersionKind() {
			merge(patch, descend(live.Object, rendered.Object, list.Path, list.replacement))
		}
	}
	if !removes(patch) {
		return nil
	}
	return patch
}

// descend walks both objects down a path, and returns the patch for what is at its end.
func descend(live, rendered map[string]any, path []string, end func(live, rendered map[string]any) map[string]any) map[string]any {
	if len(path) == 0 {
		return end(live, rendered)
	}
	switch inner := rendered[path[0]].(type) {
	case map[string]any:
		if patch := descend(asMap(live[path[0]]), inner, path[1:], end); patch != nil {
			return map[string]any{path[0]: patch}
		}
	case []any:
		others, _ := live[path[0]].([]any)
		var items []any
		for _, item := range inner {
			name := asMap(item)["name"]
			if patch := descend(named(others, name), asMap(item), path[1:], end); patch != nil {
				patch["name"] = name
				items = append(items, patch)
			}
		}
		if items != nil {
			return map[string]any{path[0]: items}
		}
	}
	return nil
}

func (e Exclusive) replacement(live, rendered map[string]any) map[string]any {
	return mapPatch(only(live, e.Fields), only(rendered, e.Fields))
}

func only(object map[string]any, fields []string) map[string]any {
	part := map[string]any{}
	for _, field := range fields {
		if value, ok := object[field]; ok {
			part[field] = value
		}
	}
	return part
}

// mapPatch returns the patch that makes a map another one, nil if they are equal. Lists are replaced.
func mapPatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range from {
		if _, ok := to[key]; !ok {
			patch[key] = nil
		}
	}
	for key, value := range to {
		inner, isMap := value.(map[string]any)
		outer, wasMap := from[key].(map[string]any)
		switch {
		case isMap && wasMap:
			if changed := mapPatch(outer, inner); changed != nil {
				patch[key] = changed
			}
		case !reflect.DeepEqual(from[key], value):
			patch[key] = value
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

func (l NamedList) replacement(live, rendered map[string]any) map[string]any {
	var patch []any
	others, _ := live[l.Field].([]any)
	items, _ := rendered[l.Field].([]any)
	for _, item := range items {
		ours := asMap(item)
		theirs := named(others, ours["name"])
		unset := l.unset(theirs)
		switch {
		case theirs == nil:
		case theirs[l.Key] != ours[l.Key]:
			patch = append(patch, map[string]any{"$patch": "delete", l.Key: theirs[l.Key]}, item)
		case slices.ContainsFunc(l.Others, func(field string) bool { return theirs[field] != ours[field] }):
			// Somebody else's value of a field by which an apply finds the item: to give it ours takes theirs away.
			patch = append(patch, map[string]any{"$patch": "delete", l.Key: theirs[l.Key]}, item)
		case unset != nil:
			unset[l.Key] = ours[l.Key]
			patch = append(patch, unset)
		}
	}
	if patch == nil {
		return nil
	}
	return map[string]any{l.Field: patch}
}

func (l NamedList) unset(item map[string]any) map[string]any {
	var patch map[string]any
	for _, field := range l.Unset {
		if _, ok := item[field]; ok {
			if patch == nil {
				patch = map[string]any{}
			}
			patch[field] = nil
		}
	}
	return patch
}

// merge adds a patch to another one. Items of lists are merged by their names.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		switch value := value.(type) {
		case map[string]any:
			if inner, ok := into[key].(map[string]any); ok {
				merge(inner, value)
				continue
			}
		case []any:
			if items, ok := into[key].([]any); ok {
				into[key] = mergeItems(items, value)
				continue
			}
		}
		into[key] = value
	}
}

func mergeItems(items, more []any) []any {
	for _, item := range more {
		name, hasName := asMap(item)["name"]
		if same := named(items, name); hasName && same != nil {
			merge(same, asMap(item))
			continue
		}
		items = append(items, item)
	}
	return items
}

// removes says whether a patch takes something away.
func removes(patch any) bool {
	switch patch := patch.(type) {
	case map[string]any:
		if patch["$patch"] == "delete" {
			return true
		}
		for _, value := range patch {
			if value == nil || removes(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(patch, removes)
	}
	return false
}

func asMap(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

func named(items []any, name any) map[string]any {
	for _, item := range items {
		if object := asMap(item); object["name"] == name {
			return object
		}
	}
	return nil
}
