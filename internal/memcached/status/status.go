// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// For computes the status from facts. Of the old status six are used: the transition times of conditions that stay; how
// many nodes were ready when it was Available, which says whether one was lost (stillAvailable); whether nodes counted as
// updated, which says that the controller of the workload had seen the template (templateObserved); what progressed since
// when, where no controller says it (starting, overdue); how many servers it has (Observed.Servers); and what was carried out last
// (Observed.CarriedOut).
func For(
	mc *cachev1alpha1.Memcached, observed memcached.Observed, desired memcached.Desired, outcome Outcome, now time.Time,
) cachev1alpha1.MemcachedStatus {
	facts := factsOf(mc, observed, desired, outcome, now)
	status := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: mc.Generation,
		Replicas:           int32(len(facts.nodes)), //nolint:gosec // a thousand at most, and a few more in a rollout
		ReadyReplicas:      facts.ready,
		Selector:           labels.SelectorFromSet(memcached.SelectorLabels(mc)).String(),
		ServiceName:        observed.ServiceName(mc),
		Servers:            observed.Servers(mc),
		LastApplied:        observed.CarriedOut(mc, desired.Record),
	}
	for _, pod := range facts.nodes {
		status.Nodes = append(status.Nodes, pod.Name)
	}
	if facts.workload != nil {
		if !facts.rollout.templateUnobserved && !facts.TemplatePending {
			status.UpdatedReplicas = facts.workload.Updated
		}
	}
	if latest := cmp.Or(facts.workload, facts.former); latest != nil {
		status.Image = plain(latest.Image()) // somebody else may have changed it
	}
	if status.Image != "" {
		status.Version, _ = versionOf(status.Image)
	}
	status.Conditions = conditions(mc, facts, now)
	return status
}
