// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/example/memcached-operator/internal/apply/field"
)

// render sets what is rendered: the fields of the desired object, with its owner reference, and with its hash in an annotation. If a live
// object has another hash, some of its fields may no longer be desired. With sizeOnly, only the size is rendered, and no annotation.
func (a *Applier) render(owner client.Object, s *step) (err error) {
	object, _ := s.desired.DeepCopyObject().(client.Object)
	if err := controllerutil.SetControllerReference(owner, object, a.Client.Scheme()); err != nil {
		return err
	}
	if s.rendered, err = a.fields(object); err != nil {
		return err
	}
	if s.sizeOnly {
		path := a.rules(object).Size
		size, _, _ := unstructured.NestedFieldNoCopy(s.rendered.Object, path...)
		delete(s.rendered.Object, path[0])
		s.rendered.SetAnnotations(nil)
		err = unstructured.SetNestedField(s.rendered.Object, size, path...)
	}
	if s.hash = hash(s.rendered.Object); !s.sizeOnly {
		err = unstructured.SetNestedField(s.rendered.Object, s.hash, "metadata", "annotations", a.HashAnnotation)
	}
	return err
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
	kind, err := apiutil.GVKForObject(object, a.Client.Scheme()) // an object that was read may lack its Kind
	fields.SetGroupVersionKind(kind)
	return fields, err
}

func (a *Applier) rules(object client.Object) field.Rules {
	kind, _ := apiutil.GVKForObject(object, a.Client.Scheme())
	return a.Rules(kind, object.GetName())
}

// compare sets how the live object differs from its target, by Kubernetes' schema. The target also lacks what the operator wrote earlier
// and no longer wants. The cache does not tell who wrote what, so such fields do not count as differences.
func (a *Applier) compare(s *step) (err error) {
	if s.before, err = a.fields(s.live); err != nil {
		return err
	}
	converter := applyconfigurations.NewTypeConverter(a.Client.Scheme())
	before, err := converter.ObjectToTyped(s.before, typed.AllowDuplicates) // the API server accepts some duplicates
	if err != nil {
		return err
	}
	changes, err := converter.ObjectToTyped(s.rendered)
	if err != nil {
		return err
	}
	owned, dropped, rules := &fieldpath.Set{}, &fieldpath.Set{}, a.rules(s.live)
	if !s.sizeOnly {
		rendered, _ := changes.ToFieldSet() // it fails only for what was not converted
		owned = setOf(rules.Owned...)
		dropped = owned.Union(cmp.Or(managedFields(s.live)[a.FieldOwner], dropped).Leaves().Difference(rendered))
	}
	after, err := before.RemoveItems(owned).Merge(changes)
	if err == nil {
		err = s.describe(before, after, rules.Immutable)
	}
	if err != nil || s.fingerprint == "" {
		return err
	}
	if after, err = before.RemoveItems(dropped).Merge(changes.RemoveItems(setOf(rules.Immutable...))); err == nil {
		content, _ := after.AsValue().Unstructured().(map[string]any)
		s.target = &unstructured.Unstructured{Object: content}
	}
	return err
}

func setOf(paths ...[]string) *fieldpath.Set {
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

// describe finds the fields that differ. Of nested fields that the target lacks, it names only the outermost. An immutable field is an
// obstacle, and no difference.
func (s *step) describe(before, after *typed.TypedValue, immutable [][]string) error {
	comparison, err := before.Compare(after)
	if err != nil {
		return err
	}
	changed := comparison.Added.Union(comparison.Modified)
	for _, path := range immutable {
		if !changed.Intersection(setOf(path)).Empty() {
			s.obstacle = &ObstacleError{
				Why: Immutable, Kind: s.rendered.GetKind(), Namespace: s.live.GetNamespace(), Name: s.live.GetName(), Field: strings.Join(path, "."),
			}
		}
	}
	if comparison.ExcludeFields(setOf(immutable...)).IsSame() {
		return nil
	}
	removed := comparison.Removed
	s.paths = comparison.Added.Union(comparison.Modified).Leaves().Union(removed)
	for path := range s.paths.All() {
		if !removed.Has(path) || !removed.Has(path[:len(path)-1]) {
			s.fields = append(s.fields, strings.TrimPrefix(path.String(), "."))
		}
	}
	slices.Sort(s.fields)
	values := before.ExtractItems(comparison.Modified.Union(removed)).AsValue().Unstructured()
	s.fingerprint = hash([]any{comparison.String(), values})
	return nil
}
