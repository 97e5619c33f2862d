// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers are those of the node after one, an error until it is done.
type answers struct {
	err   error
	asked []string
}

func (a *answers) completed(_ context.Context, server, _ string) error {
	a.asked = append(a.asked, server)
	return a.err
}

var errAway = errors.New("away")

// revoking is a node whose user was removed, and the node after it, which is away.
func revoking(t *testing.T, number, size int) (*testbed, *answers) {
	t.Helper()
	b := newTestbed(t, nil, usersSecret("bob", "1", "eve", "2")).restarting(number, size)
	next := &answers{err: errAway}
	b.agent.revocation.peers = next
	b.run()
	b.users.set(t, usersSecret("bob", "1"))
	return b, next
}

func TestANodeWaitsForTheNextOne(t *testing.T) {
	b, next := revoking(t, 1, 4)
	b.work(20)
	b.mustRestart()
	if warned := strings.Count(b.log.String(), "The restart of memcached waits"); warned != 1 {
		t.Errorf("it is logged %d times:\n%s", warned, b.log.String())
	}
	next.err = nil
	b.work(5)
	b.mustRestart("Revocation: user_removed")
	if asked := slices.Compact(next.asked); !slices.Equal(asked, []string{"cache-2.cache.shop.svc:11212"}) {
		t.Errorf("it asked %v", asked)
	}
}

// What was removed must not stay on all nodes because one of them is broken. They restart at different times even so, also if they could
// not restart at all for a while.
func TestNoNodeWaitsForEver(t *testing.T) {
	for _, test := range []struct {
		number         int
		obstacle, want time.Duration
	}{
		{4, 0, 2 * time.Minute},
		{3, 0, 10 * time.Minute},
		{0, 0, 40 * time.Minute},
		{4, 30 * time.Minute, 0},
		{3, 30 * time.Minute, 10 * time.Minute},
		{0, 30 * time.Minute, 40 * time.Minute},
	} {
		b, _ := revoking(t, test.number, 5)
		b.memcached.deaf = test.obstacle > 0
		for changed := b.now; b.now.Sub(changed) < test.obstacle; {
			b.work(1)
		}
		b.memcached.deaf = false
		for b.agent.state.record.Pending {
			b.work(1)
		}
		able := b.now
		for len(b.memcached.explained) == 0 && b.now.Sub(able) < 2*time.Hour {
			b.work(1)
		}
		if took := b.now.Sub(able); took < test.want-2*pollPeriod || took > test.want+2*pollPeriod {
			t.Errorf("node %d of 5 waits %s after %s, want %s", test.number, took, test.obstacle, test.want)
		}
	}
}

// The size of a cache changes while its nodes wait, and each learns of it when the kubelet delivers the list.
func TestTheSizeChangesWhileANodeWaits(t *testing.T) {
	for name, test := range map[string]struct {
		number, before, after int
		waits                 bool
	}{
		"the next one leaves":    {1, 3, 2, false},
		"another one comes":      {1, 3, 4, true},
		"it is not in the list":  {3, 4, 3, true},
		"it comes into the list": {3, 3, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := revoking(t, test.number, max(test.before, test.number+2))
			b.list(test.before)
			if test.number < test.before-1 || test.number >= test.before {
				b.work(5)
				b.mustRestart()
			}
			b.list(test.after)
			b.work(patience)
			if restarted := len(b.memcached.explained) > 0; restarted == test.waits {
				t.Errorf("restarted: %t\n%s", restarted, b.log.String())
			}
		})
	}
}

func TestNodesAfter(t *testing.T) {
	const list = "cache-0.cache.shop.svc:11212,cache-10.cache.shop.svc:11212,cache-2.cache.shop.svc:11212"
	for node, want := range map[string]int{"cache-0": 2, "cache-10": 1, "cache-2": 0, "cache-1": -1, "cache": -1, "": -1} {
		after, err := nodesAfter(node, ".cache.shop.svc", list)
		if want < 0 && !errors.Is(err, errUnlisted) || want >= 0 && (err != nil || len(after) != want) {
			t.Errorf("after %q: %v, %v", node, after, err)
		}
	}
	if _, err := nodesAfter("cache-0", ".cache.shop.svc", ""); !errors.Is(err, errUnlisted) {
		t.Errorf("in no list: %v", err)
	}
	if _, err := nodesAfter("cache-0", "", list); !errors.Is(err, errUnlisted) {
		t.Errorf("without a domain: %v", err)
	}
}

// Who may write the list must not learn a proof by it, from which passwords could be guessed.
func TestANodeAsksNodesOfItsCacheOnly(t *testing.T) {
	for _, next := range []string{
		"example.org:11212", "203.0.113.7:11212", "cache-1.cache.elsewhere.svc:11212", "other-1.other.shop.svc:11212", "cache-1.example.org:11212",
		"cache-x.cache.shop.svc:11212", "cache-.cache.shop.svc:11212", "cache-1.example.org.cache.shop.svc:11212", "cache-1.cache.shop.svc.example.org:11212",
		"cache-1.cache.shop.svc", "", "cache-1.cache.shop.svc:11212,example.org:11212",
	} {
		if after, err := nodesAfter("cache-0", ".cache.shop.svc", "cache-0.cache.shop.svc:11212,"+next); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v, %v", next, after, err)
		}
	}
	for _, own := range []string{"cache-0.cache.elsewhere.svc:11212", "cache-0.example.org:11212"} {
		if after, err := nodesAfter("cache-0", ".cache.shop.svc", own+",cache-1.cache.shop.svc:11212"); !errors.Is(err, errUnlisted) {
			t.Errorf("%s: %v, %v", own, after, err)
		}
	}
	b, next := revoking(t, 0, 1)
	if err := os.WriteFile(b.config.Servers, []byte("cache-0.cache.shop.svc:11212,example.org:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.work(patience)
	b.mustRestart()
	if len(next.asked) > 0 {
		t.Errorf("it asked %v", next.asked)
	}
}

// The kubelet writes the name of a pod of a StatefulSet there. Nobody who may write the list can change it.
func TestDomainOfANode(t *testing.T) {
	for hosts, want := range map[string]string{
		"127.0.0.1\tlocalhost\n10.0.0.7\tcache-0.cache.shop.svc.cluster.local\tcache-0\n": ".cache.shop.svc",
		"fd00::7\tcache-0.cache.shop.svc.example.org\tcache-0":                            ".cache.shop.svc",
		"10.0.0.7 cache-0.cache.shop.svc. cache-0":                                        ".cache.shop.svc",
		"10.0.0.7\tcache-0\n":                                 "",
		"# 10.0.0.7\tcache-0.cache.shop.svc.cluster.local\n":  "",
		"10.0.0.7\tcache-00.cache.shop.svc.cluster.local\n":   "",
		"10.0.0.7\tcache-0.cache.shop\n":                      "",
		"10.0.0.7\tcache-0.cache.shop.example.org\tcache-0\n": "",
		"": "",
	} {
		if got := domainIn(hosts, "cache-0"); got != want {
			t.Errorf("%q: %q", hosts, got)
		}
	}
}

// Until there is a list, as while a cache moves to a StatefulSet, nobody knows whose turn it is. Nor may all restart when there is one.
func TestANodeWithoutAListWaits(t *testing.T) {
	for size, want := range map[int]time.Duration{1: 0, 3: 20 * time.Minute} {
		b, next := revoking(t, 0, size)
		if err := os.Remove(b.config.Servers); err != nil {
			t.Fatal(err)
		}
		next.asked = nil
		b.work(2)
		b.now = b.now.Add(24 * time.Hour)
		b.work(2)
		b.mustRestart()
		if len(next.asked) != 0 {
			t.Errorf("it asked %v", next.asked)
		}
		b.list(size)
		listed := b.now
		for len(b.memcached.explained) == 0 && b.now.Sub(listed) < 2*time.Hour {
			b.work(1)
		}
		if took := b.now.Sub(listed); took < want || took > want+2*pollPeriod {
			t.Errorf("node 0 of %d waits %s, want %s", size, took, want)
		}
	}
}

func TestAUserComesBackBeforeTheTurn(t *testing.T) {
	b, next := revoking(t, 0, 2)
	b.work(5)
	b.users.set(t, usersSecret("bob", "1", "eve", "2"))
	b.work(5)
	next.err = nil
	b.work(5)
	b.mustRestart()
}

// A second removal before the turn needs no second restart, and one after it does.
func TestSeveralRevocations(t *testing.T) {
	b, next := revoking(t, 0, 2)
	b.work(5)
	b.users.set(t, usersSecret("bob", "3"))
	b.work(5)
	next.err = nil
	b.work(5)
	b.mustRestart("Revocation: user_removed")
	b.users.set(t, usersSecret("zoe", "4"))
	b.work(5)
	b.mustRestart("Revocation: user_removed", "Revocation: user_removed")
}
