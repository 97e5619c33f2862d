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

func TestResources(t *testing.T) {
	list := func(pairs ...string) corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return list
	}
	for name, c := range map[string]struct{ limits, requests, wantLimits, wantRequests corev1.ResourceList }{
		"none":                         {nil, nil, list("memory", "198Mi"), list("memory", "198Mi")},
		"a limit":                      {list("memory", "1Gi"), nil, list("memory", "1Gi"), list("memory", "1Gi")},
		"a request":                    {nil, list("memory", "1Gi"), list("memory", "1Gi"), list("memory", "1Gi")},
		"both":                         {list("memory", "2Gi"), list("memory", "1Gi"), list("memory", "2Gi"), list("memory", "1Gi")},
		"CPU request":                  {nil, list("cpu", "100m"), list("memory", "198Mi"), list("memory", "198Mi", "cpu", "100m")},
		"CPU limit of 4, so 4 threads": {list("cpu", "4"), nil, list("memory", "198Mi", "cpu", "4"), list("memory", "198Mi", "cpu", "4")},
		"a CPU limit and a smaller request": {
			list("cpu", "4"), list("cpu", "1"), list("memory", "198Mi", "cpu", "4"), list("memory", "198Mi", "cpu", "1"),
		},
		"an ephemeral-storage limit": {
			list("ephemeral-storage", "1Gi"), nil,
			list("memory", "198Mi", "ephemeral-storage", "1Gi"), list("memory", "198Mi", "ephemeral-storage", "1Gi"),
		},
		"ephemeral storage": {
			list("ephemeral-storage", "1Gi"), list("ephemeral-storage", "1Mi"),
			list("memory", "198Mi", "ephemeral-storage", "1Gi"), list("memory", "198Mi", "ephemeral-storage", "1Mi"),
		},
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Resources = cachev1alpha1.MemcachedResources{Limits: c.limits, Requests: c.requests}
		deployment := live(t, mc, memcachedtest.Options)
		got := deployment.Spec.Template.Spec.Containers[0].Resources
		if !same(got.Limits, c.wantLimits) || !same(got.Requests, c.wantRequests) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

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

func same(a, b corev1.ResourceList) bool {
	for name, quantity := range a {
		if other, ok := b[name]; !ok || quantity.Cmp(other) != 0 {
			return false
		}
	}
	return len(a) == len(b)
}
