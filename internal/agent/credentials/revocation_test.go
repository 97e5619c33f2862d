// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/memcache"
)

// restarting has the agent restart memcached. The node is one of a list of so many.
func (b *testbed) restarting(number, size int) *testbed {
	b.t.Helper()
	b.config.RestartForAuthorities, b.config.RestartForUsers = b.config.ClientCA, b.config.UsersSecret != ""
	b.config.Servers = filepath.Join(b.t.TempDir(), "servers")
	b.list(size)
	b.name = fmt.Sprintf("cache-%d", number)
	b.startAgent()
	return b
}

// list changes the size of the cache as the node sees it.
func (b *testbed) list(size int) {
	b.t.Helper()
	var servers []string
	for i := range size {
		servers = append(servers, fmt.Sprintf("cache-%d.cache.shop.svc:11212", i))
	}
	if err := os.WriteFile(b.config.Servers, []byte(strings.Join(servers, ",")), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// work lets the agent take so many steps, and the kubelet start memcached again at once.
func (b *testbed) work(steps int) {
	b.t.Helper()
	for range steps {
		b.agent.sleep(b.t.Context(), b.agent.step(b.t.Context()))
		if b.memcached.process == (Process{}) {
			b.memcached.start()
		}
	}
}

// patience is how many steps the last node takes at most until it restarts.
const patience = 5 + int(settlePeriod/pollPeriod)

// mustRestart checks how often memcached was ended, and why.
func (b *testbed) mustRestart(messages ...string) {
	b.t.Helper()
	if !slices.Equal(b.memcached.explained, messages) {
		b.t.Errorf("memcached was ended %q, want %q\n%s", b.memcached.explained, messages, b.log.String())
	}
	if want := uint64(len(messages)) + 1; b.memcached.started != want {
		b.t.Errorf("memcached was started %d times, want %d", b.memcached.started, want)
	}
}

func TestRevocationRestartsMemcached(t *testing.T) {
	old, fresh := issue(t, 1, nil, authority), issue(t, 2, nil, authority)
	pair, users := issue(t, 0xa1, old), usersSecret("bob", "1", "eve", "2")
	for name, test := range map[string]struct {
		tls, users map[string][]byte
		// manual is what the flags leave out.
		manual func(*Config)
		want   []string
	}{
		"another CA":         {tls: pair.tlsSecret(t, old, fresh)},
		"a CA less":          {tls: pair.tlsSecret(t, fresh), want: []string{"Revocation: ca_removed"}},
		"a user more":        {users: usersSecret("bob", "1", "eve", "2", "zoe", "3")},
		"a user less":        {users: usersSecret("bob", "1"), want: []string{"Revocation: user_removed"}},
		"another password":   {users: usersSecret("bob", "1", "eve", "3"), want: []string{"Revocation: user_removed"}},
		"both":               {tls: pair.tlsSecret(t, fresh), users: usersSecret("zoe", "1"), want: []string{"Revocation: ca_removed,user_removed"}},
		"garbage":            {tls: map[string][]byte{}, users: map[string][]byte{}},
		"beside garbage":     {tls: map[string][]byte{}, users: usersSecret("bob", "1"), want: []string{"Revocation: user_removed"}},
		"a CA, for users":    {tls: pair.tlsSecret(t, fresh), manual: func(c *Config) { c.RestartForAuthorities = false }},
		"a user, for CAs":    {users: usersSecret("bob", "1"), manual: func(c *Config) { c.RestartForUsers = false }},
		"neither, by itself": {tls: pair.tlsSecret(t, fresh), users: usersSecret("bob", "1"), manual: func(c *Config) { *c = Config{} }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, pair.tlsSecret(t, old), users).restarting(2, 3)
			if test.manual != nil {
				wanted := b.config
				test.manual(&wanted)
				b.config.RestartForAuthorities, b.config.RestartForUsers = wanted.RestartForAuthorities, wanted.RestartForUsers
				b.startAgent()
			}
			b.run()
			if test.tls != nil {
				b.tls.set(t, test.tls)
			}
			if test.users != nil {
				b.users.set(t, test.users)
			}
			b.work(patience)
			b.mustRestart(test.want...)
			counts := 0
			for reason, count := range b.agent.Status().Restarts {
				if counts += count; count > 0 && !strings.Contains(test.want[0], reason) {
					t.Errorf("counted for %s", reason)
				}
			}
			if want := strings.Count(strings.Join(test.want, ""), "removed"); counts != want {
				t.Errorf("%d are counted, want %d", counts, want)
			}
			if required := b.agent.Status().RestartRequired; len(test.want) > 0 && slices.Contains(slices.Collect(maps.Values(required)), true) {
				t.Errorf("a restart is still required: %v", required)
			}
		})
	}
}

// A memcached that is not known to start with the new content might not, and the next nodes would follow it. But those who
// were removed may keep it too busy to prove anything, also to an agent that has not seen an earlier proof.
func TestAMemcachedWithoutAProofRestartsIfItIsBusy(t *testing.T) {
	late := fmt.Errorf("login: %w", os.ErrDeadlineExceeded)
	for name, test := range map[string]struct {
		answers, accepts error
		restarts         bool
	}{
		"it serves another certificate": {nil, errNotRefreshed, false},
		"it refuses connections":        {errRefused, errRefused, false},
		"it is at its connection limit": {nil, fmt.Errorf("login: %w", memcache.ErrConnectionLimit), true},
		"it answers too late":           {nil, late, true},
		"it does not answer":            {late, late, true},
	} {
		for _, anew := range []bool{false, true} {
			b, next := revoking(t, 0, 2)
			if anew {
				b.work(5)
				b.startAgent()
				b.agent.revocation.peers = next
				b.mustBegin()
			}
			next.err = nil
			b.agent.server = busy{b.memcached, test.answers, test.accepts}
			b.work(5)
			if restarted := len(b.memcached.explained) > 0; restarted != test.restarts {
				t.Errorf("%s, with an agent that has started anew: %t: restarted is %t\n%s", name, anew, restarted, b.log.String())
			}
		}
	}
}

// busy is a memcached that lets nobody log in any more.
type busy struct {
	*fakeMemcached

	answering, accepting error
}

func (b busy) answers(context.Context) error { return b.answering }

func (b busy) accepts(context.Context, User) (bool, error) { return false, b.accepting }

// A memcached that does not end gets one signal, and one to which none could be sent gets another.
func TestAMemcachedThatDoesNotEnd(t *testing.T) {
	b, next := revoking(t, 0, 2)
	next.err = nil
	stubborn := &stubborn{fakeMemcached: b.memcached}
	b.agent.processes = stubborn
	b.work(10)
	if stubborn.told != 1 || b.agent.Status().Restarts[ReasonUserRemoved] != 1 {
		t.Errorf("it was told %d times: %+v", stubborn.told, b.agent.Status())
	}
	if !b.agent.Status().RestartRequired[ReasonUserRemoved] {
		t.Error("no restart is required any more")
	}
}

type stubborn struct {
	*fakeMemcached

	told int
}

func (s *stubborn) terminate(Process) error { s.told++; return nil }

func (*stubborn) explain(Process, string) error { return errGone } // which stops nothing

// The agent is killed at each step of a restart, before it has told memcached and after. The next one restarts it if that is still
// required.
func TestTheAgentIsKilledWhileItRestartsMemcached(t *testing.T) {
	killedAt := 0
	for completed := false; !completed && killedAt < 100; {
		killedAt++
		r := newRotation(t)
		r.restarting(0, 1)
		r.run()
		r.change(nil)
		r.work(patience - 10)
		r.mustRestart()
		r.change(func(number int) {
			if number == killedAt {
				panic(killed{})
			}
		})
		completed = survives(func() { r.work(20) })
		r.memcached.beforeCall = nil
		if r.memcached.process == (Process{}) {
			r.memcached.start()
		}
		r.startAgent()
		r.mustBegin()
		r.work(patience)
		r.settle()
		if r.memcached.started != 2 || len(r.memcached.explained) > 2 {
			t.Errorf("killed at call %d: memcached was started %d times, and ended %q", killedAt, r.memcached.started, r.memcached.explained)
		}
		r.mustConverge(true)
	}
	if killedAt < 15 {
		t.Errorf("there were only %d steps", killedAt)
	}
}
