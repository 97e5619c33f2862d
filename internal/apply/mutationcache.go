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
	object client.Object
	at     time.Time
}

// NewMutationCache returns an empty MutationCache.
func NewMutationCache(clock clock.PassiveClock) *MutationCache {
	return &MutationCache{clock: clock, writes: map[objectKey]write{}}
}

// RecordWrite records an object as the API server returned it, usually after a write.
func (m *MutationCache) RecordWrite(object client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.writes[keyOf(object)] = write{object: object.DeepCopyObject().(client.Object), at: m.clock.Now()} //nolint:forcetypeassert // a copy
}

// Forget drops what was recorded about the object with this type and name.
func (m *MutationCache) Forget(object client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.writes, keyOf(object))
}

// Latest returns the cached or the recorded object, whichever is newer, or nil if neither exists. The argument found says that the informer
// cache holds the object. If it is false, cached needs only a name and namespace. The result pending reports that latest is a recorded
// object that the informer cache lacks. After CreationGrace, such an object counts as missing.
func (m *MutationCache) Latest(cached client.Object, found bool) (latest client.Object, pending bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := keyOf(cached)
	recorded, written := m.writes[key]
	switch {
	case written && (found && newer(recorded.object, cached) || !found && m.clock.Since(recorded.at) <= CreationGrace):
		return recorded.object.DeepCopyObject().(client.Object), !found //nolint:forcetypeassert // a copy
	case found:
		latest = cached
	}
	delete(m.writes, key)
	return latest, false
}

// ObserveEvent drops the record of a write when the informer cache has received that write or a newer object. Own reports that
// the received object is this process's last write, which needs no reaction.
func (m *MutationCache) ObserveEvent(received client.Object) (own bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := keyOf(received)
	recorded, written := m.writes[key]
	if !written || newer(recorded.object, received) {
		return false
	}
	delete(m.writes, key)
	return recorded.object.GetResourceVersion() == received.GetResourceVersion()
}

// ObserveDelete drops the record of an object when the informer cache has received its deletion.
func (m *MutationCache) ObserveDelete(received client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if key := keyOf(received); m.writes[key].object != nil && m.writes[key].object.GetUID() == received.GetUID() {
		delete(m.writes, key)
	}
}

// newer reports whether the first object has the later resource version. It returns false if the two cannot be compared: before
// Kubernetes 1.35, API servers do not promise comparable resource versions.
func newer(first, second client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(first.GetResourceVersion(), second.GetResourceVersion())
	return err == nil && order > 0
}
