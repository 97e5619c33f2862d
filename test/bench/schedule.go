// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
)

// onSchedule calls the function do with each index i when times[i] has passed, even if earlier calls have not returned. It returns the
// first error. The times must be sorted.
func onSchedule(ctx context.Context, times []time.Duration, do func(i int) error) error {
	began := time.Now()
	group, working := errgroup.WithContext(ctx)
	for i, at := range times {
		if pause(working, time.Until(began.Add(at))) != nil {
			break // the group has failed, or the caller has given up
		}
		group.Go(func() error { return do(i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func evenly(n int, interval time.Duration) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = time.Duration(i) * interval
	}
	return times
}

// between returns the durations from began to ended, for all names that both maps contain.
func between(began, ended map[types.NamespacedName]time.Time) []time.Duration {
	var took []time.Duration
	for name, end := range ended {
		if begin, ok := began[name]; ok {
			took = append(took, end.Sub(begin))
		}
	}
	return took
}

func elapsed(began time.Time, times map[types.NamespacedName]time.Time) []time.Duration {
	var after []time.Duration
	for _, at := range times {
		after = append(after, at.Sub(began))
	}
	return after
}
