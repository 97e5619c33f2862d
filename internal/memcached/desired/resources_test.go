// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
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
	if installer := podTemplate(mc, 0, memcachedtest.Options, podDefaults{}).Spec.InitContainers[0]; installer.Resources.Limits.Cpu().String() != "1" {
		t.Errorf("the first init container does not have memcached's resources: %v", installer.Resources)
	}
}

func agentOf(mc *cachev1alpha1.Memcached) corev1.Container {
	return podTemplate(mc, 0, memcachedtest.Options, podDefaults{}).Spec.InitContainers[1]
}

func agentResources(text string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		utilruntime.Must(json.Unmarshal([]byte(text), &mc.Spec.Agent.Resources))
	}
}
