// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// Limits of the events of one type about one object, and the number of histories that a Recorder keeps. All are defaults of
// client-go's event correlator.
const (
	eventBurst     = 25
	eventInterval  = 5 * time.Minute
	eventHistories = 4096
)

// Recorder limits the events about an object. It sends 25 of each type, Normal and Warning, and then one more every five minutes.
// Beyond this limit, it still sends an event if it sent none with the same reason for five minutes. So a flood of events with one
// reason hides no other reason. If an event repeats the last event with the same reason within five minutes, the two form a series.
type Recorder struct {
	next   events.EventRecorder
	scheme *runtime.Scheme
	clock  clock.PassiveClock

	mutex     sync.Mutex
	histories *lru.Cache
	seed      maphash.Seed
}

// NewRecorder returns a Recorder that sends events to next. It finds the kinds of objects in the scheme.
func NewRecorder(next events.EventRecorder, scheme *runtime.Scheme, clock clock.PassiveClock) *Recorder {
	return &Recorder{next: next, scheme: scheme, clock: clock, histories: lru.New(eventHistories), seed: maphash.MakeSeed()}
}

// history records the events of one type, Normal or Warning, about one object. A historyKey contains the object's name but not its UID, so
// the limit stays in force if the object is deleted and created again.
type history struct {
	limiter *rate.Limiter
	// last is the last event of each reason.
	last map[string]sent
}

type historyKey struct {
	types.NamespacedName
	kind, eventType string
}

type sent struct {
	at   time.Time
	uid  types.UID
	note uint64
	// resourceVersion is the object's resource version, and related is the related object, or nil. Events of a series take both from the
	// first event.
	resourceVersion string
	related         *corev1.ObjectReference
}

// Eventf sends an event, or drops it if the limit is reached.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	object, err := reference.GetReference(r.scheme, regarding)
	if err != nil {
		r.next.Eventf(regarding, related, eventType, reason, action, note, args...) // r.next logs the error
		return
	}
	note = fmt.Sprintf(note, args...)
	key := historyKey{types.NamespacedName{Namespace: object.Namespace, Name: object.Name}, object.Kind, eventType}
	event := sent{
		at: r.clock.Now(), uid: object.UID, note: maphash.String(r.seed, note), resourceVersion: object.ResourceVersion,
	}
	if related != nil {
		event.related, _ = reference.GetReference(r.scheme, related) // without a reference, the note still names the related object
	}
	event, ok := r.allow(key, reason, event)
	if !ok {
		return
	}
	// client-go recognizes a repetition by the resource versions of both objects, and ignores the note. Here, a repetition is an event
	// with the same note: it gets the resource versions of the first event. An event with another note keeps its own.
	object.ResourceVersion, related = event.resourceVersion, nil
	if event.related != nil {
		related = event.related
	}
	r.next.Eventf(object, related, eventType, reason, action, "%s", note)
}

// allow reports whether to send an event. In a series, it returns the event with the resource versions of the first event.
func (r *Recorder) allow(key historyKey, reason string, event sent) (sent, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	value, _ := r.histories.Get(key)
	h, ok := value.(*history)
	if !ok {
		h = &history{limiter: rate.NewLimiter(rate.Every(eventInterval), eventBurst), last: map[string]sent{}}
		r.histories.Add(key, h)
	}
	before, known := h.last[reason]
	recent := known && event.at.Sub(before.at) < eventInterval
	if !h.limiter.AllowN(event.at, 1) && recent {
		return event, false
	}
	if recent && before.uid == event.uid && before.note == event.note {
		event.resourceVersion, event.related = before.resourceVersion, before.related
	}
	h.last[reason] = event
	return event, true
}
