// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// Plan is the desired state of a MemcachedProxy. It is computed once in each reconcile.
type Plan struct {
	// Objects are all objects that must exist. Any other child is deleted.
	Objects []client.Object
	// Problem is why the spec cannot be carried out, or nil. Running pods stay as they are.
	Problem *memcached.Problem
	// HoldTemplate reports that no pods of this spec may be created.
	HoldTemplate bool
	// HoldAll reports that nothing may be written, because the names belong to another owner.
	HoldAll bool
	// Routes are the proxies' routes, nil if unknown. Announcing reports that the existing ConfigMap has other routes.
	Routes     *protocol.Routes
	Announcing bool
	// Ask lists the pods whose parents of memcached must be asked which routes they have, and which nodes they miss.
	Ask []*corev1.Pod
	// TemplateHash is the hash of this spec's pod template.
	TemplateHash string
	// Next is the time until the announced number of nodes takes effect, 0 if none is announced.
	Next time.Duration
}

// For returns the desired state of a MemcachedProxy.
func For(v View, opts memcached.Options) Plan {
	v.Proxy = v.Proxy.DeepCopy() // it may come from a client's cache and must not be changed
	if problem := namesakeProblem(v); problem != nil {
		return Plan{Problem: problem, HoldAll: true, Routes: v.liveRoutes()}
	}
	template, problem := deploymentOf(v, opts)
	role := role(v.Proxy)
	service := role.Service("", v.Proxy.Spec.Service, v.Proxy.Spec.TLS)
	service.Spec.SessionAffinity = corev1.ServiceAffinityNone // the connections of one client are spread over several proxies
	plan := Plan{
		Objects:      []client.Object{service},
		Problem:      problem.And(poolProblem(v)),
		HoldTemplate: problem != nil,
		Routes:       routesOf(v),
		TemplateHash: memcached.RecordOf(template).Template,
	}
	if memcached.WantsBudget(v.Proxy.Spec.PodDisruptionBudget) {
		plan.Objects = append(plan.Objects, role.PodDisruptionBudget(v.Proxy.Spec.PodDisruptionBudget))
	}
	if wanted := v.Proxy.Spec.NetworkPolicy; wanted != nil {
		plan.Objects = append(plan.Objects, role.NetworkPolicy(*wanted, v.Proxy.Spec.TLS, memcached.ParentPort))
	}
	if plan.Routes != nil {
		plan.Objects = append(plan.Objects, role.ConfigMap(RoutesSuffix, map[string]string{protocol.RoutesKey: plan.Routes.String()}))
		plan.Announcing = v.liveRoutes() != nil && plan.Routes.String() != v.liveRoutes().String()
		plan.Next = plan.Routes.Pool.Wait(v.Now)
	} else if found := v.ConfigMap(); found != nil {
		plan.Objects = append(plan.Objects, role.ConfigMap(RoutesSuffix, found.Data))
	}
	if !plan.Announcing {
		plan.Ask = v.Workload().Nodes(v.Pods)
	}
	// Pods cannot start without the ConfigMap of the routes.
	if plan.Routes != nil || v.Workload() != nil {
		plan.Objects = append(plan.Objects, template)
	}
	return plan
}

// namesakeProblem returns a problem if a Memcached with the same name exists that is older than the MemcachedProxy, or of the same
// age: the objects of both would have the same names.
func namesakeProblem(v View) *memcached.Problem {
	other := v.Namesake
	if other == nil || v.Proxy.CreationTimestamp.Before(&other.CreationTimestamp) {
		return nil
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "A Memcached of the same name exists in the namespace, and " +
		"their objects would bear the same names: delete one of the two, or create the MemcachedProxy with another name"}
}
