// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply"
)

func version(resourceVersion string, uid types.UID) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Namespace: "n", ResourceVersion: resourceVersion, UID: uid,
	}}
}

func latest(mutations *apply.MutationCache, cached client.Object, found bool) client.Object {
	latest, _ := mutations.Latest(cached, found)
	return latest
}

func TestMutationCacheLatest(t *testing.T) {
	written := func(object *corev1.Service) func(*apply.MutationCache) {
		return func(m *apply.MutationCache) { m.RecordWrite(object) }
	}
	for _, test := range []struct {
		name   string
		did    func(*apply.MutationCache)
		after  time.Duration
		cached *corev1.Service
		found  bool
		// want is the expected resource version, empty if Latest returns no object.
		want string
	}{
		{name: "nothing written", cached: version("5", "u"), found: true, want: "5"},
		{name: "nothing written, nothing there", cached: version("", ""), want: ""},
		{name: "the cache lags", did: written(version("10", "u")), cached: version("5", "u"), found: true, want: "10"},
		{name: "the cache lags by digits", did: written(version("10", "u")), cached: version("9", "u"), found: true, want: "10"},
		{name: "the cache has caught up", did: written(version("10", "u")), cached: version("10", "u"), found: true, want: "10"},
		{name: "the cache is ahead", did: written(version("10", "u")), cached: version("11", "u"), found: true, want: "11"},
		{name: "the cache has not seen the creation", did: written(version("10", "u")), cached: version("", ""), want: "10"},
		{
			name: "the creation was never seen", did: written(version("10", "u")), after: time.Minute,
			cached: version("", ""), want: "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			mutations := apply.NewMutationCache(clock)
			if test.did != nil {
				test.did(mutations)
			}
			clock.SetTime(clock.Now().Add(test.after))
			got := ""
			latest, pending := mutations.Latest(test.cached, test.found)
			if latest != nil {
				got = latest.GetResourceVersion()
			}
			if got != test.want {
				t.Errorf("got version %q, want %q", got, test.want)
			}
			if want := latest != nil && !test.found; pending != want {
				t.Errorf("pending is %v, want %v", pending, want)
			}
		})
	}
}

func TestMutationCacheObservesEvents(t *testing.T) {
	mutations := apply.NewMutationCache(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	if mutations.ObserveEvent(version("10", "u")) {
		t.Error("an object that was never written was taken for our own write")
	}
	mutations.RecordWrite(version("10", "u"))
	if mutations.ObserveEvent(version("9", "u")) {
		t.Error("an older version was taken for our own write")
	}
	if !mutations.ObserveEvent(version("10", "u")) {
		t.Error("our own write was not recognized")
	}
	mutations.RecordWrite(version("12", "u"))
	if mutations.ObserveEvent(version("13", "u")) {
		t.Error("a later write of somebody else was taken for ours")
	}
	if got := latest(mutations, version("11", "u"), true); got == nil || got.GetResourceVersion() != "11" {
		t.Errorf("what the cache has received must end the mutations, got %v", got)
	}
}

func TestMutationCacheObservesDeletions(t *testing.T) {
	mutations := apply.NewMutationCache(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	mutations.RecordWrite(version("10", "u"))
	mutations.ObserveDelete(version("8", "earlier"))
	if latest(mutations, version("", ""), false) == nil {
		t.Error("the deletion of an earlier object of the name dropped the present one")
	}
	mutations.ObserveDelete(version("11", "u"))
	if latest(mutations, version("", ""), false) != nil {
		t.Error("a deleted object was remembered")
	}
}

func TestMutationCacheForgets(t *testing.T) {
	mutations := apply.NewMutationCache(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	mutations.RecordWrite(version("10", "u"))
	mutations.Forget(version("", ""))
	if latest(mutations, version("", ""), false) != nil {
		t.Error("what was forgotten was remembered")
	}
}

func TestMutationCacheIsACopy(t *testing.T) {
	mutations := apply.NewMutationCache(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	object := version("10", "u")
	mutations.RecordWrite(object)
	object.Labels = map[string]string{"changed": "later"}
	latest(mutations, version("9", "u"), true).SetAnnotations(map[string]string{"changed": "too"})
	if got := latest(mutations, version("9", "u"), true); len(got.GetLabels()) > 0 || len(got.GetAnnotations()) > 0 {
		t.Errorf("what was remembered has changed: %v", got)
	}
}
