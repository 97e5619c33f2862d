// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func BenchmarkDesired(b *testing.B) {
	for _, c := range goldenCases(b) {
		if c.name != "minimal" && c.name != "everything" {
			continue
		}
		observed := Observed{Children: children(live(b, c.mc, c.opts))}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Desired(c.mc, observed, c.opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStatus(b *testing.B) {
	for name, size := range map[string]int{"3 nodes": 3, "1000 nodes": 1000} {
		mc := makeCache(int32(size))
		observed := Observed{Children: children(makeDeployment(b, mc, settled)), Pods: makePods(size)}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if status := Status(mc, observed, Outcome{}, testOptions, noon); status.ReadyReplicas != int32(size) {
					b.Fatal(status)
				}
			}
		})
	}
	b.Run("a rollout that is stuck", func(b *testing.B) {
		mc := makeCache(3)
		deployment := makeDeployment(b, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2), progress(rolloutOverdue))
		pods := append(makePods(2), makePod("cache-5d4f-02", noRoomFor))
		observed := Observed{Children: children(deployment), Pods: []corev1.Pod{pods[2], pods[1], pods[0]}}
		b.ReportAllocs()
		for b.Loop() {
			Status(mc, observed, Outcome{}, testOptions, noon)
		}
	})
}
