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

// rendering is a desired object as it is sent, or its size alone, with a hash of it.
type rendering struct {
	*unstructured.Unstructured

	hash     string
	sizeOnly bool
}

// render completes a desired object with its owner, and with the hash of all of it as an annotation. The hash shows when a field
// that was applied once is no longer desired.
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

// sizeOf reduces a rendered object to its size and owner. It leaves out annotations, which may describe the rest.
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

// fields are the fields of an object that can be applied and compared: all but its status.
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

// difference describes how a live object differs from the rendered one. The zero value means that it does not.
type difference struct {
	// fields are those that are missing, have another value, or were added to owned ones.
	fields []fieldpath.Path
	// surplus is what somebody added to owned fields, nil if nothing. An apply does not remove it.
	surplus *typed.TypedValue
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

// compare finds what a live object lacks of the rendered one, including the hash. Lists and maps are merged as the schema of
// Kubernetes says: what others add is ignored, unless the field is owned.
func (d differ) compare(live client.Object, rendered rendering) (difference, error) {
	fields, err := d.fields(live)
	if err != nil {
		return difference{}, err
	}
	// The API server accepts some lists with duplicates that the schema does not allow, and so must we.
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
	rules := d.rules[rendered.GroupVersionKind()]
	missing := below(comparison.Added, rules.Gated, false)
	surplus := &fieldpath.Set{}
	if !rendered.sizeOnly {
		surplus = below(comparison.Removed, rules.Owned, true)
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
		if !surplus.Has(path[:len(path)-1]) { // the object around it is listed already
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

// keeps reports whether all of a surplus was there before, with the same values.
func keeps(before, surplus *typed.TypedValue) bool {
	if before == nil || surplus == nil {
		return false
	}
	comparison, err := before.Compare(surplus)
	return err == nil && comparison.Added.Empty() && comparison.Modified.Empty()
}

// replacement returns a strategic merge patch that sets what was rendered and replaces owned fields as a whole.
func (d differ) replacement(rendered rendering) (_ rendering, err error) {
	patch := rendered.DeepCopy()
	for _, path := range d.rules[rendered.GroupVersionKind()].Owned {
		value, _, _ := unstructured.NestedFieldNoCopy(patch.Object, path...)
		switch owned := value.(type) {
		case nil:
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

// below returns the paths that are at or below one of the fields, or those that are not.
func below(paths *fieldpath.Set, fields [][]string, wanted bool) *fieldpath.Set {
	set := &fieldpath.Set{}
	paths.Iterate(func(path fieldpath.Path) {
		if slices.ContainsFunc(fields, func(field []string) bool { return startsWith(path, field) }) == wanted {
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

// applied reports whether a live object carries the hash of what was rendered.
func (d differ) applied(live client.Object, rendered rendering) bool {
	return live.GetAnnotations()[d.hashAnnotation] == rendered.hash
}

// sizeField is the field with the size of a Kind, empty if it has none.
func (d differ) sizeField(object client.Object) []string {
	kind, err := apiutil.GVKForObject(object, d.scheme) // what was read may not have it
	if err != nil {
		return nil
	}
	return d.rules[kind].Size
}
