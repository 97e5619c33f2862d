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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/example/memcached-operator/internal/apply/field"
)

// differ renders desired objects for server-side apply and compares them with live ones.
type differ struct {
	scheme         *runtime.Scheme
	converter      managedfields.TypeConverter
	hashAnnotation string
	rules          map[schema.GroupVersionKind]field.Rules
}

// render turns a desired object into what is applied: with the owner, the zero values that matter, and the hash of all
// this as an annotation. The hash shows that a field was applied once and is no longer desired.
func (d differ) render(owner, desired client.Object, part Part) (*unstructured.Unstructured, error) {
	object := desired.DeepCopyObject().(client.Object)
	if err := controllerutil.SetControllerReference(owner, object, d.scheme); err != nil {
		return nil, fmt.Errorf("set the owner of %s: %w", desired.GetName(), err)
	}
	rendered, err := d.fields(object)
	if err != nil {
		return nil, err
	}
	if part == Size {
		rendered.Object = d.sizeOf(rendered)
	}
	text, err := json.Marshal(rendered.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", desired.GetName(), err)
	}
	annotations := rendered.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[d.hashAnnotation] = hash(text)
	rendered.SetAnnotations(annotations)
	return rendered, nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// fields are the fields of an object that can be applied and compared: without status, with the zero values that matter.
func (d differ) fields(object client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", object.GetName(), err)
	}
	delete(content, "status")
	fields := &unstructured.Unstructured{Object: content}
	kind, err := apiutil.GVKForObject(object, d.scheme)
	if err != nil {
		return nil, fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	fields.SetGroupVersionKind(kind)
	for _, zero := range d.rules[kind].Zeros {
		if _, found, _ := unstructured.NestedFieldNoCopy(content, zero.Path...); !found {
			if err := unstructured.SetNestedField(content, zero.Value, zero.Path...); err != nil {
				return nil, fmt.Errorf("set %v of %s: %w", zero.Path, object.GetName(), err)
			}
		}
	}
	return fields, nil
}

// difference is how a live object differs from what was rendered. The zero value says that it does not.
type difference struct {
	// fields are the desired ones that are missing or have another value.
	fields []fieldpath.Path
	// replacement is the strategic merge patch that takes away what an apply cannot, nil if there is nothing.
	replacement map[string]any
	// fingerprint is the same for the same difference: fields and their live values.
	fingerprint string
}

// none reports that the live object holds all that was rendered.
func (d difference) none() bool { return d.fingerprint == "" }

// touches reports whether one of the fields is the given one, or below it.
func (d difference) touches(prefix []string) bool {
	return slices.ContainsFunc(d.fields, func(path fieldpath.Path) bool {
		return startsWith(path, prefix)
	})
}

// upToDate reports whether a live object holds all that was rendered.
func (d differ) upToDate(live client.Object, rendered *unstructured.Unstructured) bool {
	difference, err := d.compare(live, rendered)
	return err == nil && difference.none()
}

// compare finds what a live object lacks of what was rendered, the hash included: it says that nothing that was applied once
// is no longer desired. Lists and maps mean what the schema of Kubernetes says: what others add to them is not compared,
// unless it is ours alone.
func (d differ) compare(live client.Object, rendered *unstructured.Unstructured) (difference, error) {
	fields, err := d.fields(live)
	if err != nil {
		return difference{}, err
	}
	// The API server accepts some lists with duplicates that the schema does not allow, and so must we.
	liveValue, err := d.converter.ObjectToTyped(fields, typed.AllowDuplicates)
	if err != nil {
		return difference{}, fmt.Errorf("type the live %s: %w", live.GetName(), err)
	}
	wanted, err := d.converter.ObjectToTyped(rendered)
	if err != nil {
		return difference{}, fmt.Errorf("type the desired %s: %w", rendered.GetName(), err)
	}
	comparison, err := liveValue.Compare(wanted)
	if err != nil {
		return difference{}, fmt.Errorf("compare %s: %w", rendered.GetName(), err)
	}
	// What else is there, comparison.Removed, belongs to others.
	rules := d.rules[rendered.GroupVersionKind()]
	replacement, missing := replacementFor(rules, fields, rendered), comparison.Added
	if !missing.Empty() {
		missing = missing.Difference(setOf(rules.Gated))
	}
	if missing.Empty() && comparison.Modified.Empty() && replacement == nil {
		return difference{}, nil
	}
	found := difference{replacement: replacement}
	missing.Union(comparison.Modified).Leaves().Iterate(func(path fieldpath.Path) {
		found.fields = append(found.fields, path.Copy())
	})
	found.fields = append(found.fields, removed(replacement, nil)...)
	changed := liveValue.ExtractItems(comparison.Modified).AsValue().Unstructured()
	text, err := json.Marshal([]any{missing.String(), comparison.Modified.String(), changed, replacement})
	if err != nil {
		return difference{}, fmt.Errorf("encode the difference of %s: %w", rendered.GetName(), err)
	}
	found.fingerprint = hash(text)
	return found, nil
}

func setOf(paths [][]string) *fieldpath.Set {
	set := &fieldpath.Set{}
	for _, names := range paths {
		var path fieldpath.Path
		for _, name := range names {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(path)
	}
	return set
}

func startsWith(path fieldpath.Path, prefix []string) bool {
	if len(path) < len(prefix) {
		return false
	}
	for i, name := range prefix {
		if path[i].FieldName == nil || *path[i].FieldName != name {
			return false
		}
	}
	return true
}

// removed are the paths of the fields that a patch takes away.
func removed(patch any, prefix fieldpath.Path) []fieldpath.Path {
	var paths []fieldpath.Path
	switch patch := patch.(type) {
	case map[string]any:
		for key, value := range patch {
			inner := append(prefix.Copy(), fieldpath.PathElement{FieldName: &key})
			if value == nil {
				paths = append(paths, inner)
			}
			paths = append(paths, removed(value, inner)...)
		}
	case []any:
		for _, item := range patch {
			inner := prefix
			if name, ok := asMap(item)["name"]; ok {
				key := fieldpath.KeyByFields("name", name)
				inner = append(prefix.Copy(), fieldpath.PathElement{Key: key})
			}
			paths = append(paths, removed(item, inner)...)
		}
	}
	return paths
}

// sameHash reports whether what was rendered is what was applied last.
func (d differ) sameHash(live client.Object, rendered *unstructured.Unstructured) bool {
	return live.GetAnnotations()[d.hashAnnotation] == d.hashOf(rendered)
}

func (d differ) hashOf(rendered *unstructured.Unstructured) string {
	return rendered.GetAnnotations()[d.hashAnnotation]
}

// separable reports whether an object has separable fields.
func (d differ) separable(object client.Object) bool {
	kind, err := apiutil.GVKForObject(object, d.scheme) // what was read may not have it
	return err == nil && len(d.rules[kind].Separable) > 0
}

// sizeOf is the part of an object that is its metadata and its size.
func (d differ) sizeOf(rendered *unstructured.Unstructured) map[string]any {
	object, path := rendered.Object, d.rules[rendered.GroupVersionKind()].Size
	part := map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": object["metadata"]}
	if size, found, _ := unstructured.NestedFieldNoCopy(object, path...); found {
		for i := len(path) - 1; i > 0; i-- {
			size = map[string]any{path[i]: size}
		}
		part[path[0]] = size
	}
	return part
}

// wanted returns what a live object is to hold of what was rendered: the rest is without the separable fields.
func (d differ) wanted(rendered *unstructured.Unstructured, part Part) *unstructured.Unstructured {
	if part != Rest {
		return rendered
	}
	rest := rendered.DeepCopy()
	for _, path := range d.rules[rendered.GroupVersionKind()].Separable {
		unstructured.RemoveNestedField(rest.Object, path...)
	}
	return rest
}
