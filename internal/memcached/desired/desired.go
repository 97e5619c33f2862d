// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// For decides what a Memcached must be like. The error is an *InvalidError: the pods that the spec leads to must not be made, and
// those that run stay as they are. All else is as it should be.
func For(mc *cachev1alpha1.Memcached, observed memcached.Observed, opts memcached.Options) (memcached.Desired, error) {
	mc = mc.DeepCopy() // the objects share nothing with what may come from a cache
	keepRestart(mc, cmp.Or(observed.Workload(mc), observed.Former(mc)))
	objects := []client.Object{Service(mc)}
	if memcached.WantsBudget(mc) {
		objects = append(objects, PodDisruptionBudget(mc))
	}
	if wantsNetworkPolicy(mc) {
		objects = append(objects, NetworkPolicy(mc))
	}
	if observed.Servers(mc) != nil {
		objects = append(objects, ConfigMap(mc, observed))
	}
	workload, record, err := Workload(mc, observed, opts)
	objects = append(objects, workload)
	former := formerWorkload(mc, observed)
	if former != nil {
		objects = append(objects, former)
	}
	surge, unavailable := updateLimits(mc)
	var changes []string
	if mc.Spec.Paused {
		changes = changesOf(mc, observed, memcached.PodTemplate(workload))
	}
	return memcached.Desired{
		Objects:        objects,
		Former:         former,
		Record:         record,
		StaleDefaults:  staleDefaults(mc, record.Defaults, opts),
		MaxSurge:       surge,
		MaxUnavailable: unavailable,
		Changes:        changes,
	}, err
}
