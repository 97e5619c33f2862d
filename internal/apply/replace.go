// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/internal/apply/field"
)

// replacementFor returns the strategic merge patch that puts back what is ours alone where an apply cannot, because something
// must be taken away for it; nil if nothing must.
func replacementFor(rules field.Rules, live, rendered *unstructured.Unstructured) map[string]any {
	patch := map[string]any{}
	for _, exclusive := range rules.Exclusives {
		merge(patch, descend(live.Object, rendered.Object, exclusive.Path, func(live, rendered map[string]any) map[string]any {
			return mapPatch(only(live, exclusive.Fields), only(rendered, exclusive.Fields))
		}))
	}
	for _, list := range rules.NamedLists {
		merge(patch, descend(live.Object, rendered.Object, list.Path, func(live, rendered map[string]any) map[string]any {
			return namedListPatch(list, live, rendered)
		}))
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

func only(object map[string]any, names []string) map[string]any {
	part := map[string]any{}
	for _, name := range names {
		if value, ok := object[name]; ok {
			part[name] = value
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

// namedListPatch returns the patch that gives our items of a list their key, nil if they have it.
func namedListPatch(list field.NamedList, live, rendered map[string]any) map[string]any {
	var patch []any
	others, _ := live[list.Field].([]any)
	items, _ := rendered[list.Field].([]any)
	for _, item := range items {
		ours := asMap(item)
		theirs := named(others, ours["name"])
		unset := unsetPatch(list, theirs)
		switch {
		case theirs == nil:
		case theirs[list.Key] != ours[list.Key]:
			patch = append(patch, map[string]any{"$patch": "delete", list.Key: theirs[list.Key]}, item)
		case slices.ContainsFunc(list.Others, func(other string) bool { return theirs[other] != ours[other] }):
			// Somebody else's value of a field by which an apply finds the item: to give it ours takes theirs away.
			patch = append(patch, map[string]any{"$patch": "delete", list.Key: theirs[list.Key]}, item)
		case unset != nil:
			unset[list.Key] = ours[list.Key]
			patch = append(patch, unset)
		}
	}
	if patch == nil {
		return nil
	}
	return map[string]any{list.Field: patch}
}

func unsetPatch(list field.NamedList, item map[string]any) map[string]any {
	var patch map[string]any
	for _, name := range list.Unset {
		if _, ok := item[name]; ok {
			if patch == nil {
				patch = map[string]any{}
			}
			patch[name] = nil
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

// removes reports whether a patch takes something away.
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
