// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// find returns the object with the type, namespace and name of the wanted one, or nil.
func find(objects []client.Object, wanted client.Object) client.Object {
	for _, object := range objects {
		if reflect.TypeOf(object) == reflect.TypeOf(wanted) && object.GetName() == wanted.GetName() &&
			object.GetNamespace() == wanted.GetNamespace() {
			return object
		}
	}
	return nil
}

// undesired returns the observed objects to delete. They are not desired, and belong to the owner or are orphaned (see orphaned).
// Orphaned workloads stay, because their pods must not end.
func (a *Applier) undesired(owner client.Object, desired, observed []client.Object) []client.Object {
	var left []client.Object
	for _, object := range observed {
		if find(desired, object) != nil || object.GetDeletionTimestamp() != nil {
			continue
		}
		if metav1.IsControlledBy(object, owner) || a.orphaned(owner, object) && a.differ.sizeField(object) == nil {
			left = append(left, object)
		}
	}
	return left
}
