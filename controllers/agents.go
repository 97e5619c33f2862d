// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
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
	hosts []string
	// serves reports that the node is ready and has an address. Otherwise, its agent is not asked: the pod's status then shows what
	// is wrong.
	serves  bool
	askedAt time.Time
	// tried is true after the first request has ended, and answered is true after the first success. failure is why the last
	// request failed, empty if it succeeded.
	tried, answered bool
	failure         string
	problems        []protocol.Problem
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
	if !memcached.IsStatefulSet(view.Memcached) {
		delete(a.nodes, name)
		return memcached.AgentReports{}
	}
	var reports memcached.AgentReports
	nodes := map[types.UID]*agentNode{}
	for _, pod := range view.Workload.Nodes(view.Pods) {
		node := a.nodes[name][pod.UID]
		if node == nil {
			node = &agentNode{}
		}
		node.observe(view.Memcached, pod)
		nodes[pod.UID] = node
		if node.answered {
			reports.Nodes = append(reports.Nodes, memcached.AgentReport{Pod: pod.Name, Problems: node.problems})
		}
		reports.Pending = reports.Pending || node.serves && !node.tried
		reports.Unanswered = reports.Unanswered || node.serves && !node.answered
	}
	a.nodes[name] = nodes
	return reports
}

func (n *agentNode) observe(mc *cachev1alpha1.Memcached, pod *corev1.Pod) {
	n.pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Status:     corev1.PodStatus{PodIP: pod.Status.PodIP},
	}
	n.hosts = memcached.CertificateHosts(mc, pod)
	n.serves = memcached.PodReady(pod) && pod.Status.PodIP != ""
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

// PollAgents asks the agent of each ready node, at most once a minute. It returns the Memcacheds whose status may change.
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

type dueAgent struct {
	name  types.NamespacedName
	hosts []string
}

// due returns the agents that have to be asked, by their pods, and marks them as asked.
func (a *agents) due(now time.Time) map[*corev1.Pod]dueAgent {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	due := map[*corev1.Pod]dueAgent{}
	for name, nodes := range a.nodes {
		for _, node := range nodes {
			if node.serves && (node.askedAt.IsZero() || now.Sub(node.askedAt) >= agentInterval) {
				node.askedAt = now
				due[node.pod] = dueAgent{name, node.hosts}
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
	problems := status.Known()
	changed := !node.answered || !slices.Equal(problems, node.problems)
	node.answered, node.problems = true, problems
	return changed
}
