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

// CreationGrace is how long a created object may be missing from the informer cache. A watch usually delivers it within
// milliseconds. An object that is missing for longer was probably deleted while the watch was interrupted.
const CreationGrace = 30 * time.Second

// MutationCache holds this process's writes until the informer cache has received them, so that decisions do not use older
// objects. It is safe for concurrent use.
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

// NewMutationCache returns an empty MutationCache.
func NewMutationCache(clock clock.PassiveClock) *MutationCache {
	return &MutationCache{clock: clock, writes: map[objectKey]write{}}
}

// RecordWrite records an object as the API server returned it, usually after a write.
func (m *MutationCache) RecordWrite(object client.Object) {
	m.record(write{object: object.DeepCopyObject().(client.Object)})
}

// RecordDelete records that an object was deleted or is being deleted.
func (m *MutationCache) RecordDelete(object client.Object) {
	m.record(write{object: object, deleted: true})
}

func (m *MutationCache) record(w write) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	w.at = m.clock.Now()
	m.writes[keyOf(w.object)] = w
}

// Forget drops what was recorded about the object with this type and name.
func (m *MutationCache) Forget(object client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.writes, keyOf(object))
}

// Latest returns the cached or the recorded object, whichever is newer. It returns nil if neither exists, or if this process has deleted
// the cached one. The argument found says that the informer cache holds the object. If it is false, cached needs only a name and namespace.
// The result pending reports that latest is a recorded object that the informer cache lacks. After CreationGrace, such an object counts as
// missing.
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

// ObserveEvent drops the record of a write when the informer cache has received that write or a newer object. Own reports that
// the received object is this process's last write, which needs no reaction.
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

// ObserveDelete drops the record of an object when the informer cache has received its deletion.
func (m *MutationCache) ObserveDelete(received client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := keyOf(received)
	if w, written := m.writes[key]; written && w.object.GetUID() == received.GetUID() {
		delete(m.writes, key)
	}
}

// newer reports whether the first object has the later resource version. It returns false if the two cannot be compared: before
// Kubernetes 1.35, API servers do not promise comparable resource versions.
func newer(first, second client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(first.GetResourceVersion(), second.GetResourceVersion())
	return err == nil && order > 0
}
