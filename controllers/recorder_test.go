// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/test/testenv"
)

type sentEvents []string

func (s *sentEvents) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	object := regarding.(*corev1.ObjectReference)
	text := fmt.Sprintf("%s/%s@%s %s %s %s %s",
		object.Name, object.UID, object.ResourceVersion, eventType, reason, action, fmt.Sprintf(note, args...))
	if other, ok := related.(*corev1.ObjectReference); ok {
		text += fmt.Sprintf(" (%s %s@%s)", other.Kind, other.Name, other.ResourceVersion)
	}
	*s = append(*s, text)
}

// burst is a number of equal events at the same time.
type burst struct {
	after time.Duration
	// name and uid identify the object.
	name, uid, eventType, reason, note string
	count                              int
	// sent is how many of these events the Recorder sends.
	sent int
}

func TestRecorder(t *testing.T) {
	paused := burst{eventType: "Normal", reason: "Paused", note: "100 % of it", count: 100, sent: 25}
	one := func(eventType, reason string) burst {
		return burst{eventType: eventType, reason: reason, note: "!", count: 1, sent: 1}
	}
	with := func(b burst, change func(*burst)) burst { change(&b); return b }
	after := func(d time.Duration, b burst) burst { b.after = d; return b }
	for name, bursts := range map[string][]burst{
		"a flood is held back":                                {paused},
		"it does not hide a Warning":                          {paused, with(one("Warning", "Unavailable"), func(b *burst) { b.count, b.sent = 20, 20 })},
		"it does not hide what happens beside it":             {paused, one("Normal", "Ready")},
		"a flood of Warnings does not hide another":           {with(paused, func(b *burst) { b.eventType = "Warning" }), one("Warning", "Unavailable")},
		"it does not hide what happens to another object":     {paused, with(paused, func(b *burst) { b.name = "other" })},
		"an object that is created again does not begin anew": {paused, with(paused, func(b *burst) { b.uid, b.sent = "2", 0 })},
		"one more is sent in five minutes":                    {paused, after(5*time.Minute-time.Second, with(paused, func(b *burst) { b.sent = 0 })), after(time.Second, with(paused, func(b *burst) { b.sent = 1 }))},
		"a quiet object may have as many again":               {paused, after(25*5*time.Minute, paused)},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Now())
			var sent sentEvents
			recorder := controllers.NewRecorder(&sent, testenv.Scheme(), clock)
			for i, b := range bursts {
				clock.SetTime(clock.Now().Add(b.after))
				sent = nil
				for range b.count {
					b.send(recorder, "1")
				}
				if len(sent) != b.sent {
					t.Errorf("burst %d: %d events were sent, want %d", i, len(sent), b.sent)
				}
			}
		})
	}
}

func (b burst) send(recorder *controllers.Recorder, version string) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: b.name, UID: types.UID(b.uid), ResourceVersion: version}}
	recorder.Eventf(mc, nil, b.eventType, b.reason, "Reconcile", "%s", b.note)
}

// TestSeries sends events, each about a newer version of the object, and checks which version the Recorder puts into each event.
// client-go joins events in a series only if they are about the same version.
func TestSeries(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	var sent sentEvents
	recorder := controllers.NewRecorder(&sent, testenv.Scheme(), clock)
	for version, event := range []burst{
		{uid: "a", reason: "Paused", note: "100 %d"},
		{uid: "a", reason: "Paused", note: "100 %d"},
		{uid: "a", reason: "Resumed", note: "go"},
		{uid: "a", reason: "Paused", note: "100 %d", after: 5*time.Minute - time.Second},
		{uid: "a", reason: "Paused", note: "and more"},
		{uid: "a", reason: "Paused", note: "and more"},
		{uid: "a", reason: "Paused", note: "and more", after: 5 * time.Minute},
		{uid: "b", reason: "Paused", note: "and more"},
	} {
		clock.SetTime(clock.Now().Add(event.after))
		event.name, event.eventType = "cache", "Normal"
		event.send(recorder, strconv.Itoa(version))
	}
	want := sentEvents{
		"cache/a@0 Normal Paused Reconcile 100 %d",
		"cache/a@0 Normal Paused Reconcile 100 %d",
		"cache/a@2 Normal Resumed Reconcile go",
		"cache/a@0 Normal Paused Reconcile 100 %d",
		"cache/a@4 Normal Paused Reconcile and more",
		"cache/a@4 Normal Paused Reconcile and more",
		"cache/a@6 Normal Paused Reconcile and more",
		"cache/b@7 Normal Paused Reconcile and more",
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

// TestSeriesAboutRelatedObjects sends events about one version of a Memcached. The related object is another version of a
// Service each time.
func TestSeriesAboutRelatedObjects(t *testing.T) {
	var sent sentEvents
	recorder := controllers.NewRecorder(&sent, testenv.Scheme(), clocktesting.NewFakePassiveClock(time.Now()))
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache", UID: "a", ResourceVersion: "7"}}
	for version, note := range []string{"ports", "ports", "labels"} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache", ResourceVersion: strconv.Itoa(version)}}
		recorder.Eventf(mc, service, "Warning", "Corrected", "Correct", "%s", note)
	}
	want := sentEvents{
		"cache/a@7 Warning Corrected Correct ports (Service cache@0)",
		"cache/a@7 Warning Corrected Correct ports (Service cache@0)",
		"cache/a@7 Warning Corrected Correct labels (Service cache@2)",
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

// TestRecorderForgets sends events about so many other objects that the Recorder forgets the first object.
func TestRecorderForgets(t *testing.T) {
	var sent sentEvents
	recorder := controllers.NewRecorder(&sent, testenv.Scheme(), clocktesting.NewFakePassiveClock(time.Now()))
	flood := func() int {
		sent = nil
		for range 30 {
			burst{name: "cache", eventType: "Normal", reason: "Paused"}.send(recorder, "1")
		}
		return len(sent)
	}
	first, again := flood(), flood()
	for i := range 4096 {
		burst{name: strconv.Itoa(i), eventType: "Normal", reason: "Ready"}.send(recorder, "1")
	}
	if forgotten := flood(); first != 25 || again != 0 || forgotten != 25 {
		t.Errorf("%d events were sent, %d at once afterwards and %d when the memory was full; want 25, 0 and 25", first, again, forgotten)
	}
}
