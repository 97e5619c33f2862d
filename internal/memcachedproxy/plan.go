// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// Plan is what a MemcachedProxy must be like. It is decided once in a reconcile.
type Plan struct {
	// Objects are all that must exist. What exists and is not among them is to be deleted.
	Objects []client.Object
	// Problem is why the spec cannot be carried out, nil if it can. What runs stays as it is.
	Problem *memcached.Problem
	// HoldTemplate reports that pods of this spec must not be created.
	HoldTemplate bool
	// HoldAll says that nothing is to be written: the names of the objects belong to somebody else.
	HoldAll bool
	// Routes are those of the proxies, nil if they are not known. Announcing reports that they announce another number of nodes for the
	// first time.
	Routes     *protocol.Routes
	Announcing bool
	// Ask are the proxies whose launchers are to be asked whether they have the routes, none at rest.
	Ask []*corev1.Pod
	// TemplateHash is that of the pod template of this spec.
	TemplateHash string
	// Next is how long it takes until an announced number of nodes takes effect, 0 if none is announced.
	Next time.Duration
}

// For decides what a MemcachedProxy must be like.
func For(v View, opts memcached.Options) Plan {
	v.Proxy = v.Proxy.DeepCopy() // the objects share nothing with what may come from a cache
	if problem := namesakeProblem(v); problem != nil {
		return Plan{Problem: problem, HoldAll: true, Routes: v.liveRoutes()}
	}
	template, problem := deploymentOf(v, opts)
	plan := Plan{
		Objects:      []client.Object{Service(v.Proxy)},
		Problem:      problem.And(poolProblem(v)),
		HoldTemplate: problem != nil,
		Routes:       routesOf(v),
		TemplateHash: template.Annotations[memcached.TemplateHashAnnotation],
	}
	if wantsBudget(v.Proxy) {
		plan.Objects = append(plan.Objects, PodDisruptionBudget(v.Proxy))
	}
	if wantsNetworkPolicy(v.Proxy) {
		plan.Objects = append(plan.Objects, NetworkPolicy(v.Proxy))
	}
	if plan.Routes != nil {
		plan.Objects = append(plan.Objects, ConfigMap(v.Proxy, *plan.Routes))
		plan.Announcing = v.liveRoutes() != nil && plan.Routes.String() != v.liveRoutes().String()
		plan.Next = plan.Routes.Pool.Wait(v.Now)
	}
	if v.changing() && !plan.Announcing {
		plan.Ask = v.serving()
	}
	// Without routes the pods would wait for the ConfigMap.
	if plan.Routes != nil || v.Workload() != nil {
		plan.Objects = append(plan.Objects, template)
	}
	return plan
}

// namesakeProblem reports a Memcached of the same name that was there first: the objects of both would have the same names.
func namesakeProblem(v View) *memcached.Problem {
	other := v.Namesake
	if other == nil || v.Proxy.CreationTimestamp.Before(&other.CreationTimestamp) {
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "A Memcached of the same name exists in the namespace, and " +
		"their objects would bear the same names: delete one of the two, or create the MemcachedProxy with another name"}
}
