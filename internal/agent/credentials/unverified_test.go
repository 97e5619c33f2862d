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
	b.memcached.deaf = true
	b.tls.set(t, second.tlsSecret(t))
	b.users.set(t, usersSecret("bob", "2"))
	for range 300 {
		b.agent.sleep(t.Context(), b.agent.step(t.Context()))
	}
	b.mustHave(false, "a1", ReasonUserRemoved)
	if b.memcached.signals < 6 || b.memcached.signals > 20 {
		t.Errorf("%d signals in about 9 minutes", b.memcached.signals)
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
func TestWhatShowsNowhereIsVerified(t *testing.T) {
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
			for range 20 {
				b.agent.sleep(t.Context(), b.agent.step(t.Context()))
			}
			if status := b.agent.Status(); status.Succeeded || b.memcached.signals < 2 {
				t.Errorf("%+v after %d signals", status, b.memcached.signals)
			}
			b.memcached.deaf = false
			b.settle()
			if status := b.agent.Status(); !status.Succeeded {
				t.Errorf("%+v", status)
			}
		})
	}
}

// The agent must signal at once for a new version, even if it repeats the signal for the previous version only once a minute.
func TestANewVersionIsLoadedAtOnce(t *testing.T) {
	b := newTestbed(t, nil, usersSecret("bob", "1")).run()
	b.memcached.deaf = true
	b.users.set(t, usersSecret("bob", "2"))
	for before := -1; before != b.memcached.signals; { // until ten steps send no signal
		before = b.memcached.signals
		for range 10 {
			b.agent.sleep(t.Context(), b.agent.step(t.Context()))
		}
	}
	b.memcached.deaf = false
	b.users.set(t, usersSecret("bob", "3"))
	b.agent.step(t.Context())
	if status := b.agent.Status(); !status.Succeeded {
		t.Errorf("%+v\n%s", status, b.log.String())
	}
}

// If the Secrets change more than once while memcached does not answer, the agent no longer knows the users that memcached accepts. It
// must reload memcached nevertheless.
func TestManyRotationsAreOvertaken(t *testing.T) {
	b := newTestbed(t, issue(t, 0xa1, nil).tlsSecret(t), usersSecret("bob", "0")).run()
	b.memcached.hangs = true
	var last *issued
	for i := range 5 {
		last = issue(t, int64(0xb1+i), nil)
		b.tls.set(t, last.tlsSecret(t))
		b.users.set(t, usersSecret("bob", strings.Repeat("x", i+1)))
		b.agent.step(t.Context())
	}
	if entries, err := os.ReadDir(b.config.Folder); err != nil || len(entries) != 4 { // the link, two versions and the record
		t.Errorf("the folder has %v, %v", entries, err)
	}
	b.memcached.hangs = false
	b.settle()
	b.mustHave(true, "b5", ReasonUserRemoved)
	if !b.memcached.serves(last, usersSecret("bob", "xxxxx")) {
		t.Error("memcached does not serve the last ones")
	}
}

// The signal would end a memcached that does not answer yet.
func TestAMemcachedThatDoesNotAnswerIsNotSignaled(t *testing.T) {
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	b := newTestbed(t, first.tlsSecret(t), nil).run()
	b.memcached.hangs = true
	b.tls.set(t, second.tlsSecret(t))
	for range 20 {
		b.agent.sleep(t.Context(), b.agent.step(t.Context()))
	}
	b.mustHave(false, "a1")
	if b.memcached.signals != 0 {
		t.Errorf("%d signals", b.memcached.signals)
	}
	b.memcached.hangs = false
	b.settle()
	b.mustHave(true, "b2")
}
