// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreationGrace is how long a created object may be missing from the cache. A watch usually brings it within milliseconds. After
// this time, the object was probably deleted while the watch was interrupted.
const CreationGrace = 30 * time.Second

// MutationCache holds this process's writes until the informer cache has received them, so that decisions never use an older copy.
// It is safe for concurrent use.
type MutationCache struct {
	clock  clock.PassiveClock
	mutex  sync.Mutex
	writes map[objectKey]write
}

type write struct {
	// object is the API server's answer. For a deletion, it is the deleted object.
	object  client.Object
	deleted bool
	at      time.Time
}

// NewMutationCache returns an empty cache.
func NewMutationCache(clock clock.PassiveClock) *MutationCache {
	return &MutationCache{clock: clock, writes: map[objectKey]write{}}
}

// RecordWrite records the API server's answer to a write.
func (m *MutationCache) RecordWrite(object client.Object) {
	m.record(write{object: object.DeepCopyObject().(client.Object)})
}

// RecordDelete records that the object was deleted or is being deleted.
func (m *MutationCache) RecordDelete(object client.Object) {
	m.record(write{object: object, deleted: true})
}

func (m *MutationCache) record(w write) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	w.at = m.clock.Now()
	m.writes[keyOf(w.object)] = w
}

// Forget drops the object of this type and name.
func (m *MutationCache) Forget(object client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.writes, keyOf(object))
}

// Latest returns the cached or the written object, whichever is newer, or nil if the object does not exist. The cached object must
// have name and namespace even if found is false. Pending reports that this process created the object and the informer cache has
// not received it. That ends after CreationGrace, when the caller must check again.
func (m *MutationCache) Latest(cached client.Object, found bool) (latest client.Object, pending bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := keyOf(cached)
	w, written := m.writes[key]
	switch {
	case !found && (!written || w.deleted || m.clock.Since(w.at) > CreationGrace):
		delete(m.writes, key)
		return nil, false
	case !found:
		return w.object.DeepCopyObject().(client.Object), true
	case !written:
		return cached, false
	case w.deleted && w.object.GetUID() == cached.GetUID():
		return nil, false
	case !w.deleted && newer(w.object, cached):
		return w.object.DeepCopyObject().(client.Object), false
	default:
		delete(m.writes, key)
		return cached, false
	}
}

// ObserveEvent records an object that the informer cache has received. It reports whether this is the process's own last write,
// which needs no reaction.
func (m *MutationCache) ObserveEvent(received client.Object) (own bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := keyOf(received)
	w, written := m.writes[key]
	if !written || w.deleted || newer(w.object, received) {
		return false
	}
	delete(m.writes, key)
	return w.object.GetResourceVersion() == received.GetResourceVersion()
}

// ObserveDelete records a deletion that the informer cache has received.
func (m *MutationCache) ObserveDelete(received client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := keyOf(received)
	if w, written := m.writes[key]; written && w.object.GetUID() == received.GetUID() {
		delete(m.writes, key)
	}
}

// newer reports whether the first version is later. Before Kubernetes 1.35, API servers do not promise comparable versions. If two
// cannot be compared, the object in the informer cache counts as newer.
func newer(first, second client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(first.GetResourceVersion(), second.GetResourceVersion())
	return err == nil && order > 0
}
