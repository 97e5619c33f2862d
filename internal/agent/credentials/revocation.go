// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// settlePeriod is how long the last node waits after the content of a Secret has changed. By then, the kubelets have delivered the
// change to all nodes, and none of them restarts because of an earlier one alone. So nodes restart one at a time, and once if several
// Secrets change in a row.
const settlePeriod = 2 * time.Minute

// turnPeriod is how long a node waits at most for each node after it. The kubelet takes less to deliver a Secret, and to start a
// container again even with its longest back-off, five minutes. A node that waits longer waits for one that is broken, because of which
// the others must not keep what was removed. The more nodes are after it, the longer a node waits: even if none can ask another, they
// do not restart at the same time.
const turnPeriod = 10 * time.Minute

// revocationMessage begins the termination message of a memcached that the agent has ended. By it, the operator knows that nothing
// is wrong.
const revocationMessage = "Revocation: "

// revocation is how far a restart is that makes memcached forget. A node that has nothing to forget waits for its turn as well before it
// says that it is done: else the nodes before it would not wait for those after it.
type revocation struct {
	// key is that of the content that memcached has to have, and turn is true when it has been the turn of this node with it.
	key  string
	turn bool
	// required is true while memcached has something to forget.
	required bool
	// since is from when on this node could restart but for those after it, zero if it could not. After an obstacle that all nodes had,
	// none has waited for the others yet.
	since time.Time
	// held is why it has to wait.
	held error
	// ended is the memcached that was told to end.
	ended Process
}

// observe begins to wait anew when something has to be forgotten, or with each content as long as nothing has to be. Another change ends
// no wait of a node that has to forget: else there could always be another one before its turn.
func (v *revocation) observe(key string, required bool) {
	turn := v.turn && v.key == key
	if required != v.required || key != v.key && !required {
		*v = revocation{required: required}
	}
	v.key, v.turn = key, turn
}

// revocations are the reasons for which the agent has to restart memcached, none if none runs.
func (r *Reloader) revocations() []string {
	if r.running == (Process{}) {
		return nil
	}
	required := r.restartReasons()
	var reasons []string
	if r.config.RestartForAuthorities && required[ReasonCARemoved] {
		reasons = append(reasons, ReasonCARemoved)
	}
	if r.config.RestartForUsers && required[ReasonUserRemoved] {
		reasons = append(reasons, ReasonUserRemoved)
	}
	return reasons
}

// revoke ends memcached if it must forget something and it is the turn of this node. The kubelet starts it again, in the same pod. An
// agent that is killed before that has happened does the same again: what memcached has read is remembered, and nothing else.
func (r *Reloader) revoke(ctx context.Context) {
	if !r.config.Restarts() || r.current == nil {
		return
	}
	reasons, v := r.revocations(), &r.revocation
	v.observe(r.current.key(), len(reasons) > 0)
	if r.running == (Process{}) || v.ended == r.running || v.turn && !v.required {
		return
	}
	if !r.startsAgain() {
		v.since = time.Time{}
		return
	}
	if err := r.awaitTurn(ctx); err != nil {
		r.hold(err)
		return
	}
	v.turn = true
	if v.required {
		r.restart(reasons)
	}
}

// hold remembers why a node has to wait, and logs a reason that is new if it is a restart that waits.
func (r *Reloader) hold(err error) {
	v := &r.revocation
	if v.required && (v.held == nil || v.held.Error() != err.Error()) {
		r.log.Info("The restart of memcached waits", "reason", err.Error())
	}
	v.turn, v.held = false, err
}

// restart ends memcached.
func (r *Reloader) restart(reasons []string) {
	why := strings.Join(reasons, ",")
	if err := r.processes.explain(r.running, revocationMessage+why); err != nil {
		r.log.Warn("The termination message of memcached cannot be written", "reason", err.Error())
	}
	if err := r.processes.terminate(r.running); err != nil {
		r.log.Warn("memcached cannot be restarted", "reason", err.Error())
		return
	}
	r.revocation.ended = r.running
	r.countRestart(reasons)
	r.log.Info("memcached is restarted, so that it forgets what was removed", "process", r.running.ID, "reason", why)
}

// startsAgain reports whether memcached can start with the current generation. It has proven that by reading it. One that is too busy
// to be asked is not waited for: those who were removed could keep it busy.
func (r *Reloader) startsAgain() bool {
	return !r.state.Pending && r.proven == r.running || isBusy(r.unproven)
}

// awaitTurn succeeds if the nodes after this one are done, or have had their time.
func (r *Reloader) awaitTurn(ctx context.Context) error {
	after, err := r.nodesAfter()
	if err != nil {
		r.revocation.since = time.Time{}
		return err
	}
	if r.revocation.since.IsZero() {
		r.revocation.since = r.now()
	}
	switch {
	case len(after) > 0:
	case r.now().Sub(r.changed) < settlePeriod:
		return errUnsettled
	default:
		return nil
	}
	err = r.neighbors.done(ctx, after[0], r.current.key())
	if err != nil && r.now().Sub(r.revocation.since) >= time.Duration(len(after))*turnPeriod {
		r.log.Warn("The next node is not waited for any longer", "reason", err.Error())
		return nil
	}
	return err
}

var (
	errUnlisted  = errors.New("this node is not in the list of nodes")
	errForeign   = errors.New("the list has nodes that are not those of this cache")
	errUnsettled = errors.New("the other nodes may not have the changed Secrets yet")
)

// nodesAfter returns the addresses after that of this node.
func (r *Reloader) nodesAfter() ([]string, error) {
	list, err := os.ReadFile(r.config.Servers)
	if err != nil {
		return nil, err
	}
	return nodesAfter(r.node, r.domain, string(list))
}

// nodesAfter returns the addresses after that of a node in a list. All are nodes of the same cache, whoever wrote the list: they
// get a proof that the node knows the Secrets.
func nodesAfter(node, domain, list string) ([]string, error) {
	servers := strings.Split(list, ",")
	for i, server := range servers {
		if domain == "" || !strings.HasPrefix(server, node+domain+":") {
			continue
		}
		after := servers[i+1:]
		cache := node[:strings.LastIndex(node, "-")+1]
		own := regexp.MustCompile("^" + regexp.QuoteMeta(cache) + "[0-9]+" + regexp.QuoteMeta(domain) + ":[0-9]+$")
		if slices.ContainsFunc(after, func(s string) bool { return !own.MatchString(s) }) {
			return nil, errForeign
		}
		return after, nil
	}
	return nil, errUnlisted
}

// domainIn returns what follows the name of a pod of a StatefulSet in the addresses of its cache, .NAME.NAMESPACE.svc, from the file
// of host names that the kubelet writes. It is empty if that does not know the pod.
func domainIn(hosts, node string) string {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		for name := range strings.FieldsSeq(line) {
			labels := strings.Split(name, ".")
			if len(labels) > 3 && labels[0] == node && labels[3] == "svc" {
				return "." + strings.Join(labels[1:4], ".")
			}
		}
	}
	return ""
}

// forgets returns the key of the current generation if memcached has read it and has forgotten whatever it does not have, and all nodes
// after it have as well, or have had their time.
func (r *Reloader) forgets() string {
	done := r.config.Restarts() && r.current != nil && r.broken == nil && r.running != (Process{}) && r.proven == r.running &&
		!r.state.Pending && r.revocation.turn && len(r.revocations()) == 0
	if key := r.revocation.key; done && key == r.current.key() {
		return key
	}
	return ""
}
