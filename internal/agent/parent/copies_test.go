// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// newCopiesPod starts pools that all hold the same items, with two nodes each. It also starts the proxy of the pools, and a single
// memcached for comparison.
func newCopiesPod(t *testing.T, pools int) *proxyPod {
	t.Helper()
	p := newProxyPod(t)
	p.proxy.Threads = 1 // the order of writes needs it
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

// The proxy answers each command as a single memcached does, even while some pools are empty, away or hung. Afterwards, no running
// node has a value that differs from the single memcached's.
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
				client.agrees(oracle, dialogue.name, after, i)
			}
			for i, dialogue := range dialogues {
				question := "gets " + keyOf(i)
				if strings.Contains(dialogue.text, "B b") { // a proxy hashes the base64 form, so that it may be on another node
					question = "mg " + base64.StdEncoding.EncodeToString([]byte(keyOf(i))) + " b v c"
				}
				client.agrees(oracle, dialogue.name, []string{question}, i)
				want, found := oracle.say(question), 0
				for _, number := range row.left {
					node := newTalk(t, p.node(number)+":11211")
					switch got := node.say(question); {
					case got == want && (node.cas == client.cas || node.cas == ""):
						found++
					case got != "END\r\nMN\r\n" && got != "EN\r\nMN\r\n":
						t.Errorf("%s: node %d has %q with the number %s, not %q with %s", dialogue.name, number, got, node.cas, want, client.cas)
					}
				}
				if found == 0 || name == "nothing happens" && found < 2 {
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

// The first pool answers reads. Nevertheless, the second pool must not evict the items that clients read, even after it has hung.
func TestCopiesKeepWhatIsRead(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	conn, value, read := p.client(), strings.Repeat("x", 100<<10), keys(20)
	for _, key := range read {
		p.set(conn, key, value)
	}
	for _, number := range []int{10, 11} {
		p.hang(number)
		for range 100 {
			for _, key := range read {
				p.read(conn, key)
			}
		}
		must(t, p.nodes[number].Process.Signal(syscall.SIGCONT))
		p.await("it stores again", func() error {
			for _, key := range read {
				if reply := p.set(conn, key, value); reply != "STORED" {
					return errors.New(reply)
				}
			}
			return nil
		})
	}
	for i := range 4000 { // three times the memory of a pool
		p.set(conn, fmt.Sprintf("other-%d", i), value)
		if i%20 != 0 {
			continue
		}
		for _, key := range read {
			if p.read(conn, key) != value {
				t.Fatalf("%s is gone after %d others", key, i)
			}
		}
	}
	kept := 0
	for _, number := range []int{10, 11} {
		for _, key := range read {
			if p.read(p.direct(number), key) != "" {
				kept++
			}
		}
	}
	if kept < len(read)*3/4 {
		t.Errorf("the second pool has %d of %d keys", kept, len(read))
	}
}

// Clients read stale items from the first pool. The second pool must not give its tokens away meanwhile: a client needs a token to
// store a stale item again.
func TestCopiesKeepTokens(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	client, second := newTalk(t, p.proxy.Memcached), []*talk{newTalk(t, p.node(10)+":11211"), newTalk(t, p.node(11)+":11211")}
	for _, key := range keys(300) {
		client.say("ms "+key+" 1", "a")
		client.say("md " + key + " I")
		if reply := client.say("mg " + key); reply != "HD X W\r\nMN\r\n" {
			t.Fatalf("%s: %q", key, reply)
		}
	}
	for _, key := range keys(300) {
		replies := second[0].say("mg "+key) + second[1].say("mg "+key)
		if !strings.Contains(replies, " W\r\n") {
			t.Fatalf("%s: %q", key, replies)
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
	// The parent refuses to use the same pool twice.
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
