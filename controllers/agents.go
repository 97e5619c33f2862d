// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

const (
	// agentInterval is the shortest time between two requests to an agent.
	agentInterval = time.Minute
	// agentRound is how often the operator looks for agents to ask.
	agentRound = 5 * time.Second
	// agentsAtOnce is how many agents are asked at the same time. Each request takes a second at most.
	agentsAtOnce = 16
)

// agents keeps the problems that the agents of nodes report, such as an invalid Secret. The operator itself cannot read Secrets. A separate
// goroutine asks the agents, so an agent that does not answer delays no reconcile.
type agents struct {
	mutex sync.Mutex
	nodes map[types.NamespacedName]map[types.UID]*agentNode
	// changed passes names of Memcacheds to the controller, which then reconciles them.
	changed chan event.TypedGenericEvent[types.NamespacedName]
}

// agentNode is a node with the last answer of its agent. While the agent does not answer, the last answer stays.
type agentNode struct {
	// pod has only the fields that requests to the agent need.
	pod   *corev1.Pod
	name  types.NamespacedName
	hosts []string
	proxy bool
	// started reports that the agent has started and has an address. Before, it is not asked: the pod's status then shows what is wrong.
	started bool
	// dueAt is when to ask the agent next, or zero.
	dueAt time.Time
	// tried is true after the first request has ended. failure is why the last request failed, empty if it succeeded. report is nil before
	// the first success.
	tried   bool
	failure string
	report  *memcached.AgentReport
}

func newAgents() *agents {
	return &agents{
		nodes:   map[types.NamespacedName]map[types.UID]*agentNode{},
		changed: make(chan event.TypedGenericEvent[types.NamespacedName]),
	}
}

// track records the nodes of a Memcached and returns the reports of their agents. A nil *agents returns no reports.
func (a *agents) track(view memcached.View) memcached.AgentReports {
	if a == nil {
		return memcached.AgentReports{}
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	name := client.ObjectKeyFromObject(view.Memcached)
	known, mc := a.nodes[name], view.Memcached
	delete(a.nodes, name)
	var reports memcached.AgentReports
	nodes := map[types.UID]*agentNode{}
	for _, pod := range withSecrets(view) {
		node := known[pod.UID]
		started := pod.Status.PodIP != "" && agentStarted(pod)
		if node == nil {
			node = &agentNode{name: name, proxy: memcached.HasProxies(mc), started: started}
		}
		node.pod = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Status:     corev1.PodStatus{PodIP: pod.Status.PodIP},
		}
		node.hosts = memcached.CertificateHosts(mc, pod)
		node.start(started)
		nodes[pod.UID] = node
		if node.report != nil {
			reports.Nodes = append(reports.Nodes, *node.report)
		}
		reports.Pending = reports.Pending || node.started && !node.tried
		reports.Unanswered = reports.Unanswered || node.started && node.report == nil
	}
	if len(nodes) > 0 {
		a.nodes[name] = nodes
	}
	return reports
}

// start notes whether the agent has started. One that has just started is due.
func (n *agentNode) start(started bool) {
	if started && !n.started && n.dueAt.IsZero() {
		n.dueAt = time.Unix(0, 0)
	}
	n.started = started
}

func agentStarted(pod *corev1.Pod) bool {
	agent := memcached.StatusOf(pod, memcached.AgentContainerName)
	return memcached.PodReady(pod) || agent != nil && ptr.Deref(agent.Started, false)
}

// withSecrets returns the nodes or proxies whose agents load Secrets. Other agents know nothing that their metrics do not say.
func withSecrets(view memcached.View) []*corev1.Pod {
	switch mc := view.Memcached; {
	case mc.Spec.TLS == nil && mc.Spec.Auth == nil:
		return nil
	case memcached.HasProxies(mc): // TLS ends there
		return view.ProxyPods()
	default:
		return view.Nodes()
	}
}

func (a *agents) forget(name types.NamespacedName) {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.nodes, name)
}

// source returns the event source that enqueues the Memcacheds whose names arrive on the channel changed.
func (a *agents) source() source.Source {
	return source.TypedChannel(a.changed, handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[types.NamespacedName], q queue) {
			q.Add(reconcile.Request{NamespacedName: e.Object})
		},
	})
}

// runAgentPolls asks the agents, and enqueues the Memcacheds whose status may change, until the context ends.
func (r *Reconciler) runAgentPolls(ctx context.Context) error {
	rounds := time.NewTicker(agentRound)
	defer rounds.Stop()
	for {
		for _, name := range r.PollAgents(ctx) {
			select {
			case r.agents.changed <- event.TypedGenericEvent[types.NamespacedName]{Object: name}:
			case <-ctx.Done():
			}
		}
		select {
		case <-rounds.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// PollAgents asks the agents that are due. It returns the Memcacheds whose status or nodes may change.
func (r *Reconciler) PollAgents(ctx context.Context) []types.NamespacedName {
	type answer struct {
		status protocol.Status
		err    error
	}
	due := r.agents.due(r.Clock.Now())
	answers := AskAll(slices.Collect(maps.Keys(due)), agentsAtOnce, func(pod *corev1.Pod) answer {
		status, err := r.Nodes.Ask(ctx, pod, memcached.MetricsPort, due[pod].hosts...)
		return answer{status, err}
	})
	changed := map[types.NamespacedName]bool{}
	for pod, asked := range due {
		if got := answers[pod.UID]; ctx.Err() == nil && r.agents.note(ctx, asked.name, pod, got.status, got.err) {
			changed[asked.name] = true
		}
	}
	return slices.Collect(maps.Keys(changed))
}

// due returns the agents that have to be asked, by their pods. Each is due once in agentInterval. The first time is in the next round for
// one that has just started, and random for one that had started when this process saw it first, so that the requests spread over the
// interval.
func (a *agents) due(now time.Time) map[*corev1.Pod]agentNode {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	due := map[*corev1.Pod]agentNode{}
	for _, nodes := range a.nodes {
		for _, node := range nodes {
			switch {
			case !node.started:
			case node.dueAt.IsZero():
				node.dueAt = now.Add(rand.N(agentInterval)) //nolint:gosec // nobody gains from a guess
			case !now.Before(node.dueAt):
				node.dueAt = now.Add(agentInterval)
				due[node.pod] = *node
			}
		}
	}
	return due
}

// note records an agent's answer or the error, and reports whether the status may change.
func (a *agents) note(ctx context.Context, name types.NamespacedName, pod *corev1.Pod, status protocol.Status, err error) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	node := a.nodes[name][pod.UID]
	if node == nil {
		return false // the node is gone
	}
	first, before := !node.tried, node.failure
	node.tried, node.failure = true, ""
	if err != nil {
		node.failure = err.Error()
		if before == "" {
			log.FromContext(ctx).Info("The agent of a node cannot be asked what is wrong", "pod", client.ObjectKeyFromObject(pod),
				"reason", node.failure)
		}
		return first
	}
	report := memcached.AgentReport{
		Pod: pod.Name, UID: pod.UID, Proxy: node.proxy, Problems: status.Known(), Restart: max(status.Forget, 0),
	}
	changed := node.report == nil || !reflect.DeepEqual(report, *node.report)
	node.report = &report
	return changed
}
