// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objectKey identifies an object without its UID.
type objectKey struct {
	kind reflect.Type
	name types.NamespacedName
}

func keyOf(object client.Object) objectKey {
	return objectKey{reflect.TypeOf(object), client.ObjectKeyFromObject(object)}
}

// history holds one entry for each object. It is safe for concurrent use.
type history[T any] struct{ entries sync.Map }

func (h *history[T]) get(object client.Object) (T, bool) {
	found, ok := h.entries.Load(keyOf(object))
	entry, _ := found.(T)
	return entry, ok
}

func (h *history[T]) set(object client.Object, entry T) { h.entries.Store(keyOf(object), entry) }

func (h *history[T]) forget(object client.Object) { h.entries.Delete(keyOf(object)) }
