// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRequiredReady expects the Deployment controller's numbers (MaxUnavailable in
// k8s.io/kubernetes/pkg/controller/deployment/util). maxUnavailable is rounded down, and maxSurge is rounded up. If both are 0, one
// node may be unavailable.
func TestRequiredReady(t *testing.T) {
	number := func(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
	percent := func(p string) *intstr.IntOrString { return ptr.To(intstr.FromString(p)) }
	zero := func(limit intstr.IntOrString) bool { return strings.TrimSuffix(limit.String(), "%") == "0" }
	for _, c := range []struct {
		size               int32
		unavailable, surge *intstr.IntOrString
		want               int32
	}{
		{0, nil, nil, 0},
		{1, nil, nil, 1},
		{2, nil, nil, 1},
		{3, nil, nil, 2},
		{1000, nil, nil, 999},
		{3, number(0), nil, 3},
		{3, number(2), nil, 1},
		{3, number(3), nil, 0},
		{3, number(1000), nil, 0},
		{1, number(1), nil, 0},
		{3, nil, number(0), 2},
		{3, nil, number(1), 3},
		{3, nil, percent("0%"), 2},
		{3, nil, percent("1%"), 3},
		{3, number(1), number(1), 2},
		{3, number(0), number(1), 3},
		{4, percent("25%"), nil, 3},
		{7, percent("25%"), nil, 6},
		{8, percent("25%"), nil, 6},
		{3, percent("33%"), nil, 2},
		{3, percent("34%"), nil, 2},
		{3, percent("67%"), nil, 1},
		{3, percent("100%"), nil, 0},
		{1, percent("50%"), nil, 0},
		{3, percent("25%"), percent("0%"), 2},
		{3, percent("25%"), number(0), 2},
		{3, percent("25%"), percent("1%"), 3},
		{3, percent("0%"), nil, 3},
		{0, percent("100%"), nil, 0},
		{1000, percent("99%"), nil, 10},
		{101, percent("50%"), percent("50%"), 51},
		{3, percent("half"), nil, 3},
		{3, nil, percent("half"), 3}, // the schema refuses this value; if it exists nevertheless, no node may be missing
	} {
		mc := memcachedtest.Cache(c.size)
		mc.Spec.UpdateStrategy.MaxUnavailable, mc.Spec.UpdateStrategy.MaxSurge = c.unavailable, c.surge
		decided := desired.For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
		if got := requiredReady(c.size, decided); got != c.want {
			t.Errorf("size %d, maxUnavailable %v, maxSurge %v: %d must be ready, not %d", c.size, c.unavailable, c.surge, c.want, got)
		}
		if zero(decided.MaxSurge) && zero(decided.MaxUnavailable) {
			t.Errorf("size %d, maxUnavailable %v, maxSurge %v: nothing can ever be replaced", c.size, c.unavailable, c.surge)
		}
	}
}
