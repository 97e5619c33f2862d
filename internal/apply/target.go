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
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/example/memcached-operator/internal/apply/field"
)

// rendering holds the fields of a desired object that are to be written, with their hash: all, or only the size.
type rendering struct {
	*unstructured.Unstructured

	hash     string
	sizeOnly bool
}

// render returns the rendering of a desired object, with its owner reference, and with its hash in an annotation. If a live object has
// another hash, some of its fields may no longer be desired.
func (a *Applier) render(owner, desired client.Object) (rendering, error) {
	object, _ := desired.DeepCopyObject().(client.Object)
	if err := controllerutil.SetControllerReference(owner, object, a.client.Scheme()); err != nil {
		return rendering{}, err
	}
	fields, err := a.fields(object)
	if err != nil {
		return rendering{}, err
	}
	sum := hash(fields.Object)
	err = unstructured.SetNestedField(fields.Object, sum, "metadata", "annotations", a.HashAnnotation)
	return rendering{Unstructured: fields, hash: sum}, err
}

// sizeOf returns the rendering with only the size in its spec, and without annotations.
func (a *Applier) sizeOf(whole rendering) (rendering, error) {
	part, path := whole.DeepCopy(), a.rules(whole.Unstructured).Size
	size, _, err := unstructured.NestedFieldNoCopy(part.Object, path...)
	delete(part.Object, path[0])
	part.SetAnnotations(nil)
	return rendering{Unstructured: part, hash: hash(part.Object), sizeOnly: true},
		errors.Join(err, unstructured.SetNestedField(part.Object, size, path...))
}

func hash(value any) string {
	text, _ := json.Marshal(value) // it holds only what was decoded from JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// fields returns the fields of an object that can be compared and written: all but the status and the managed fields.
func (a *Applier) fields(object client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	fields := &unstructured.Unstructured{Object: content}
	fields.SetManagedFields(nil)
	kind, err := apiutil.GVKForObject(object, a.client.Scheme()) // an object that was read may lack its Kind
	fields.SetGroupVersionKind(kind)
	return fields, err
}

func (a *Applier) rules(object client.Object) field.Rules {
	kind, _ := apiutil.GVKForObject(object, a.client.Scheme())
	return a.Rules(kind, object.GetName())
}

// difference is how a live object differs from its target. The zero value means no difference.
type difference struct {
	live, target *unstructured.Unstructured
	// paths are the fields that differ, and fields their names, sorted.
	paths  []fieldpath.Path
	fields []string
	// fingerprint is a hash of the differing fields and their live values, empty if there are none.
	fingerprint string
	// immutable is an ObstacleError if an immutable field differs, else nil. The target has the live value.
	immutable error
}

// compare finds how a live object differs from its target, by Kubernetes' schema. The argument written holds the fields that the operator
// wrote earlier, or nil: the target lacks those that are no longer desired.
func (a *Applier) compare(live client.Object, rendered rendering, written *fieldpath.Set) (found difference, _ error) {
	var err error
	if found.live, err = a.fields(live); err != nil {
		return found, err
	}
	wanted, rules := rendered.DeepCopy(), a.rules(live)
	for _, path := range rules.Immutable {
		value, exists, _ := unstructured.NestedFieldCopy(found.live.Object, path...)
		other, desired, _ := unstructured.NestedFieldNoCopy(wanted.Object, path...)
		if !desired || exists && equality.Semantic.DeepEqual(value, other) {
			continue
		}
		if found.immutable == nil {
			found.immutable = &ObstacleError{
				Why: Immutable, Kind: rendered.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName(), Field: strings.Join(path, "."),
			}
		}
		unstructured.RemoveNestedField(wanted.Object, path...)
		if exists {
			err = errors.Join(err, unstructured.SetNestedField(wanted.Object, value, path...))
		}
	}
	before, liveErr := a.converter.ObjectToTyped(found.live, typed.AllowDuplicates) // the API server accepts some duplicates
	changes, wantedErr := a.converter.ObjectToTyped(wanted)
	if err := errors.Join(err, liveErr, wantedErr); err != nil {
		return found, err
	}
	after, err := before.RemoveItems(dropped(rendered, changes, rules.Owned, written)).Merge(changes)
	if err != nil {
		return found, err
	}
	content, _ := after.AsValue().Unstructured().(map[string]any)
	found.target = &unstructured.Unstructured{Object: content}
	err = found.describe(before, after)
	return found, err
}

// dropped returns the fields that the target only has if they are rendered.
func dropped(rendered rendering, changes *typed.TypedValue, owned [][]string, written *fieldpath.Set) *fieldpath.Set {
	set := &fieldpath.Set{}
	if rendered.sizeOnly {
		return set
	}
	for _, names := range owned {
		var path fieldpath.Path
		for _, name := range names {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(path)
	}
	if written == nil {
		return set
	}
	if kept, err := changes.ToFieldSet(); err == nil {
		set = set.Union(written.Leaves().Difference(kept))
	}
	return set
}

// describe finds the fields that differ. Of nested fields that the target lacks, it lists only the outermost.
func (d *difference) describe(before, after *typed.TypedValue) error {
	comparison, err := before.Compare(after)
	if err != nil || comparison.IsSame() {
		return err
	}
	removed := comparison.Removed
	comparison.Added.Union(comparison.Modified).Leaves().Union(removed).Iterate(func(path fieldpath.Path) {
		if !removed.Has(path) || !removed.Has(path[:len(path)-1]) {
			d.paths = append(d.paths, path.Copy())
			d.fields = append(d.fields, strings.TrimPrefix(path.String(), "."))
		}
	})
	slices.Sort(d.fields)
	values := before.ExtractItems(comparison.Modified.Union(removed)).AsValue().Unstructured()
	d.fingerprint = hash([]any{comparison.String(), values})
	return nil
}

// touches reports whether a differing field is the given one, or below it.
func (d *difference) touches(field string) bool {
	return slices.ContainsFunc(d.fields, func(name string) bool { return strings.HasPrefix(name+".", field+".") })
}

// errRender wraps an error of this file.
func errRender(desired client.Object, err error) error {
	if err != nil {
		err = fmt.Errorf("%w %s: %w", ErrRender, desired.GetName(), err)
	}
	return err
}
