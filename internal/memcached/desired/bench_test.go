// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func BenchmarkDesired(b *testing.B) {
	for _, c := range goldenCases(b) {
		if c.name != "minimal" && c.name != "everything" {
			continue
		}
		observed := memcached.Observed{Children: memcachedtest.Children(live(b, c.mc, c.opts))}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if plan := For(memcachedtest.View(c.mc, observed), c.opts); plan.Problem != nil {
					b.Fatal(plan.Problem)
				}
			}
		})
	}
}
