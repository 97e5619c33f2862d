// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestUpgradeOfAgents covers an operator that is newer than the pods. Agents get its image only when a rollout replaces their pods.
func TestUpgradeOfAgents(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*cachev1alpha1.Memcached)
		want   string
	}{
		"nothing":   {func(*cachev1alpha1.Memcached) {}, olderAgent},
		"size":      {memcachedtest.Size(5), olderAgent},
		"a restart": {memcachedtest.RestartedAt(2026), olderAgent}, // memcached restarts without a new pod
		"an image":  {memcachedtest.Image("memcached:mine"), memcachedtest.AgentImage},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
			workload := leftByOlder(t, mc, memcachedtest.Options)
			c.change(mc)
			rendered(t, mc, workload)
			after := renderedAfter(t, mc, workload, memcachedtest.Options)
			for _, container := range memcached.PodTemplate(after).Spec.InitContainers {
				if container.Image != c.want {
					t.Errorf("%s is from %s, want %s", container.Name, container.Image, c.want)
				}
			}
			stale := staleDefaults(mc, recordOf(after), memcachedtest.Options)
			if announced := strings.Contains(stale, "the agent "+memcachedtest.AgentImage); announced != (c.want == olderAgent) {
				t.Errorf("the newer agent is announced: %t: %s", announced, stale)
			}
			if stale := staleDefaults(mc, recordOf(after), memcached.Options{DefaultImage: memcachedtest.DefaultImage}); strings.Contains(stale, "agent") {
				t.Errorf("an operator without an agent announces one: %s", stale)
			}
		})
	}
}

// TestAgentWithoutImage covers an operator that does not know its own image, which is also the image of agents and launchers.
func TestAgentWithoutImage(t *testing.T) {
	untold := memcached.Options{DefaultImage: memcachedtest.DefaultImage}
	mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
	problem := For(memcachedtest.View(mc, memcached.Observed{}), untold).Problem
	if problem == nil || problem.Reason != cachev1alpha1.ReasonInvalidSpec ||
		!strings.Contains(problem.Message, "spec.workload StatefulSet needs the image of the agent") {
		t.Errorf("the problem is %v", problem)
	}
	live := memcached.Observed{Children: []client.Object{liveWorkload(t, mc, memcachedtest.Options).Object}}
	if plan := For(memcachedtest.View(mc, live), untold); plan.Problem != nil {
		t.Errorf("nodes that run are questioned: %v", plan.Problem)
	}
}
