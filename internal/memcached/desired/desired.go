// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// For returns the desired state of a Memcached.
func For(v memcached.View, opts memcached.Options) memcached.Plan {
	mc := v.Memcached.DeepCopy() // because the original is in the cache
	keepRestart(mc, v)
	v.Memcached = mc
	objects := []client.Object{Service(mc)}
	if memcached.WantsBudget(mc.Spec.PodDisruptionBudget) {
		objects = append(objects, role(mc).PodDisruptionBudget(mc.Spec.PodDisruptionBudget))
	}
	if mc.Spec.NetworkPolicy != nil {
		objects = append(objects, NetworkPolicy(v))
	}
	if v.Servers() != nil {
		objects = append(objects, ConfigMap(v))
	}
	nodes := nodesOf(v, opts)
	if nodes.wave.Arguments != nil {
		objects = append(objects, nodes.wave.Arguments)
	}
	if v.Workload != nil || !v.Occupied() { // if a MemcachedProxy has the Service, clients would not find new nodes
		objects = append(objects, nodes.workload)
	}
	_, unavailable := updateLimits(mc)
	lost, nextLost := v.LostPods()
	return memcached.Plan{
		Objects:        objects,
		Problem:        nodes.problem,
		Wave:           nodes.wave,
		Twins:          nodes.twins,
		InPlace:        nodes.inPlace,
		LostPods:       lost,
		NextLostPod:    nextLost,
		Record:         nodes.record,
		StaleDefaults:  staleDefaults(mc, nodes.record.Defaults, opts),
		MaxUnavailable: unavailable,
	}
}

const port = memcached.Port

// role returns the role of the Memcached's pods.
func role(mc *cachev1alpha1.Memcached) render.Role {
	return render.Role{Owner: mc, Component: "cache", Selector: memcached.SelectorLabels(mc)}
}
