// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

// rendering is the body of a write, with its hash. The body is a whole desired object, or only its size.
type rendering struct {
	*unstructured.Unstructured

	hash     string
	sizeOnly bool
}

// render returns a desired object with its owner reference and an annotation with the object's hash. If a live object has another hash,
// some of its fields may no longer be desired. Without the hash, compare would notice such fields only below owned fields.
func (d differ) render(owner, desired client.Object) (rendering, error) {
	object := desired.DeepCopyObject().(client.Object)
	if err := controllerutil.SetControllerReference(owner, object, d.scheme); err != nil {
		return rendering{}, fmt.Errorf("set the owner of %s: %w", desired.GetName(), err)
	}
	fields, err := d.fields(object)
	if err != nil {
		return rendering{}, err
	}
	text, err := json.Marshal(fields.Object)
	if err != nil {
		return rendering{}, fmt.Errorf("encode %s: %w", desired.GetName(), err)
	}
	annotations := fields.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	sum := hash(text)
	annotations[d.hashAnnotation] = sum
	fields.SetAnnotations(annotations)
	return rendering{Unstructured: fields, hash: sum}, nil
}

// sizeOf returns the rendering with only the size in its spec. It drops the annotations: the hash, for example, describes fields
// that a write of the size does not change.
func (d differ) sizeOf(whole rendering) (rendering, error) {
	part := whole.DeepCopy()
	path := d.rules[whole.GroupVersionKind()].Size
	size, found, err := unstructured.NestedFieldNoCopy(part.Object, path...)
	delete(part.Object, path[0])
	if err == nil && found {
		err = unstructured.SetNestedField(part.Object, size, path...)
	}
	part.SetAnnotations(nil)
	text, encodeErr := json.Marshal(part.Object)
	if err := errors.Join(err, encodeErr); err != nil {
		return rendering{}, fmt.Errorf("encode the size of %s: %w", whole.GetName(), err)
	}
	return rendering{Unstructured: part, hash: hash(text), sizeOnly: true}, nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// fields returns the fields of an object that can be applied and compared: all but the status.
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
	return fields, nil
}

// difference is how a live object differs from a rendering. The zero value means no difference.
type difference struct {
	// fields are the paths that are missing, have another value, or were added below owned fields.
	fields []fieldpath.Path
	// surplus are additions in the live object below owned fields, or nil. A server-side apply does not remove what others added.
	surplus *typed.TypedValue
	// fingerprint is a hash of the differing fields and their live values.
	fingerprint string
}

func (d difference) none() bool { return d.fingerprint == "" }

// touches reports whether a differing field is the given one, or below it.
func (d difference) touches(prefix []string) bool {
	return slices.ContainsFunc(d.fields, func(path fieldpath.Path) bool {
		return startsWith(path, prefix)
	})
}

// compare finds how a live object differs from the rendering, including the hash annotation. It compares lists and maps by Kubernetes'
// schema. Additions by others count only below owned fields, and never if the rendering is only the size.
func (d differ) compare(live client.Object, rendered rendering) (difference, error) {
	fields, err := d.fields(live)
	if err != nil {
		return difference{}, err
	}
	// The API server accepts duplicates in some lists whose schema forbids them.
	liveValue, err := d.converter.ObjectToTyped(fields, typed.AllowDuplicates)
	if err != nil {
		return difference{}, fmt.Errorf("type the live %s: %w", live.GetName(), err)
	}
	wanted, err := d.converter.ObjectToTyped(rendered.Unstructured)
	if err != nil {
		return difference{}, fmt.Errorf("type the desired %s: %w", rendered.GetName(), err)
	}
	comparison, err := liveValue.Compare(wanted)
	if err != nil {
		return difference{}, fmt.Errorf("compare %s: %w", rendered.GetName(), err)
	}
	missing, surplus := comparison.Added, &fieldpath.Set{}
	if !rendered.sizeOnly {
		surplus = below(comparison.Removed, d.rules[rendered.GroupVersionKind()].Owned)
	}
	if missing.Empty() && comparison.Modified.Empty() && surplus.Empty() {
		return difference{}, nil
	}
	var found difference
	if !surplus.Empty() {
		found.surplus = liveValue.ExtractItems(surplus)
	}
	missing.Union(comparison.Modified).Leaves().Iterate(func(path fieldpath.Path) {
		found.fields = append(found.fields, path.Copy())
	})
	surplus.Iterate(func(path fieldpath.Path) {
		if !surplus.Has(path[:len(path)-1]) { // of nested surplus fields, only the outermost is listed
			found.fields = append(found.fields, path.Copy())
		}
	})
	changed := liveValue.ExtractItems(comparison.Modified.Union(surplus)).AsValue().Unstructured()
	text, err := json.Marshal([]any{missing.String(), comparison.Modified.String(), surplus.String(), changed})
	if err != nil {
		return difference{}, fmt.Errorf("encode the difference of %s: %w", rendered.GetName(), err)
	}
	found.fingerprint = hash(text)
	return found, nil
}

// keeps reports whether before contains all of surplus with equal values. It returns false if either is nil.
func keeps(before, surplus *typed.TypedValue) bool {
	if before == nil || surplus == nil {
		return false
	}
	comparison, err := before.Compare(surplus)
	return err == nil && comparison.Added.Empty() && comparison.Modified.Empty()
}

// replacement returns a strategic merge patch that sets what was rendered and removes additions below owned fields.
func (d differ) replacement(rendered rendering) (_ rendering, err error) {
	patch := rendered.DeepCopy()
	for _, path := range d.rules[rendered.GroupVersionKind()].Owned {
		value, _, _ := unstructured.NestedFieldNoCopy(patch.Object, path...)
		switch owned := value.(type) {
		case nil: // in a patch, null removes the field
		case map[string]any:
			owned["$patch"] = "replace"
		case []any:
			value = slices.Concat(owned, []any{map[string]any{"$patch": "replace"}})
		}
		err = errors.Join(err, unstructured.SetNestedField(patch.Object, value, path...))
	}
	rendered.Unstructured = patch
	return rendered, err
}

// below returns the paths that are at or below one of the fields.
func below(paths *fieldpath.Set, fields [][]string) *fieldpath.Set {
	set := &fieldpath.Set{}
	paths.Iterate(func(path fieldpath.Path) {
		if slices.ContainsFunc(fields, func(field []string) bool { return startsWith(path, field) }) {
			set.Insert(path.Copy())
		}
	})
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

// applied reports whether the live object's annotation has the hash of the rendering.
func (d differ) applied(live client.Object, rendered rendering) bool {
	return live.GetAnnotations()[d.hashAnnotation] == rendered.hash
}

// sizeField returns the path of an object's size, or nil if its Kind has none.
func (d differ) sizeField(object client.Object) []string {
	kind, err := apiutil.GVKForObject(object, d.scheme) // an object that was read may lack its Kind
	if err != nil {
		return nil
	}
	return d.rules[kind].Size
}
