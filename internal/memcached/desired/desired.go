// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package desired computes the objects that a Memcached must have. It is pure, and does not import package status. The comment of
// package memcached explains its words.
//
// In a StatefulSet, memcached has a parent. Package rollout decides the steps of its nodes: fleetOf observes the nodes for it, and change
// turns its steps into changes of pods and of the ConfigMap with their arguments.
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
	plan := memcached.Plan{Objects: objects}
	_, plan.MaxUnavailable = updateLimits(mc)
	workloads := statefulSetsOf
	if !memcached.IsStatefulSet(mc) {
		workloads = deploymentOf
	}
	if objects := workloads(v, opts, &plan); v.Workload != nil || !v.Occupied() { // otherwise, clients would not find new nodes
		plan.Objects = append(plan.Objects, objects...)
	}
	return plan
}

const port = memcached.Port

// role returns the role of the Memcached's pods.
func role(mc *cachev1alpha1.Memcached) render.Role {
	return render.Role{Owner: mc, Component: "cache", Selector: memcached.SelectorLabels(mc)}
}
