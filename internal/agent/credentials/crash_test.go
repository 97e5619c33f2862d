// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// killed is the value of a panic by which a test kills the agent.
type killed struct{}

// survives runs a function, and reports whether the agent is still alive afterwards.
func survives(run func()) (survived bool) {
	defer func() {
		if reason := recover(); reason != nil && reason != any(killed{}) {
			panic(reason)
		}
	}()
	run()
	return true
}

// rotation is a testbed with Secrets before and after a change of everything: CAs, certificate and users.
type rotation struct {
	*testbed

	fresh, second *issued
	to            secrets
}

// newRotation runs the agent and memcached with the Secrets before the change.
func newRotation(t *testing.T) *rotation {
	t.Helper()
	old, fresh := issue(t, 1, nil, authority), issue(t, 2, nil, authority)
	r := &rotation{fresh: fresh, second: issue(t, 0xb2, fresh)}
	r.to = secrets{r.second.tlsSecret(t, fresh), usersSecret("bob", "3", "zoe", "4")}
	r.testbed = newTestbed(t, issue(t, 0xa1, old).tlsSecret(t, old), usersSecret("bob", "1", "eve", "2")).run()
	return r
}

// change changes the Secrets. From then on, the function "before" runs ahead of each call of the agent to memcached or the clock. A signal
// counts as two calls: "before" runs ahead of the signal, and again after it. Its argument is the number of the call: 1, 2 and so on.
func (r *rotation) change(before func(number int)) {
	calls := 0
	r.set(r.to)
	r.memcached.beforeCall = func() {
		calls++
		before(calls)
	}
	r.agent.now = func() time.Time {
		r.memcached.beforeCall()
		return r.now
	}
}

// mustConverge fails the test unless memcached serves the new content. The agent must report removed CAs that memcached still trusts, and
// removed users that memcached has accepted. It may also report removals that have no effect, until memcached restarts.
func (r *rotation) mustConverge() {
	r.t.Helper()
	r.settle()
	if !r.memcached.serves(r.second, r.to.users) {
		r.t.Errorf("memcached does not serve the new content: %v", r.memcached.lines)
	}
	status := r.agent.Status()
	if !status.Succeeded || status.Served == nil || Serial(status.Served) != "b2" {
		r.t.Errorf("the agent reports %+v", status)
	}
	ca, user := r.memcached.removed(r.fresh, r.to.users)
	reported := status.RestartRequired
	if ca && !reported[ReasonCARemoved] || user && !reported[ReasonUserRemoved] {
		r.t.Errorf("the agent reports %v, but a CA that was removed is trusted: %t; a user that was removed connected: %t", reported, ca, user)
	}
	r.memcached.start()
	r.settle()
	r.mustHave(true, "b2")
}

// Each run kills the agent at a different call: for example before it replaces the files, after the signal, or while it verifies the
// reload. The next agent must complete the rotation. Memcached may restart at any call as well: it may read the old files, the new files,
// or first the old and then the new files.
func TestTheAgentIsKilledAtEachStep(t *testing.T) {
	for _, story := range []struct {
		name                            string
		restartsBefore, kills, restarts bool
	}{
		{name: "the agent is killed", kills: true},
		{name: "the agent is killed, and memcached restarts", kills: true, restarts: true},
		{name: "memcached restarts", restartsBefore: true},
		{name: "memcached restarts, and the agent is killed at the next call", restartsBefore: true, kills: true},
	} {
		at := 0
		for reached := true; reached && at < 100; {
			at++
			t.Run(fmt.Sprintf("%s at call %d", story.name, at), func(t *testing.T) {
				r := newRotation(t)
				reached = false
				r.change(func(number int) {
					reached = reached || number == at
					switch {
					case number == at && story.restartsBefore:
						r.memcached.start()
					case story.kills && (number == at || number == at+1):
						panic(killed{})
					}
				})
				alive := survives(r.settle)
				r.memcached.beforeCall = func() {}
				if !alive {
					if story.restarts {
						r.memcached.start()
					}
					r.restartAgent()
				}
				r.mustConverge()
			})
		}
		if at < 12 {
			t.Errorf("%s: there were only %d calls", story.name, at)
		}
	}
}

// The agent may be killed after each step of install, and memcached may restart before each.
func TestTheAgentIsKilledWhileItSwaps(t *testing.T) {
	for steps := range 4 {
		for restart := range steps + 2 { // at last, it does not restart
			t.Run(fmt.Sprintf("after %d steps, memcached restarts after %d", steps, restart), func(t *testing.T) {
				r := newRotation(t)
				r.set(r.to)
				next, err := check(r.config, r.to, nil, r.now)
				must(t, err)
				must(t, r.agent.store.prepare(map[string][]byte{"tls.crt": next.files()["tls.crt"]})) // a part of the files
				for i := range steps + 1 {
					if i == restart {
						r.memcached.start()
					}
					if i < steps {
						must(t, r.agent.installation(next)[i]())
					}
				}
				r.restartAgent()
				r.mustConverge()
				if left, err := filepath.Glob(filepath.Join(r.config.Folder, "*")); err != nil || len(left) != 3 {
					t.Errorf("the folder has %v, %v", left, err)
				}
			})
		}
	}
}
