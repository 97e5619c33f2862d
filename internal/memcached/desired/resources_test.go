// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/render"
)

// TestAgentResources covers what LimitRanges, quotas and policies demand of the agent's container: a minimum, limits of all resources, no
// difference between requests and limits. The golden files show the defaults.
func TestAgentResources(t *testing.T) {
	for given, want := range map[string]string{
		`{"limits": {"memory": "64Mi"}}`:                                              `{"limits":{"memory":"64Mi"},"requests":{"cpu":"10m","memory":"64Mi"}}`,
		`{"requests": {"memory": "64Mi"}}`:                                            `{"limits":{"memory":"64Mi"},"requests":{"cpu":"10m","memory":"64Mi"}}`,
		`{"limits": {"memory": "64Mi"}, "requests": {"memory": "16Mi", "cpu": "1m"}}`: `{"limits":{"memory":"64Mi"},"requests":{"cpu":"1m","memory":"16Mi"}}`,
		`{"limits": {"cpu": "200m", "ephemeral-storage": "64Mi"}}`: `{"limits":{"cpu":"200m","ephemeral-storage":"64Mi","memory":"24Mi"},` +
			`"requests":{"cpu":"200m","ephemeral-storage":"64Mi","memory":"24Mi"}}`,
	} {
		mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
		agentResources(given)(mc)
		if got := encodedText(t, agentOf(mc).Resources); got != want {
			t.Errorf("%s makes %s, not %s", given, got, want)
		}
	}
	mc := memcachedtest.Cache(3, workloadKind(statefulSetKind), withLimit(corev1.ResourceCPU, "1"))
	agentResources(`{"requests": {"cpu": "200m"}}`)(mc)
	if got := agentOf(mc).Resources; !got.Limits.Cpu().IsZero() || got.Requests.Cpu().String() != "200m" {
		t.Errorf("with a request larger than the default limit, the agent has %v", got)
	}
	if installer := podTemplate(mc, memcachedtest.Options, podDefaults{}).Spec.InitContainers[0]; installer.Resources.Limits.Cpu().String() != "1" {
		t.Errorf("the first init container does not have memcached's resources: %v", installer.Resources)
	}
}

func agentOf(mc *cachev1alpha1.Memcached) corev1.Container {
	return podTemplate(mc, memcachedtest.Options, podDefaults{}).Spec.InitContainers[1]
}

func agentResources(text string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		utilruntime.Must(json.Unmarshal([]byte(text), &mc.Spec.Agent.Resources))
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
