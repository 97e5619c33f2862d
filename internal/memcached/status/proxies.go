// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// frontOf returns the facts about the proxies, as if they were nodes, so that the same rows of the table look at both. It returns nil if
// the spec asks for no proxies.
func frontOf(v memcached.View) *facts {
	if !memcached.HasProxies(v.Memcached) {
		return nil
	}
	front := &facts{View: v, size: v.ProxySize()}
	front.Workload, front.Pods = v.ProxyWorkload(), v.Proxies
	front.Workloads = []*memcached.Workload{front.Workload}
	front.nodes = front.Workload.Nodes(front.Pods)
	front.ready = readyNodes(front.nodes)
	return front
}

// proxiesStatus returns the proxies as they appear in the status, nil if there are none.
func (f *facts) proxiesStatus() *cachev1alpha1.MemcachedProxiesStatus {
	if f.front == nil || f.front.Workload == nil {
		return nil
	}
	proxies := &cachev1alpha1.MemcachedProxiesStatus{Size: f.front.size, Ready: f.front.ready}
	if live := f.Routes(); live != nil {
		proxies.Nodes = int32(live.Pool.At(f.Now)) //nolint:gosec // at most 1000
	}
	return proxies
}

// reachable reports whether clients reach the nodes: without proxies or nodes, or with a Service that leads to a ready one. The first
// proxies of a cache that clients use already take nothing away while they start.
func (f *facts) reachable() bool {
	if f.front == nil || f.size == 0 || f.Last.IsTrue(available) && f.Last.ReadyProxies == 0 {
		return true
	}
	return (f.front.ready > 0 || f.front.size == 0) && f.proxiesDiscoverable()
}

func (f *facts) proxiesDiscoverable() bool {
	return memcached.Discoverable(f.Children, memcached.ProxyLabels(f.Memcached.Name))
}

// changeOfProxies returns what happens to the Deployment of the proxies, which are the front.
func (f *facts) changeOfProxies() change {
	w := f.Workload
	switch {
	case w == nil || w.ObservedGeneration == 0:
		return change{reason: cachev1alpha1.ReasonCreating, message: fmt.Sprintf("Starting %d proxies", f.size)}
	case w.Complete && w.Updated == w.Replicas && w.Replicas != f.size:
		return change{reason: cachev1alpha1.ReasonScaling, message: fmt.Sprintf("Scaling from %d to %d proxies", w.Replicas, f.size)}
	case w.Unobserved():
		return change{reason: cachev1alpha1.ReasonRollingOut, message: fmt.Sprintf("Updating %d proxies", f.size)}
	case !w.Complete && w.First:
		return change{cachev1alpha1.ReasonCreating, fmt.Sprintf("%d of %d proxies are started", w.Ready, f.size), overdueProxies(w)}
	case !w.Complete || w.Updated != w.Replicas:
		return change{cachev1alpha1.ReasonRollingOut, fmt.Sprintf("%d of %d proxies are updated", w.Updated, f.size), overdueProxies(w)}
	default:
		return change{}
	}
}

// overdueProxies names the proxies in the message of their Deployment: see LastReason.
func overdueProxies(w *memcached.Workload) string {
	return when(w.Overdue != "", "The rollout of the proxies cannot continue: %s", w.Overdue)
}

// missed returns the end of a message that says which proxies cannot use which nodes. It is empty if there are none.
func (f *facts) missed() (words string) {
	if f.front == nil || f.size == 0 {
		return ""
	}
	for _, pod := range f.front.nodes {
		if missed := missedBy(f, pod); missed != "" {
			words += "; " + missed
		}
	}
	return words
}

// missedBy says which nodes a proxy cannot use. It is empty for none, and for a node.
func missedBy(f *facts, pod *corev1.Pod) string {
	if proxy := f.Answers[pod.UID].Proxy; proxy != nil && proxy.Missed != "" {
		return pod.Name + " misses " + proxy.Missed
	}
	return ""
}

// uptake is the progress of a change of the routes.
type uptake struct {
	// The field "of" is the number of ready proxies. The field "have" is how many of them have read the ConfigMap's routes, and use
	// the number of nodes that the routes prescribe now. differs reports that a proxy has said that it is not one of these.
	have, of int32
	differs  bool
	// failure says why one of the ready proxies did not answer, or why it refused the routes. Otherwise, failure is empty.
	failure string
}

func (a uptake) complete() bool { return a.have == a.of }

// uptakeOf returns how many proxies have read the routes in the ConfigMap.
func uptakeOf(v memcached.View) (a uptake) {
	live := v.Routes()
	for _, pod := range v.ProxyPods() {
		if !memcached.PodReady(pod) {
			continue
		}
		a.of++
		answer, proxy := v.Answers[pod.UID], v.Answers[pod.UID].Proxy
		switch {
		case answer.Failure != "":
			a.failure = fmt.Sprintf("%s does not answer the operator: %s", pod.Name, answer.Failure)
		case proxy == nil: // it was not asked
		case live == nil, proxy.Routes != live.String(), proxy.Reloading, proxy.Count != live.Pool.At(v.Now):
			a.differs = true
			if proxy.Refused != nil && (live == nil || proxy.Routes != live.String() || proxy.Reloading) {
				a.failure = fmt.Sprintf("%s: %s", pod.Name, proxy.Refused.Reason)
			}
		default:
			a.have++
		}
	}
	return a
}

// haveRoutes is part of the message about a change of the routes.
const haveRoutes = " proxies have the new routes"

// changeOfRoutes returns the change of the routes that is in progress. It ends when all proxies have read the routes and no number of nodes
// is announced. A proxy that does not answer otherwise does not begin such a change.
func (f *facts) changeOfRoutes() change {
	live, now := f.Routes(), uptakeOf(f.View)
	if live == nil || !f.plan.Announcing && live.Pool.Wait(f.Now) == 0 && (now.complete() || !now.differs && !lastChangedRoutes(f.Last)) {
		return change{}
	}
	message := fmt.Sprintf("%d of %d"+haveRoutes+", to %d nodes", now.have, now.of, live.Pool.At(f.Now))
	if live.Pool.Wait(f.Now) > 0 {
		message = fmt.Sprintf("From %s on, all proxies lead to %d nodes instead of %d; %d of %d"+haveRoutes,
			live.Pool.Next.From.UTC().Format("15:04:05 MST"), live.Pool.Next.Count, live.Pool.Count, now.have, now.of)
	}
	if now.failure != "" {
		message += ". " + now.failure
	}
	return change{reason: cachev1alpha1.ReasonScaling, message: message}
}

func lastChangedRoutes(last memcached.Last) bool {
	condition := meta.FindStatusCondition(last.Conditions, progressing)
	return condition != nil && strings.Contains(condition.Message, haveRoutes)
}

// Intervals between questions to the parents of proxies. No event reports that the kubelet has delivered new routes, or that a proxy cannot
// use a node.
const (
	routesInterval  = 5 * time.Second
	proxiesInterval = 20 * time.Second
)

// askProxiesAfter returns the time until the parents of proxies must be asked again, or 0 if there are none. The view's last status is the
// current one.
func askProxiesAfter(v memcached.View) time.Duration {
	if !memcached.HasProxies(v.Memcached) || len(v.ProxyPods()) == 0 {
		return 0
	}
	if live := v.Routes(); lastChangedRoutes(v.Last) && (live == nil || live.Pool.Wait(v.Now) == 0 || !uptakeOf(v).complete()) {
		return routesInterval
	}
	return memcached.Sooner(proxiesInterval, SilentFor(v.ProxyPods(), v.Now))
}
