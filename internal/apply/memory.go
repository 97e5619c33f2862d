// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreationGrace is how long a created object may be missing from the cache before it is taken for deleted. A watch
// usually brings it within milliseconds; after this time it was probably deleted while the watch was interrupted.
const CreationGrace = 30 * time.Second

// Memory holds what this process wrote until the cache has caught up with it: a cached copy that is older than our own
// write never counts. It is safe for concurrent use.
type Memory struct {
	clock clock.PassiveClock
	mutex sync.Mutex
	// writes by the name and the type of the objects.
	writes map[types.NamespacedName]map[reflect.Type]write
}

type write struct {
	// object is what the API server answered; for a deletion the object that was deleted.
	object  client.Object
	deleted bool
	at      time.Time
}

// NewMemory returns an empty memory.
func NewMemory(clock clock.PassiveClock) *Memory {
	return &Memory{clock: clock, writes: map[types.NamespacedName]map[reflect.Type]write{}}
}

// Written remembers the answer to a write.
func (m *Memory) Written(object client.Object) {
	m.remember(write{object: object.DeepCopyObject().(client.Object)})
}

// Deleted remembers that the object was deleted, or is being deleted.
func (m *Memory) Deleted(object client.Object) {
	m.remember(write{object: object, deleted: true})
}

func (m *Memory) remember(w write) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	w.at = m.clock.Now()
	name := client.ObjectKeyFromObject(w.object)
	if m.writes[name] == nil {
		m.writes[name] = map[reflect.Type]write{}
	}
	m.writes[name][reflect.TypeOf(w.object)] = w
}

func (m *Memory) recall(object client.Object) (write, bool) {
	w, written := m.writes[client.ObjectKeyFromObject(object)][reflect.TypeOf(object)]
	return w, written
}

func (m *Memory) forget(object client.Object) {
	name := client.ObjectKeyFromObject(object)
	delete(m.writes[name], reflect.TypeOf(object))
	if len(m.writes[name]) == 0 {
		delete(m.writes, name)
	}
}

// Forget ends the memory of all objects of a name.
func (m *Memory) Forget(name types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.writes, name)
}

// Latest returns the newer of what the cache holds and what was written, or nil if the object does not exist. The cached
// object has its name and namespace also when found is false. Unconfirmed says that the object was created and the cache
// has not received it yet: if it does not within CreationGrace, somebody has to look again.
func (m *Memory) Latest(cached client.Object, found bool) (latest client.Object, unconfirmed bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	w, written := m.recall(cached)
	switch {
	case !found && (!written || w.deleted || m.clock.Since(w.at) > CreationGrace):
		m.forget(cached)
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
		m.forget(cached)
		return cached, false
	}
}

// Confirm takes an object that the cache has received. It says whether that is what this process wrote last, so that
// there is nothing in it to react to.
func (m *Memory) Confirm(received client.Object) (own bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	w, written := m.recall(received)
	if !written || w.deleted || newer(w.object, received) {
		return false
	}
	m.forget(received)
	return w.object.GetResourceVersion() == received.GetResourceVersion()
}

// Gone takes an object whose deletion the cache has received.
func (m *Memory) Gone(received client.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if w, written := m.recall(received); written && w.object.GetUID() == received.GetUID() {
		m.forget(received)
	}
}

// newer says whether the first is a later version than the second. Versions that cannot be compared come from an API
// server that does not follow Kubernetes 1.35; then the cache is believed.
func newer(first, second client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(first.GetResourceVersion(), second.GetResourceVersion())
	return err == nil && order > 0
}
