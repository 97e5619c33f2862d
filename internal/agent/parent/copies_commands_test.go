// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// If several clients add a key at the same time, exactly one succeeds.
func TestConcurrentAdds(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	const clients, count = 6, 300
	answers := make(chan int, clients*count)
	for range clients {
		client := newTalk(t, p.proxy.Memcached)
		go func() {
			for i := range count {
				if client.say("add "+keyOf(i)+" 0 0 1", "a") == "STORED\r\nMN\r\n" {
					answers <- i
				} else {
					answers <- -1
				}
			}
		}()
	}
	stored := map[int]int{}
	for range clients * count {
		stored[<-answers]++
	}
	if stored[-1] != (clients-1)*count || len(stored) != count+1 {
		t.Errorf("%d of %d keys were stored, and %d times one was there", len(stored)-1, count, stored[-1])
	}
}

// For each pool, memcached counts the writes that the pool has missed, and the reads that it has answered in place of an earlier pool.
func TestCountsOfCopies(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	client := newTalk(t, p.proxy.Memcached)
	counts := func(want string) {
		t.Helper()
		stats, err := p.client().Stats(t.Context(), "proxy")
		must(t, err)
		got := fmt.Sprintf("missed %s %s, found %s", stats["user_missed_writes_1"], stats["user_missed_writes_2"], stats["user_found_in_copy_2"])
		if got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	fill := func() {
		for i := range 100 {
			client.say("set "+keyOf(i)+" 0 0 1", "a")
		}
	}
	fill()
	client.say("get no-such-key")
	counts("missed 0 0, found 0")
	p.empty(0)
	p.empty(1)
	time.Sleep(1100 * time.Millisecond) // flush_all works with whole seconds
	for i := range 100 {
		client.say("get " + keyOf(i))
	}
	counts("missed 0 0, found 100")
	p.kill(10)
	p.kill(11)
	fill()
	counts("missed 0 100, found 100")
	for _, command := range []string{"delete key-1", "add key-1 0 0 1\r\na", "incr no-such-key 1", "touch key-1 100", "mg key-1 T100"} {
		client.say(command)
	}
	gets := client.say("gets key-2")
	if !strings.Contains(gets, "CAS") || client.say("cas key-2 0 0 1 C", "b") != "STORED\r\nMN\r\n" {
		t.Errorf("cas after %q", gets)
	}
	counts("missed 0 106, found 100")
	p.kill(0)
	p.kill(1)
	if reply := client.say("set key-1 0 0 1", "a"); reply != "SERVER_ERROR backend failure\r\nMN\r\n" {
		t.Errorf("set without any node: %q", reply)
	}
	if reply := client.say("get key-1") + client.say("mg key-1 v T5 N5") + client.say("gets key-1"); reply !=
		"END\r\nMN\r\nEN\r\nMN\r\nEND\r\nMN\r\n" {
		t.Errorf("get without any node: %q", reply)
	}
	if reply := client.say("mg key-1 v q") + client.say("mg key-1 v N5 q") + client.say("mg key-1 v T5 q"); reply != "MN\r\nMN\r\nMN\r\n" {
		t.Errorf("quiet mg without any node: %q", reply)
	}
	counts("missed 0 106, found 100") // nothing is counted without any node
}

// Commands keep their last word if the client ends lines with a line feed only, as memcached allows.
func TestLineFeedOnly(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	talk, oracle := newTalk(t, p.proxy.Memcached), newTalk(t, p.node(oracleNode)+":11211")
	for _, lines := range []string{
		"set counter 0 0 2\n10", "ma counter N0 v D10\nma counter N0 q D5\nma missing N0 v J20\nmg counter N30 v", "set word 0 0 10\n0123456789",
		"append word 0 0 2 noreply\nab", "get word\nincr counter 10\ndecr counter 11 noreply\nget counter", "md counter q\nmd word",
	} {
		if got, want := talk.say(lines), oracle.say(lines); got != want {
			t.Errorf("%q is answered with %q, not %q", lines, got, want)
		}
	}
}

// A client that says noreply awaits no answer, not even an error.
func TestNoreply(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(1)
	talk := newTalk(t, p.proxy.Memcached)
	talk.say("set word 0 0 1", "a")
	for _, line := range []string{
		"incr word 1", "decr word x", "touch word x", "delete " + strings.Repeat("k", 251), "incr none 1", "touch word 100",
	} {
		if reply := talk.say(line + " noreply"); reply != "MN\r\n" {
			t.Errorf("%.20s: %q", line, reply)
		}
	}
	p.kill(0)
	if reply := talk.say("touch word 100 noreply"); reply != "MN\r\n" {
		t.Errorf("without the node: %q", reply)
	}
}

// The proxy's memory for values is limited. The proxy must free the value of each append at once, so that other stores do not fail.
func TestAppendsThatMayMakeAnItem(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	talk := newTalk(t, p.proxy.Memcached)
	value := strings.Repeat("x", 900_000)
	for i := range 40 {
		if reply := talk.say(fmt.Sprintf("ms %s 900000 MA N0 q", keyOf(i)), value); reply != "MN\r\n" {
			t.Fatalf("append %d: %q", i, reply)
		}
		if reply := talk.say("set key 0 0 1", "a"); reply != "STORED\r\nMN\r\n" {
			t.Fatalf("set %d: %q", i, reply)
		}
	}
}
