// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRequiredReady expects the Deployment controller's numbers (MaxUnavailable in
// k8s.io/kubernetes/pkg/controller/deployment/util). A percentage is rounded down. If it comes to 0, one node may be unavailable.
func TestRequiredReady(t *testing.T) {
	number := func(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
	percent := func(p string) *intstr.IntOrString { return ptr.To(intstr.FromString(p)) }
	for _, c := range []struct {
		size        int32
		unavailable *intstr.IntOrString
		want        int32
	}{
		{0, nil, 0},
		{1, nil, 1},
		{2, nil, 1},
		{3, nil, 2},
		{1000, nil, 999},
		{3, number(0), 3},
		{3, number(2), 1},
		{3, number(3), 0},
		{3, number(1000), 0},
		{1, number(1), 0},
		{4, percent("25%"), 3},
		{7, percent("25%"), 6},
		{8, percent("25%"), 6},
		{3, percent("33%"), 2},
		{3, percent("34%"), 2},
		{3, percent("67%"), 1},
		{3, percent("100%"), 0},
		{1, percent("50%"), 0},
		{3, percent("25%"), 2},
		{3, percent("0%"), 3},
		{0, percent("100%"), 0},
		{1000, percent("99%"), 10},
		{3, percent("half"), 3}, // the schema refuses this value; if it exists nevertheless, no node may be missing
	} {
		mc := memcachedtest.Cache(c.size)
		mc.Spec.UpdateStrategy.MaxUnavailable = c.unavailable
		decided := desired.For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
		if got := requiredReady(c.size, decided); got != c.want {
			t.Errorf("size %d, maxUnavailable %v: %d must be ready, not %d", c.size, c.unavailable, c.want, got)
		}
	}
}
