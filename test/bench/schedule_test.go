// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := []time.Duration{0, 10 * time.Millisecond, 10 * time.Millisecond, time.Second}
		began := time.Now()
		var mutex sync.Mutex
		called := make([]time.Duration, len(times))
		err := onSchedule(t.Context(), times, func(i int) error {
			mutex.Lock()
			called[i] = time.Since(began)
			mutex.Unlock()
			time.Sleep(time.Minute) // the next call does not wait for this one
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(times, called); diff != "" {
			t.Errorf("times of the calls (-want +got):\n%s", diff)
		}
	})
}

func TestOnScheduleEndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("refused")
		calls := 0
		began := time.Now()
		err := onSchedule(t.Context(), []time.Duration{time.Second, time.Hour}, func(int) error {
			calls++
			return failure
		})
		if !errors.Is(err, failure) || calls != 1 || time.Since(began) != time.Second {
			t.Errorf("after %s and %d calls: got the error %v", time.Since(began), calls, err)
		}
	})
}

func TestOnScheduleEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := onSchedule(ctx, []time.Duration{time.Hour}, func(int) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v", err)
	}
}

func TestEvenly(t *testing.T) {
	if diff := cmp.Diff([]time.Duration{0, 500, 1000}, evenly(3, 500)); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

func TestBetween(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	name := func(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
	began := map[types.NamespacedName]time.Time{name("a"): at, name("b"): at.Add(time.Second), name("c"): at}
	ended := map[types.NamespacedName]time.Time{
		name("a"): at.Add(3 * time.Second), name("b"): at.Add(2 * time.Second), name("other"): at.Add(time.Second),
	}
	took := slices.Sorted(slices.Values(between(began, ended)))
	if diff := cmp.Diff([]time.Duration{time.Second, 3 * time.Second}, took); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
	want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(elapsed(at, ended)))); diff != "" {
		t.Errorf("elapsed times (-want +got):\n%s", diff)
	}
}
