// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// settlePeriod is how long the last node waits after the content of a Secret has changed. By then, the kubelets have delivered the
// change to all nodes, and none of them restarts because of an earlier one alone. So nodes restart one at a time, and once if several
// Secrets change in a row.
const settlePeriod = 2 * time.Minute

// nodeTimeout is how long a node waits at most for each node after it. The kubelet takes less to deliver a Secret, and to start a
// container again even with its longest back-off, five minutes. So a node that waits longer waits for one that is broken. It must not
// keep the others from removing credentials. The more nodes are after it, the longer a node waits: even if none can ask another, they
// do not restart at the same time.
const nodeTimeout = 10 * time.Minute

// revocationMessage begins the termination message of a memcached that the agent has ended. By it, the operator knows that nothing
// is wrong.
const revocationMessage = "Revocation: "

// loaded is what a revocation needs to know of a memcached.
type loaded struct {
	// running is the memcached. It has to use the current content, which was installed at changed.
	running Process
	current *content
	changed time.Time
	// required has the reasons to restart it.
	required map[string]bool
	// startable reports whether memcached can start with the current content, and verified whether it is known to use it.
	startable, verified bool
}

// revocation restarts memcached when something was removed from the Secrets (docs/design/ADR-0013). The nodes of a cache restart one at
// a time, the last one first. Each asks the next one only. So a node that needs no restart also waits for the nodes after it before it
// reports that it has completed.
type revocation struct {
	*environment

	// node is the name of the pod, and domain what follows it in the addresses of the cache.
	node, domain string
	peers        peers
	// restarts counts the restarts, by reason.
	restarts map[string]int

	// key is that of the current content. ready is true when all nodes after this one have completed with it, or have had their time.
	key   string
	ready bool
	// required is true while memcached uses something that was removed.
	required bool
	// since is from when on this node could restart but for those after it, zero if it could not. After an obstacle that all nodes had,
	// none has waited for the others yet.
	since time.Time
	// obstacle is why it waits.
	obstacle error
	// terminated is the memcached that was told to end.
	terminated Process

	mutex sync.Mutex
	// completed is the key of the current content once this memcached, and those of all later nodes in the list, no longer accept
	// anything that was removed from the Secrets. Until then it is empty.
	completed string
}

func newRevocation(e *environment) *revocation {
	node, _ := os.Hostname() // without a name, it is in no list of nodes, and waits
	hosts, _ := os.ReadFile("/etc/hosts")
	v := &revocation{
		environment: e, node: node, domain: domainIn(string(hosts), node), peers: newAgents(e.config.AgentPort), restarts: map[string]int{},
	}
	if e.config.RestartForAuthorities {
		v.restarts[ReasonCARemoved] = 0
	}
	if e.config.RestartForUsers {
		v.restarts[ReasonUserRemoved] = 0
	}
	return v
}

// reasons are those for which the agent has to restart memcached, none if none runs.
func (v *revocation) reasons(l loaded) []string {
	if l.running == (Process{}) {
		return nil
	}
	var reasons []string
	if v.config.RestartForAuthorities && l.required[ReasonCARemoved] {
		reasons = append(reasons, ReasonCARemoved)
	}
	if v.config.RestartForUsers && l.required[ReasonUserRemoved] {
		reasons = append(reasons, ReasonUserRemoved)
	}
	return reasons
}

// revoke ends memcached if it uses something that was removed and the nodes after this one have completed. The kubelet starts it again,
// in the same pod. An agent that is killed before that has happened does the same again: the record says what memcached has read.
func (v *revocation) revoke(ctx context.Context, l loaded) {
	if !v.config.Restarts() || l.current == nil {
		return
	}
	reasons := v.reasons(l)
	v.observe(l.current.key(), len(reasons) > 0)
	if l.running == (Process{}) || v.terminated == l.running || v.ready && !v.required {
		return
	}
	if !l.startable {
		v.since = time.Time{}
		return
	}
	if err := v.awaitNodesAfter(ctx, l.changed); err != nil {
		v.wait(err)
		return
	}
	v.ready = true
	if v.required {
		v.restart(l.running, reasons)
	}
}

// observe begins to wait again when a restart becomes required. While none is required, each new content begins it again; a node that has
// to restart goes on waiting, or changes that follow each other would put its restart off for ever.
func (v *revocation) observe(key string, required bool) {
	ready := v.ready && v.key == key
	if required != v.required || key != v.key && !required {
		v.since, v.obstacle, v.terminated = time.Time{}, nil, Process{}
	}
	v.key, v.required, v.ready = key, required, ready
}

// wait remembers why a node has to wait, and logs a new reason if it waits to restart.
func (v *revocation) wait(obstacle error) {
	if v.required && (v.obstacle == nil || v.obstacle.Error() != obstacle.Error()) {
		v.log.Info("The restart of memcached waits", "reason", obstacle.Error())
	}
	v.ready, v.obstacle = false, obstacle
}

// restart ends memcached.
func (v *revocation) restart(running Process, reasons []string) {
	why := strings.Join(reasons, ",")
	if err := v.processes.explain(running, revocationMessage+why); err != nil {
		v.log.Warn("The termination message of memcached cannot be written", "reason", err.Error())
	}
	if err := v.processes.terminate(running); err != nil {
		v.log.Warn("memcached cannot be restarted", "reason", err.Error())
		return
	}
	v.terminated = running
	for _, reason := range reasons {
		v.restarts[reason]++
	}
	v.log.Info("memcached is restarted, so that nothing that was removed is accepted", "process", running.ID, "reason", why)
}

// awaitNodesAfter succeeds if the nodes after this one have completed, or have had their time.
func (v *revocation) awaitNodesAfter(ctx context.Context, changed time.Time) error {
	list, err := os.ReadFile(v.config.Servers)
	if err != nil {
		v.since = time.Time{}
		return err
	}
	after, err := nodesAfter(v.node, v.domain, string(list))
	if err != nil {
		v.since = time.Time{}
		return err
	}
	if v.since.IsZero() {
		v.since = v.now()
	}
	switch {
	case len(after) > 0:
	case v.now().Sub(changed) < settlePeriod:
		return errUnsettled
	default:
		return nil
	}
	err = v.peers.completed(ctx, after[0], v.key)
	if err != nil && v.now().Sub(v.since) >= time.Duration(len(after))*nodeTimeout {
		v.log.Warn("The next node is not waited for any longer", "reason", err.Error())
		return nil
	}
	return err
}

var errUnsettled = errors.New("the other nodes may not have the changed Secrets yet")

// publish updates what ServeHTTP answers.
func (v *revocation) publish(l loaded) {
	completed := ""
	if v.config.Restarts() && l.verified && v.ready && len(v.reasons(l)) == 0 && v.key == l.current.key() {
		completed = v.key
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.completed = completed
}

// ServeHTTP answers agents that ask whether this node has completed.
func (v *revocation) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	v.mutex.Lock()
	key := v.completed
	v.mutex.Unlock()
	answerPeer(w, request, v.node, key)
}

// counts are the restarts, by reason.
func (v *revocation) counts() map[string]int { return maps.Clone(v.restarts) }
