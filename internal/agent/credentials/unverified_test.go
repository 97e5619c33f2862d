// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"os"
	"strings"
	"testing"
)

func TestAMemcachedThatDoesNotReloadIsSignaledAgain(t *testing.T) {
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	b := newTestbed(t, first.tlsSecret(t), usersSecret("bob", "1")).run()
	b.memcached.deaf, b.memcached.signals = true, 0
	b.tls.set(t, second.tlsSecret(t))
	b.users.set(t, usersSecret("bob", "2"))
	b.steps(60)
	b.mustHave(false, "a1", ReasonUserRemoved)
	if b.memcached.signals < 30 || !b.agent.Status().Unverified {
		t.Errorf("%d signals; %+v", b.memcached.signals, b.agent.Status())
	}
	if warned := strings.Count(b.log.String(), "memcached serves the certificate a1, not b2"); warned != 1 {
		t.Errorf("it is logged %d times:\n%s", warned, b.log.String())
	}
	if logins := b.agent.Logins(); len(logins) != 2 || logins[0].password != "2" || logins[1].password != "1" {
		t.Errorf("statistics are read as %v", logins)
	}
	b.memcached.deaf = false
	b.settle()
	b.mustHave(true, "b2", ReasonUserRemoved)
	if logins := b.agent.Logins(); len(logins) != 1 || logins[0].password != "2" {
		t.Errorf("statistics are read as %v", logins)
	}
}

// Neither an additional CA nor a removed user shows in the served certificate or in the logins of current users. The agent must notice
// nevertheless that memcached has not read such a change.
func TestWhatShowsNowhereIsProven(t *testing.T) {
	ca, another := issue(t, 1, nil, authority), issue(t, 2, nil, authority)
	served := issue(t, 0xa1, ca)
	for name, change := range map[string]func(*testbed){
		"a CA more":   func(b *testbed) { b.tls.set(t, served.tlsSecret(t, ca, another)) },
		"a user less": func(b *testbed) { b.users.set(t, usersSecret("bob", "1")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, nil, usersSecret("bob", "1", "eve", "2"))
			if name == "a CA more" {
				b = newTestbed(t, served.tlsSecret(t, ca), nil)
			}
			b.run()
			b.memcached.deaf = true
			change(b)
			b.steps(5)
			if status := b.agent.Status(); status.Succeeded {
				t.Errorf("%+v", status)
			}
			b.startAgent() // it knows the former users from the files
			b.mustBegin()
			b.steps(5)
			if status := b.agent.Status(); status.Succeeded {
				t.Errorf("after a restart of the agent: %+v", status)
			}
			b.memcached.deaf = false
			b.settle()
		})
	}
}

// A memcached that hangs is not signaled, and is told after a minute. If the Secrets change more than once meanwhile, the agent no longer
// knows the users that memcached accepts. It must reload memcached nevertheless.
func TestMemcachedHangsDuringAReload(t *testing.T) {
	b := newTestbed(t, issue(t, 0xa1, nil).tlsSecret(t), usersSecret("bob", "0")).run()
	b.memcached.hangs, b.memcached.signals = true, 0
	var last *issued
	for i := range 15 {
		last = issue(t, int64(0xb1+i), nil)
		b.tls.set(t, last.tlsSecret(t))
		b.users.set(t, usersSecret("bob", strings.Repeat("x", i+1)))
		b.steps(1)
	}
	b.mustHave(false, "a1", ReasonUserRemoved)
	if b.memcached.signals != 0 || !b.agent.Status().Unverified {
		t.Errorf("%d signals; %+v", b.memcached.signals, b.agent.Status())
	}
	if entries, err := os.ReadDir(b.config.Folder); err != nil || len(entries) != 4 { // the link, two slots and the record
		t.Errorf("the folder has %v, %v", entries, err)
	}
	b.memcached.hangs = false
	b.settle()
	b.mustHave(true, "bf", ReasonUserRemoved)
	if !b.memcached.serves(last, usersSecret("bob", "xxxxxxxxxxxxxxx")) {
		t.Error("memcached does not serve the last ones")
	}
}
