// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package desired computes the objects that a Memcached must have. It is pure, and does not import package status. The comment of
// package memcached explains its words.
//
// In a StatefulSet, memcached has a parent. Package rollout decides the steps of its nodes: fleetOf observes the nodes for it, and change
// turns its steps into changes of pods and of the ConfigMap with their arguments. Proxies store nothing, so Kubernetes rolls them.
package desired

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/memcached"
)

// For returns the desired state of a Memcached.
func For(v memcached.View, opts memcached.Options) memcached.Plan {
	mc := v.Memcached.DeepCopy() // because the original is in the cache
	keepRestart(mc, v)
	v.Memcached = mc
	var plan memcached.Plan
	front := proxies(v, opts, &plan)
	// From here on, the Memcached is as its nodes see it.
	mc = mc.DeepCopy()
	mc.Spec.TLS = memcached.NodeTLS(mc)
	v.Memcached = mc
	objects := []client.Object{Service(mc)}
	if memcached.WantsBudget(mc.Spec.PodDisruptionBudget) {
		objects = append(objects, nodeRole(mc).budget(mc.Spec.PodDisruptionBudget))
	}
	if mc.Spec.NetworkPolicy != nil {
		objects = append(objects, NetworkPolicy(v))
	}
	if v.Servers() != nil {
		objects = append(objects, ConfigMap(v))
	}
	plan.Objects = objects
	_, plan.MaxUnavailable = updateLimits(mc)
	workloads := statefulSetsOf
	if !memcached.IsStatefulSet(mc) {
		workloads = deploymentOf
	}
	plan.Objects = append(plan.Objects, workloads(v, opts, &plan)...)
	plan.Objects = append(plan.Objects, front...)
	if plan.Routes != nil { // no event reports that an announced number of nodes takes effect
		plan.NextStep = memcached.Sooner(plan.NextStep, plan.Routes.Pool.Wait(v.Now))
	}
	return plan
}
