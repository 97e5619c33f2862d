// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/labels"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// For computes the status from the view before the write, the plan, and the result of the write. It uses the last status only
// through memcached.Last.
func For(before memcached.View, plan memcached.Plan, written memcached.Written) cachev1alpha1.MemcachedStatus {
	facts := factsOf(before, plan, written)
	mc := facts.Memcached
	status := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: mc.Generation,
		Replicas:           int32(len(facts.nodes)), //nolint:gosec // a thousand at most, and a few more in a rollout
		ReadyReplicas:      facts.ready,
		Selector:           labels.SelectorFromSet(memcached.SelectorLabels(mc)).String(),
		ServiceName:        facts.ServiceName(),
		Servers:            facts.Servers(),
	}
	if facts.Workload == nil || facts.Workload.Replicas == 0 { // until its controller says which pods it could create
		status.Servers = status.Servers[:min(len(status.Servers), before.Last.Servers)]
	}
	for _, pod := range facts.nodes {
		status.Nodes = append(status.Nodes, pod.Name)
	}
	if facts.Workload != nil {
		status.Image = plain(facts.image()) // somebody else may have set it
		switch {
		case memcached.IsStatefulSet(mc):
			status.UpdatedReplicas = int32(plan.Rollout.Updated) //nolint:gosec // as above
		case !facts.rollout.templateUnobserved && !facts.TemplatePending:
			status.UpdatedReplicas = facts.Workload.Updated
		}
	}
	if status.Image != "" {
		status.Version, _ = versionOf(status.Image)
	}
	status.Conditions = conditions(facts)
	return status
}
