// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// facts are the input of the conditions.
type facts struct {
	View // after the write
	Plan
	memcached.Written

	workload *memcached.Workload
	size     int32
	// existing is the number of proxies that are neither terminating nor failed. ready is the number of ready ones.
	existing, ready int32
	// problem is a problem of the spec, of a write or of the pods, or nil.
	problem *memcached.Problem
	// uptake is nil if no change of the routes is in progress.
	uptake *uptake
	// unwritten reports that the Deployment has another size or pod template than the spec asks for.
	unwritten bool
}

// StatusFor computes the status from the view before the write, the plan, and the result of the write.
func StatusFor(before View, plan Plan, written memcached.Written) cachev1alpha1.MemcachedProxyStatus {
	f := factsOf(before, plan, written)
	result := cachev1alpha1.MemcachedProxyStatus{
		ObservedGeneration: f.Proxy.Generation,
		Replicas:           f.existing,
		ReadyReplicas:      f.ready,
		Selector:           labels.SelectorFromSet(SelectorLabels(f.Proxy)).String(),
		Address:            Address(f.Proxy),
		Routes:             reported(f),
	}
	if w := f.workload; w != nil {
		result.Image = w.Image()
		if !w.Unobserved() && !f.unwritten {
			result.UpdatedReplicas = w.Updated
		}
	}
	result.Conditions = conditions(f)
	return result
}

func factsOf(before View, plan Plan, written memcached.Written) facts {
	f := facts{View: before, Plan: plan, Written: written, size: before.Size(), problem: written.Problem}
	f.Children = written.Over(before.Children)
	f.workload = f.Workload()
	for _, pod := range f.workload.Nodes(f.Pods) {
		f.existing++
		if memcached.PodReady(pod) {
			f.ready++
		}
	}
	if w := f.workload; w != nil {
		f.unwritten = w.Size != f.size || written.TemplatePending || plan.HoldTemplate && memcached.RecordOf(w).Template != plan.TemplateHash
	}
	if f.changing() || plan.Announcing && before.liveRoutes() != nil {
		f.uptake = f.unfinished()
	}
	if f.problem == nil {
		f.problem = podProblem(f)
	}
	return f
}

// podProblem returns why proxies are missing or not ready, or nil. Advice for nodes may name spec.config.memory. The memory of a proxy
// depends on spec.config.maxConnections, so podProblem names this field instead. memcached does not run while a proxy waits for DNS.
func podProblem(f facts) *memcached.Problem {
	problem := status.PodProblem(f.workload, f.Pods, f.Now)
	if missed := f.missed(); problem != nil && problem.Reason == cachev1alpha1.ReasonNodesUnresponsive && missed != "" {
		problem.Message = strings.TrimPrefix(missed, "; ")
	}
	if problem != nil {
		problem.Message = strings.ReplaceAll(problem.Message, "spec.config.memory", "spec.config.maxConnections")
	}
	return problem
}

// SilentFor returns the time until the next silent proxy must be reported, or 0 if there is none.
func (v View) SilentFor() time.Duration { return status.SilentFor(v.Workload().Nodes(v.Pods), v.Now) }

// unfinished returns how many proxies have read the routes. It returns nil if the change is over: all proxies have read the routes, no
// number of nodes is announced, and no other routes must be written.
func (f facts) unfinished() *uptake {
	now := f.View.uptake()
	if now.complete() && f.liveRoutes().Pool.Wait(f.Now) == 0 && !f.Announcing {
		return nil
	}
	return &now
}

// reported returns the routes in the ConfigMap as they appear in the status, or nil.
func reported(f facts) *cachev1alpha1.MemcachedProxyRoutes {
	live := f.liveRoutes()
	if live == nil {
		return nil
	}
	routes := &cachev1alpha1.MemcachedProxyRoutes{Nodes: int32(live.Pool.At(f.Now))} //nolint:gosec // at most 1000
	if live.Pool.Wait(f.Now) > 0 {
		routes.Next = ptr.To(int32(live.Pool.Next.Count)) //nolint:gosec // at most 1000
		routes.From = ptr.To(metav1.NewTime(live.Pool.Next.From))
	}
	if f.uptake != nil {
		routes.Proxies = &f.uptake.have
	}
	return routes
}

// announced returns a message about the change of the routes that is in progress, or an empty text.
func announced(f facts) string {
	live := f.liveRoutes()
	if live == nil || f.uptake == nil {
		return ""
	}
	message := fmt.Sprintf("%d of %d proxies have the new routes, to %d nodes", f.uptake.have, f.uptake.of, live.Pool.At(f.Now))
	if live.Pool.Wait(f.Now) > 0 {
		message = fmt.Sprintf("From %s on, all proxies lead to %d nodes instead of %d; %d of %d proxies have the new routes",
			live.Pool.Next.From.UTC().Format("15:04:05 MST"), live.Pool.Next.Count, live.Pool.Count, f.uptake.have, f.uptake.of)
	}
	if f.uptake.failure != "" {
		message += ". " + f.uptake.failure
	}
	return message
}
