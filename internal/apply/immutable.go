// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keepImmutable copies the live values of immutable fields into the rendering. Otherwise, the API server would refuse the whole
// write. It returns an *ImmutableError about the first field that differs, or nil.
func (a *Applier) keepImmutable(live client.Object, s *step) error {
	var differs error
	for _, path := range a.rules(*s).Immutable {
		if !s.difference.touches(path) {
			continue
		}
		if differs == nil {
			differs = &ImmutableError{
				Kind: s.rendered.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName(), Field: strings.Join(path, "."),
			}
		}
		fields, err := a.differ.fields(live)
		if err != nil {
			return err
		}
		value, found, _ := unstructured.NestedFieldNoCopy(fields.Object, path...)
		if !found {
			unstructured.RemoveNestedField(s.rendered.Object, path...)
			continue
		}
		if err := unstructured.SetNestedField(s.rendered.Object, value, path...); err != nil {
			return err
		}
	}
	return differs
}
