// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// For computes the status from facts. Of the old status three are used: the transition times of conditions that stay; how
// many nodes were ready when it was Available, which says whether one was lost (stillAvailable); and whether nodes counted as
// updated, which says that the controller of the workload had seen the template (templateObserved).
func For(
	mc *cachev1alpha1.Memcached, observed memcached.Observed, desired memcached.Desired, outcome Outcome, now time.Time,
) cachev1alpha1.MemcachedStatus {
	facts := factsOf(mc, observed, desired, outcome)
	status := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: mc.Generation,
		Replicas:           int32(len(facts.nodes)), //nolint:gosec // a thousand at most, and a few more in a rollout
		ReadyReplicas:      facts.ready,
		Selector:           labels.SelectorFromSet(memcached.SelectorLabels(mc)).String(),
		ServiceName:        observed.ServiceName(mc),
	}
	for _, pod := range facts.nodes {
		status.Nodes = append(status.Nodes, pod.Name)
	}
	if facts.workload != nil {
		if !facts.rollout.templateUnobserved && !facts.TemplatePending {
			status.UpdatedReplicas = facts.workload.Updated
		}
		status.Image = plain(facts.workload.Image()) // somebody else may have changed it
	}
	status.Conditions = conditions(mc, facts, now)
	return status
}
