// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/render"
)

// TestQuantities covers quantities that the API server would round up, write differently, or keep.
func TestQuantities(t *testing.T) {
	for _, c := range []struct{ name, given, want string }{
		{"cpu", "100500u", "101m"},
		{"cpu", "1500000001n", "1501m"},
		{"cpu", "0.1", "100m"},
		{"cpu", "1n", "1m"},
		{"cpu", "2", "2"},
		{"cpu", "0", "0"},
		{"memory", "1073741824500m", "1073741825"},
		{"memory", "1Gi", "1Gi"},
		{"memory", "0.3Gi", "322122548"},
		{"memory", "2G", "2G"},
		{"ephemeral-storage", "1u", "1"},
		{"ephemeral-storage", "10Mi", "10Mi"},
	} {
		name := corev1.ResourceName(c.name)
		list := corev1.ResourceList{name: resource.MustParse(c.given)}
		mc := memcachedtest.Cache(3)
		mc.Spec.Resources = cachev1alpha1.MemcachedResources{Limits: list, Requests: list}
		got := render.Resources(mc.Spec.Resources, "1Gi")
		for list, quantity := range map[string]resource.Quantity{"limit": got.Limits[name], "request": got.Requests[name]} {
			if quantity.String() != c.want {
				t.Errorf("%s: the %s of %s is %s, not %s", c.name, list, c.given, quantity.String(), c.want)
			}
		}
		if given := mc.Spec.Resources.Limits[name]; given.Cmp(resource.MustParse(c.given)) != 0 {
			t.Errorf("%s: the spec is now %s, not %s", c.name, given.String(), c.given)
		}
	}
}
