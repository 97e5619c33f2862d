// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Zero is a field whose zero value matters. Go types leave zero values out, so nobody would notice that somebody else has
// set the field.
type Zero struct {
	// Kind of the objects that have the field.
	Kind schema.GroupVersionKind
	// Path of the field.
	Path []string
	// Value of the field that nobody has set: false, or int64(0).
	Value any
}

// Union is a set of fields of which an object may have only one. If somebody has exchanged ours for another one, an apply
// would be refused for having both: it adds ours and cannot take away what is theirs.
type Union struct {
	// Kind of the objects that have the fields.
	Kind schema.GroupVersionKind
	// Path of what holds the fields. Lists on the way are matched by the names of their items.
	Path []string
	// Members are the fields.
	Members []string
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
}

// gate renders desired objects for server-side apply and compares them with live ones.
type gate struct {
	scheme         *runtime.Scheme
	converter      managedfields.TypeConverter
	hashAnnotation string
	zeros          []Zero
	unions         []Union
	namedLists     []NamedList
}

// render turns a desired object into what is applied: with the owner, the zero values that matter, and the hash of all
// this as an annotation. The hash tells when a field was applied once and is no longer desired.
func (g gate) render(owner, desired client.Object) (*unstructured.Unstructured, error) {
	object := desired.DeepCopyObject().(client.Object)
	if err := controllerutil.SetControllerReference(owner, object, g.scheme); err != nil {
		return nil, fmt.Errorf("set the owner of %s: %w", desired.GetName(), err)
	}
	rendered, err := g.fields(object)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(rendered.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", desired.GetName(), err)
	}
	sum := sha256.Sum256(text)
	annotations := rendered.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[g.hashAnnotation] = hex.EncodeToString(sum[:8])
	rendered.SetAnnotations(annotations)
	return rendered, nil
}

// fields are the fields of an object that can be applied and compared: without status, with the zero values that matter.
func (g gate) fields(object client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", object.GetName(), err)
	}
	delete(content, "status")
	fields := &unstructured.Unstructured{Object: content}
	kind, err := apiutil.GVKForObject(object, g.scheme)
	if err != nil {
		return nil, fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	fields.SetGroupVersionKind(kind)
	for _, zero := range g.zeros {
		if zero.Kind != kind {
			continue
		}
		if _, found, _ := unstructured.NestedFieldNoCopy(content, zero.Path...); !found {
			if err := unstructured.SetNestedField(content, zero.Value, zero.Path...); err != nil {
				return nil, fmt.Errorf("set %v of %s: %w", zero.Path, object.GetName(), err)
			}
		}
	}
	return fields, nil
}

// holds says whether a live object holds all that was rendered, and nothing that was applied once and is no longer
// desired. Lists and maps mean what the schema of Kubernetes says: what others add to them is not compared.
func (g gate) holds(live client.Object, rendered *unstructured.Unstructured) (bool, error) {
	fields, err := g.fields(live)
	if err != nil {
		return false, err
	}
	if !g.sameHash(live, rendered) || g.exchange(fields, rendered) != nil {
		return false, nil
	}
	// The API server accepts some lists with duplicates that the schema does not allow, and so must we.
	liveValue, err := g.converter.ObjectToTyped(fields, typed.AllowDuplicates)
	if err != nil {
		return false, fmt.Errorf("type the live %s: %w", live.GetName(), err)
	}
	wanted, err := g.converter.ObjectToTyped(rendered)
	if err != nil {
		return false, fmt.Errorf("type the desired %s: %w", rendered.GetName(), err)
	}
	difference, err := liveValue.Compare(wanted)
	if err != nil {
		return false, fmt.Errorf("compare %s: %w", rendered.GetName(), err)
	}
	return difference.Added.Empty() && difference.Modified.Empty(), nil // what else is there belongs to others
}

// exchangeOf returns the exchange that a live object needs, and whether it drifted: what is desired is what was applied.
func (g gate) exchangeOf(live client.Object, rendered *unstructured.Unstructured) (map[string]any, bool, error) {
	fields, err := g.fields(live)
	if err != nil {
		return nil, false, err
	}
	return g.exchange(fields, rendered), g.sameHash(live, rendered), nil
}

func (g gate) sameHash(live client.Object, rendered *unstructured.Unstructured) bool {
	return live.GetAnnotations()[g.hashAnnotation] == rendered.GetAnnotations()[g.hashAnnotation]
}

// exchange returns the strategic merge patch that exchanges what the live object has, members of a union or items of a named
// list, for what is desired in its place; nil if there is none.
func (g gate) exchange(live, rendered *unstructured.Unstructured) map[string]any {
	for _, union := range g.unions {
		if union.Kind != rendered.GroupVersionKind() {
			continue
		}
		if patch := exchange(live.Object, rendered.Object, union.Path, union.exchange); patch != nil {
			return patch
		}
	}
	for _, list := range g.namedLists {
		if list.Kind != rendered.GroupVersionKind() {
			continue
		}
		if patch := exchange(live.Object, rendered.Object, list.Path, list.exchange); patch != nil {
			return patch
		}
	}
	return nil
}

// exchange walks both objects down a path, and returns the patch of what is at its end.
func exchange(live, rendered map[string]any, path []string, end func(live, rendered map[string]any) map[string]any) map[string]any {
	if len(path) == 0 {
		return end(live, rendered)
	}
	switch inner := rendered[path[0]].(type) {
	case map[string]any:
		if patch := exchange(asMap(live[path[0]]), inner, path[1:], end); patch != nil {
			return map[string]any{path[0]: patch}
		}
	case []any:
		others, _ := live[path[0]].([]any)
		for _, item := range inner {
			name := asMap(item)["name"]
			if patch := exchange(named(others, name), asMap(item), path[1:], end); patch != nil {
				patch["name"] = name
				return map[string]any{path[0]: []any{patch}}
			}
		}
	}
	return nil
}

func (u Union) exchange(live, rendered map[string]any) map[string]any {
	patch, wanted, unwanted := map[string]any{}, false, false
	for _, member := range u.Members {
		if value, ok := rendered[member]; ok {
			patch[member], wanted = value, true
		} else if _, ok := live[member]; ok {
			patch[member], unwanted = nil, true
		}
	}
	if !wanted || !unwanted {
		return nil
	}
	return patch
}

func (l NamedList) exchange(live, rendered map[string]any) map[string]any {
	var patch []any
	others, _ := live[l.Field].([]any)
	items, _ := rendered[l.Field].([]any)
	for _, item := range items {
		ours := asMap(item)
		theirs := named(others, ours["name"])
		switch {
		case theirs == nil:
		case theirs[l.Key] != ours[l.Key]:
			patch = append(patch, map[string]any{"$patch": "delete", l.Key: theirs[l.Key]}, item)
		case slices.ContainsFunc(l.Others, func(field string) bool { return theirs[field] != ours[field] }):
			patch = append(patch, item)
		}
	}
	if patch == nil {
		return nil
	}
	return map[string]any{l.Field: patch}
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
