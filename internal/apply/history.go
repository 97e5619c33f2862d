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
type history[T any] struct {
	mutex   sync.Mutex
	entries map[objectKey]T
}

func (h *history[T]) get(object client.Object) (T, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	entry, ok := h.entries[keyOf(object)]
	return entry, ok
}

func (h *history[T]) set(object client.Object, entry T) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.entries == nil {
		h.entries = map[objectKey]T{}
	}
	h.entries[keyOf(object)] = entry
}

func (h *history[T]) forget(object client.Object) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.entries, keyOf(object))
}
