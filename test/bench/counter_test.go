// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	watchapi "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestMedians makes two of three Memcacheds ready. One of them becomes unready and ready again, which must not count.
func TestMedians(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ready := newCounter(func(object client.Object) bool { return object.GetGeneration() == 1 })
		see := func(i int, matches bool, after time.Duration) {
			time.Sleep(time.Until(began.Add(after)))
			mc := memcachedNumber(i)
			mc.UID = types.UID(mc.Name)
			if matches {
				mc.Generation = 1
			}
			ready.handle(watchapi.Modified, mc)
		}
		see(0, false, time.Second)
		see(0, true, 2*time.Second)
		see(1, true, 5*time.Second)
		see(0, false, 6*time.Second)
		see(2, false, 7*time.Second)
		see(0, true, 8*time.Second)
		want := map[types.NamespacedName]time.Time{
			client.ObjectKeyFromObject(memcachedNumber(0)): began.Add(2 * time.Second),
			client.ObjectKeyFromObject(memcachedNumber(1)): began.Add(5 * time.Second),
		}
		if diff := cmp.Diff(want, ready.firstMatches()); diff != "" {
			t.Errorf("times of the first match (-want +got):\n%s", diff)
		}
		b := &bench{}
		b.addMedians(2, began, ready, newCounter(isAvailable))
		if got := b.report.Results[0].Value; got != 2 {
			t.Errorf("half of them are ready after %g s, want 2 s", got)
		}
	})
}
