// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func BenchmarkStatus(b *testing.B) {
	for name, size := range map[string]int{"3 nodes": 3, "1000 nodes": 1000} {
		mc := memcachedtest.Cache(int32(size))
		observed := memcached.Observed{Children: memcachedtest.Children(makeDeployment(b, mc, settled)), Pods: makePods(size)}
		decided := desired.For(memcachedtest.View(mc, observed), memcachedtest.Options)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if status := For(memcached.NewView(mc, observed, noon), decided, memcached.Written{}); status.ReadyReplicas != int32(size) {
					b.Fatal(status)
				}
			}
		})
	}
	b.Run("a rollout that is stuck", func(b *testing.B) {
		mc := memcachedtest.Cache(3)
		deployment := makeDeployment(b, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2), progress(rolloutOverdue))
		pods := append(makePods(2), makePod("cache-5d4f-02", noRoomFor))
		observed := memcached.Observed{Children: memcachedtest.Children(deployment), Pods: []corev1.Pod{pods[2], pods[1], pods[0]}}
		decided := desired.For(memcachedtest.View(mc, observed), memcachedtest.Options)
		b.ReportAllocs()
		for b.Loop() {
			For(memcached.NewView(mc, observed, noon), decided, memcached.Written{})
		}
	})
}
