// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// killed is the value of a panic by which a test kills the agent.
type killed struct{}

// survives runs a function, and reports whether the agent is still alive afterwards.
func survives(run func()) (survived bool) {
	defer func() {
		if reason := recover(); reason != nil {
			if _, ours := reason.(killed); !ours {
				panic(reason)
			}
		}
	}()
	run()
	return true
}

// rotation is a testbed with Secrets before and after a change of everything: CAs, certificate and users.
type rotation struct {
	*testbed

	old, fresh           *issued
	first, second        *issued
	oldUsers, freshUsers map[string][]byte
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	r := &rotation{old: issue(t, 1, nil, authority), fresh: issue(t, 2, nil, authority)}
	r.first, r.second = issue(t, 0xa1, r.old), issue(t, 0xb2, r.fresh)
	r.oldUsers, r.freshUsers = usersSecret("bob", "1", "eve", "2"), usersSecret("bob", "3", "zoe", "4")
	r.testbed = newTestbed(t, r.first.tlsSecret(t, r.old), r.oldUsers)
	return r
}

// change changes the Secrets. From then on, the function "before" runs ahead of each call of the agent to memcached or the clock. A signal
// counts as two calls: "before" runs ahead of the signal, and again after it. Its argument is the number of the call: 1, 2 and so on.
func (r *rotation) change(before func(number int)) {
	r.tls.set(r.t, r.second.tlsSecret(r.t, r.fresh))
	r.users.set(r.t, r.freshUsers)
	r.memcached.calls, r.memcached.beforeCall = 0, before
	r.agent.now = func() time.Time {
		r.memcached.called()
		return r.now
	}
}

// mustConverge fails the test unless memcached serves the new content. The agent must report removed CAs that memcached still trusts, and
// removed users that memcached has accepted. If exact is false, the agent may also report removals that have no effect. Finally,
// mustConverge restarts memcached. Then the agent must report nothing.
func (r *rotation) mustConverge(exact bool) {
	r.t.Helper()
	if !r.memcached.serves(r.second, r.freshUsers) {
		r.t.Errorf("memcached does not serve the new content: %v", r.memcached.lines)
	}
	status := r.agent.Status()
	if !status.Succeeded || status.Served == nil || Serial(status.Served) != "b2" {
		r.t.Errorf("the agent reports %+v", status)
	}
	ca, user := r.memcached.removed(r.fresh, r.freshUsers)
	reported := status.RestartRequired
	if ca && !reported[ReasonCARemoved] || user && !reported[ReasonUserRemoved] {
		r.t.Errorf("the agent reports %v, but a CA that was removed is trusted: %t; a user that was removed connected: %t", reported, ca, user)
	}
	if exact && (ca != reported[ReasonCARemoved] || user != reported[ReasonUserRemoved]) {
		r.t.Errorf("the agent reports %v, want %t and %t", reported, ca, user)
	}
	r.memcached.beforeCall = nil
	r.memcached.start()
	r.settle()
	if reported := r.agent.Status().RestartRequired; slices.Contains(slices.Collect(maps.Values(reported)), true) {
		r.t.Errorf("after a restart of memcached, the agent reports %v", reported)
	}
}

// Each run kills the agent at a different call: for example before it replaces the files, after the signal, or while it verifies the
// reload. The next agent must complete the rotation, even if memcached has restarted meanwhile.
func TestTheAgentIsKilledAtEachStep(t *testing.T) {
	for _, restarts := range []string{"never", "one call before", "after"} {
		killedAt := 0
		for completed := false; !completed && killedAt < 100; {
			killedAt++
			t.Run(fmt.Sprintf("call %d, memcached restarts: %s", killedAt, restarts), func(t *testing.T) {
				r := newRotation(t)
				r.run()
				r.change(func(number int) {
					if restarts == "one call before" && number == killedAt-1 {
						r.memcached.start()
					}
					if number == killedAt {
						panic(killed{})
					}
				})
				completed = survives(r.settle)
				r.memcached.beforeCall = nil
				if restarts == "after" {
					r.memcached.start()
				}
				r.startAgent()
				r.mustBegin()
				r.settle()
				r.mustConverge(restarts == "never")
			})
		}
		if killedAt < 12 {
			t.Errorf("there were only %d steps", killedAt)
		}
	}
}

// memcached may restart at any time. It may read the old files, the new files, or first the old and then the new files.
func TestMemcachedRestartsAtEachStep(t *testing.T) {
	for restartedAt, completed := 1, false; !completed && restartedAt < 100; restartedAt++ {
		t.Run(fmt.Sprintf("call %d", restartedAt), func(t *testing.T) {
			r := newRotation(t)
			r.run()
			completed = true
			r.change(func(number int) {
				if number == restartedAt {
					completed = false
					r.memcached.start()
				}
			})
			r.settle()
			r.settle()
			r.mustConverge(false)
		})
	}
}

// The agent may be killed at any point of install.
func TestTheAgentIsKilledWhileItSwaps(t *testing.T) {
	steps := []struct {
		name string
		take func(r *rotation, next *content) error
	}{
		{"a part of the files is written", func(r *rotation, next *content) error {
			return r.agent.store.prepare(map[string][]byte{"tls.crt": next.files()["tls.crt"]})
		}},
		{"the files are written", func(r *rotation, next *content) error { return r.agent.store.prepare(next.files()) }},
		{"the record is written", func(r *rotation, next *content) error {
			return r.agent.remember(func(record *record) {
				for _, reason := range r.agent.current.removed(next) {
					record.Removed[reason] = removing
				}
			})
		}},
		{"the link is renamed", func(r *rotation, _ *content) error { return r.agent.store.swap() }},
	}
	for last, step := range steps {
		for _, restarts := range []string{"never", "before", "after"} {
			t.Run(step.name+", memcached restarts: "+restarts, func(t *testing.T) {
				r := newRotation(t)
				r.run()
				r.change(nil)
				next, err := check(r.config, secrets{tls: r.second.tlsSecret(t, r.fresh), users: r.freshUsers}, nil, r.now)
				if err != nil {
					t.Fatal(err)
				}
				for i, step := range steps[:last+1] {
					if i == last && restarts == "before" {
						r.memcached.start()
					}
					if err := step.take(r, next); err != nil {
						t.Fatal(err)
					}
				}
				if restarts == "after" {
					r.memcached.start()
				}
				r.startAgent()
				r.mustBegin()
				r.settle()
				r.mustConverge(restarts == "never")
				if left, err := filepath.Glob(filepath.Join(r.config.Folder, "*")); err != nil || len(left) != 3 {
					t.Errorf("the folder has %v, %v", left, err)
				}
			})
		}
	}
}
