// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// newCopiesPod starts pools that all hold the same items, with two nodes each. It also starts the proxy of the pools, and a single
// memcached for comparison.
func newCopiesPod(t *testing.T, pools int) *proxyPod {
	t.Helper()
	p := newProxyPod(t)
	p.startNode(oracleNode)
	text := p.pattern + " 2\n"
	for pool := range pools {
		p.startNode(10 * pool)
		p.startNode(10*pool + 1) // nodes 1, 11 and 21 hold the same items
		if pool > 0 {
			text += strings.Replace(p.pattern, "%d", fmt.Sprintf("%d%%d", pool), 1) + "\n"
		}
	}
	p.route(text)
	p.startProxy()
	p.leads(text)
	return p
}

const oracleNode = 30

func (p *proxyPod) empty(number int) {
	_, err := p.direct(number).Command(p.t.Context(), "flush_all")
	must(p.t, err)
}

func (p *proxyPod) hang(number int) {
	must(p.t, p.nodes[number].Process.Signal(syscall.SIGSTOP))
	p.t.Cleanup(func() { _ = p.nodes[number].Process.Signal(syscall.SIGCONT) })
}

// Each command gets the answer of a single memcached, whatever happens to some pools. Afterwards, no running node has another value
// than that memcached.
func TestAnswersOfCopies(t *testing.T) {
	t.Parallel()
	first, second, third := []int{0, 1}, []int{10, 11}, []int{20, 21}
	for name, row := range map[string]struct {
		empty, away, hung, left []int
		pools                   int
	}{
		"nothing happens":             {left: slices.Concat(first, second), pools: 2},
		"first empty":                 {empty: first, left: slices.Concat(first, second), pools: 2},
		"second empty":                {empty: second, left: slices.Concat(first, second), pools: 2},
		"first away":                  {away: first, left: second, pools: 2},
		"second away":                 {away: second, left: first, pools: 2},
		"first hung":                  {hung: first, left: second, pools: 2},
		"second hung":                 {hung: second, left: first, pools: 2},
		"first empty and second away": {empty: first, away: second, left: slices.Concat(first, third), pools: 3},
		"first away and second empty": {away: first, empty: second, left: slices.Concat(second, third), pools: 3},
		"second and third empty":      {empty: slices.Concat(second, third), left: slices.Concat(first, second, third), pools: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newCopiesPod(t, row.pools)
			client, oracle := newTalk(t, p.proxy.Memcached), newTalk(t, p.node(oracleNode)+":11211")
			for i, dialogue := range dialogues {
				before, _ := split(dialogue.text)
				client.agrees(oracle, dialogue.name, before, i)
			}
			time.Sleep(1100 * time.Millisecond) // flush_all may spare what was stored in the same second
			for _, number := range row.empty {
				p.empty(number)
			}
			for _, number := range row.away {
				p.kill(number)
			}
			for _, number := range row.hung {
				p.hang(number)
			}
			for i, dialogue := range dialogues {
				_, after := split(dialogue.text)
				client.agrees(oracle, dialogue.name, append(after, "get K"), i)
			}
			for i, dialogue := range dialogues {
				want, found := oracle.say("get "+keyOf(i)), 0
				for _, number := range row.left {
					switch got := newTalk(t, p.node(number)+":11211").say("get " + keyOf(i)); got {
					case want:
						found++
					case "END\r\nMN\r\n":
					default:
						t.Errorf("%s: node %d has %q, not %q", dialogue.name, number, got, want)
					}
				}
				if complete := name == "nothing happens" && !dialogue.single; found == 0 || complete && found < 2 {
					t.Errorf("%s: %d nodes have %q", dialogue.name, found, want)
				}
			}
		})
	}
}

func keyOf(number int) string { return fmt.Sprintf("key-%d", number) }

// agrees checks that commands get the same answers from the proxy as from oracle.
func (c *talk) agrees(oracle *talk, name string, lines []string, number int) {
	c.t.Helper()
	for _, command := range statements(lines, keyOf(number)) {
		if want, got := oracle.say(command...), c.say(command...); got != want {
			c.t.Errorf("%s: %.80q is answered with %q, not %q", name, command, got, want)
		}
	}
}

// When one of two nodes with the same items ends, clients get neither a miss nor an error.
func TestCopyEndsUnderLoad(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	writer := newTalk(t, p.proxy.Memcached)
	for i := range 500 {
		writer.say(fmt.Sprintf("set %s 0 0 1", keyOf(i)), "a")
	}
	ended, done := make(chan struct{}), make(chan string, 4)
	for range cap(done) {
		client := newTalk(t, p.proxy.Memcached)
		go func() {
			requests := 0
			for {
				for i := range 500 {
					set, get := client.say("set "+keyOf(i)+" 0 0 1", "a"), client.say("get "+keyOf(i))
					requests++
					if set != "STORED\r\nMN\r\n" || get != "VALUE "+keyOf(i)+" 0 1\r\na\r\nEND\r\nMN\r\n" {
						done <- fmt.Sprintf("%d requests, then %q and %q", requests, set, get)
						return
					}
				}
				select {
				case <-ended:
					done <- ""
					return
				default:
				}
			}
		}()
	}
	for _, number := range []int{0, 11} { // these nodes hold different items
		p.kill(number)
		p.await("it counts as away", func() error {
			stats, err := p.client().Stats(t.Context(), "proxybe")
			if err == nil && len(stats) == 0 {
				err = fmt.Errorf("no node is away")
			}
			return err
		})
	}
	close(ended)
	for range cap(done) {
		if failure := <-done; failure != "" {
			t.Error(failure)
		}
	}
}

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

// For each pool, memcached counts the missed writes, and the reads that the pool has answered instead of an earlier pool.
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
	if reply := client.say("get key-1") + client.say("mg key-1 v T5 N5") + client.say("gets key-1"); reply != "END\r\nMN\r\nEN\r\nMN\r\nEND\r\nMN\r\n" {
		t.Errorf("get without any node: %q", reply)
	}
	if reply := client.say("mg key-1 v q") + client.say("mg key-1 v N5 q") + client.say("mg key-1 v T5 q"); reply != "MN\r\nMN\r\nMN\r\n" {
		t.Errorf("quiet mg without any node: %q", reply)
	}
	counts("missed 0 106, found 100") // nothing is counted without any node
}

// Commands with the flag N keep their last flag if the client ends lines with a line feed only, as memcached allows.
func TestLineFeedOnly(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	talk := newTalk(t, p.proxy.Memcached)
	talk.say("set counter 0 0 2", "10")
	if reply := talk.say("ma counter N0 v D10\nma counter N0 q D5\nma missing N0 v J20\nmg counter N30 v"); reply !=
		"VA 2\r\n20\r\nVA 2\r\n20\r\nVA 2\r\n25\r\nMN\r\n" {
		t.Errorf("%q", reply)
	}
}

// The proxy forgets large values at once, also those of appends that may create an item. Otherwise, other stores would fail.
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

// The routes change from two pools to one and back. Clients stay connected.
func TestPoolBecomesCopies(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	conn, copies := p.client(), p.proxy
	one, two := p.pattern+" 2\n", p.pattern+" 2\n"+strings.Replace(p.pattern, "%d", "1%d", 1)+"\n"
	p.leads(p.lead(2))
	p.agrees(conn, 2)
	p.route(two)
	p.leads(two)
	if reply := p.set(conn, "key", "x"); reply != "STORED" {
		t.Error(reply)
	}
	found := 0
	for _, number := range []int{0, 1, 10, 11} {
		if p.read(p.direct(number), "key") == "x" {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d nodes have the key", found)
	}
	// The launcher refuses to use the same pool twice.
	p.route(one + p.pattern + "\n")
	p.proxyStatus("it is refused", func(s protocol.ProxyStatus) bool { return s.Refused != nil && s.Routes == two })
	// The proxy also answers commands without a key.
	talk := newTalk(t, copies.Memcached)
	if reply := talk.say("version"); !strings.HasPrefix(reply, "VERSION 1.") {
		t.Errorf("version: %q", reply)
	}
	if reply := talk.say("stats"); !strings.Contains(reply, "STAT cmd_ms ") && !strings.Contains(reply, "STAT pid ") {
		t.Errorf("stats: %q", reply)
	}
}
