// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"regexp"
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
		"one pool":                    {left: first, pools: 1},
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
	ended, failed := make(chan struct{}), make(chan int64)
	go func() {
		var sum int64
		for running := true; running; sum += p.besides(400, 0, nil) {
			select {
			case <-ended:
				running = false // the last round
			default:
			}
		}
		failed <- sum
	}()
	for away, number := range []int{0, 11} { // these nodes hold different items
		p.kill(number)
		p.await("it counts as away", func() error {
			stats, err := p.client().Stats(t.Context(), "proxybe")
			if err == nil && len(stats) != away+1 {
				err = fmt.Errorf("%v", stats)
			}
			return err
		})
	}
	close(ended)
	if sum := <-failed; sum > 0 {
		t.Errorf("%d round trips failed", sum)
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
	for command, want := range map[string]string{
		"set key-1 0 0 1\r\na": failure + "\r\n", "get key-1": "END\r\n", "gets key-1": "END\r\n", "mg key-1 v T5 N5": "EN\r\n",
		"mg key-1 v q": "", "mg key-1 v N5 q": "", "mg key-1 v T5 q": "",
	} {
		if reply := client.say(command); reply != want+"MN\r\n" {
			t.Errorf("%q without any node: %q", command, reply)
		}
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

// dialogues are sequences of client commands. K stands for the key, B for the key in base64, and C for the last CAS value that the
// client has received. Bars separate lines. TestAnswersOfCopies empties, kills or stops nodes after the first command, or before it
// if the text begins with a bar.
var dialogues = []struct{ name, text string }{
	{name: "get", text: "set K 7 0 1|a|get K|get K no-such-key K|get no-such-key"},
	{name: "gets", text: "set K 7 0 1|a|gets K|gets no-such-key"},
	{name: "set", text: "|set K 0 0 1|a|set K 3 1000 2|bb"},
	{name: "set over another", text: "set K 0 0 1|a|set K 3 0 2|bb"},
	{name: "set noreply", text: "|set K 0 0 1 noreply|a"},
	{name: "set that has expired", text: "set K 0 0 1|a|set K 0 -1 1|b"},
	{name: "set too large", text: "set K 0 0 1|a|set K 0 0 2000000|" + strings.Repeat("x", 2_000_000)},
	{name: "add", text: "|add K 0 0 1|a|add K 0 0 1|b"},
	{name: "add what exists", text: "set K 0 0 1|a|add K 0 0 1|b"},
	{name: "add after delete", text: "set K 0 0 1|a|delete K|add K 0 0 1|b|add K 0 0 1|c"},
	{name: "replace", text: "set K 0 0 1|a|replace K 5 0 1|b"},
	{name: "replace nothing", text: "|replace K 5 0 1|b"},
	{name: "append", text: "set K 0 0 1|a|append K 0 0 1|b|append K 0 0 1|c"},
	{name: "append to nothing", text: "|append K 0 0 1|b"},
	{name: "prepend", text: "set K 0 0 1|a|prepend K 0 0 1|b"},
	{name: "prepend to nothing", text: "|prepend K 0 0 1|b"},
	{name: "cas", text: "set K 0 0 1|a|gets K|cas K 4 0 1 C|b"},
	{name: "cas twice", text: "set K 0 0 1|a|gets K|cas K 4 0 1 C|b|cas K 4 0 1 C|c|gets K|cas K 4 0 1 C|d"},
	{name: "cas too late", text: "set K 0 0 1|a|gets K|set K 0 0 1|b|cas K 0 0 1 C|c"},
	{name: "cas of nothing", text: "|cas K 0 0 1 5|b"},
	{name: "incr", text: "set K 0 0 2|10|incr K 5|decr K 1|decr K 100"},
	{name: "incr nothing", text: "|incr K 5|decr K 5"},
	{name: "incr a word", text: "set K 0 0 1|a|incr K 5"},
	{name: "incr to a longer number", text: "set K 0 0 1|9|incr K 1|gets K|cas K 0 0 1 C|8|decr K 3|incr K 9"},
	{name: "incr by too much", text: "set K 0 0 1|9|incr K 18446744073709551615|incr K x"},
	{name: "incr a word between gets and cas", text: "set K 0 0 1|a|gets K|incr K 5|cas K 0 0 1 C|b"},
	{name: "noreply", text: "set K 0 0 1|9|incr K 1 noreply|decr K 5 noreply|incr no-such-key 1 noreply|append K 0 0 1 noreply|7"},
	{name: "noreply of what is refused", text: "set K 0 0 1|a|incr K 5 noreply|add K 0 0 1 noreply|b|decr K x noreply|touch K x noreply"},
	{name: "noreply of a bad set", text: "set K 0 0 1|a|set K x 0 1 noreply|c|set K 0 x 1 noreply|c|set K 0 x 1|c"},
	{name: "cas noreply", text: "set K 0 0 1|a|gets K|cas K 0 0 1 C noreply|b|cas K 0 0 1 C noreply|c|cas no-such-key 0 0 1 5 noreply|d"},
	{name: "a long key", text: strings.ReplaceAll(
		"|set L 0 0 1|9|ma L N0 v|md L I|mg L N5 v|ms L 2 MA N0|77|incr L 1|cas L 0 0 1 5|a", " L", " K"+strings.Repeat("x", 240),
	)},
	{name: "touch", text: "set K 0 0 1|a|touch K 1000|mg K t"},
	{name: "touch nothing", text: "|touch K 1000"},
	{name: "touch to expire", text: "set K 0 0 1|a|touch K -1|get K"},
	{name: "gat", text: "set K 9 0 1|a|gat 1000 K|gat 1000 K no-such-key|mg K t"},
	{name: "gats", text: "set K 9 0 1|a|gats 1000 K|gat 1000 no-such-key"},
	{name: "delete", text: "set K 0 0 1|a|delete K|delete K"},
	{name: "delete noreply", text: "set K 0 0 1|a|delete K noreply|get K"},
	{name: "mg", text: "set K 9 0 1|a|mg K v f s k Oabc|mg K|mg K q v|mg no-such-key v|mg no-such-key v q k|mg no-such-key s k Oabc q|mn"},
	{name: "mg that is refused", text: "set K 9 0 1|a|mg K v Z|mg K v v|mg K v Z q"},
	{name: "mg with a new lifetime", text: "set K 0 0 1|a|mg K T1000 v|mg K t v|mg no-such-key T1000 v|mg no-such-key T1000 v q"},
	{name: "mg that makes an item", text: "|mg K N1000 v c|mg K N1000 v|mg K v|ms K 1|a|mg K N1000 v t"},
	{name: "mg that finds one", text: "set K 0 0 1|a|mg K N1000 v t|mg K v"},
	{name: "mg that makes one quietly", text: "|mg K N1000 v q|mg K N1000 v q|mg K v q k"},
	{name: "mg that makes one, and tells its lifetime", text: "|mg K N1000 t|mg K t N1000"},
	{name: "ms with a number of the client", text: "|ms K 1 E5|a|mg K c|ma K E6|ms K 1 C5|b|ms K 1 C5 E7|b"},
	{name: "mg with all of it", text: "set K 0 0 1|a|mg K N300 T1000 v t|mg K v t"},
	{name: "mg that makes one with a lifetime", text: "|mg K T1000 N300 v|mg K v"},
	{name: "mg before the end", text: "set K 0 200 1|a|mg K R300 v"},
	{name: "ms", text: "|ms K 1 F5 T1000 c|a|mg K v f t"},
	{name: "ms with its mode", text: "set K 0 0 1|a|ms K 1 MS k Oabc|b|ms K 1 q|c|ms K 1 q k|d"},
	{name: "ms as add", text: "|ms K 1 ME|a|ms K 1 ME|b|ms K 1 ME q|c"},
	{name: "ms as add of what exists", text: "set K 0 0 1|a|ms K 1 ME|b|ms K 1 ME q Oabc|b"},
	{name: "ms as replace", text: "set K 0 0 1|a|ms K 1 MR|b|ms no-such-key 1 MR|b"},
	{name: "ms as append", text: "set K 0 0 1|a|ms K 1 MA|b|ms K 1 MP|c|ms no-such-key 1 MA|b"},
	{name: "ms as append that may make an item", text: "set K 0 0 1|a|ms K 1 MA N1000|b|ms K 1 MP N1000 q|c"},
	{name: "ms as append that makes one", text: "|ms K 1 MA N1000|b|ms K 1 MA N1000|c|mg K v t"},
	{name: "ms with CAS", text: "set K 0 0 1|a|mg K c|ms K 1 CC|b|ms K 1 CC|c"},
	{name: "ms with CAS of nothing", text: "|ms K 1 C5|b"},
	{name: "ms of a stale value", text: "set K 0 0 1|a|mg K c|set K 0 0 1|b|ms K 1 CC I|c|mg K v|mg K v"},
	{name: "ms of a binary key", text: "|ms B 1 b|a|ms B 1 b ME|b|mg B b v k|ma B b|md B b q|mg B b v"},
	{name: "ms with CAS of a binary key", text: "ms B 1 b|a|mg B b c|ms B 1 b CC|b|mg B b v"},
	{name: "ma with CAS that may make an item", text: "set K 0 0 2|10|mg K c|ma K CC N1000 J13 v"},
	{name: "ma with CAS that makes one", text: "|ma K C5 N1000 J13 v|mg K v"},
	{name: "ms with CAS as add", text: "set K 0 0 1|a|ms K 1 ME C5|b"},
	{name: "md", text: "set K 0 0 1|a|md K|md K|md K k Oabc|md no-such-key q"},
	{name: "md quiet", text: "set K 0 0 1|a|md K q|mg K"},
	{name: "md with CAS", text: "set K 0 0 1|a|mg K c|md K CC"},
	{name: "md with CAS too late", text: "set K 0 0 1|a|mg K c|set K 0 0 1|b|md K CC"},
	{name: "md that marks as stale", text: "set K 0 0 1|a|md K I T1000|mg K v t|mg K v|ms K 1|b|mg K v"},
	{name: "md of the value", text: "set K 5 0 1|a|md K x|mg K v f"},
	{name: "ma", text: "set K 0 0 2|10|ma K v|ma K D5 MD v|ma K MD D100 v|ma K q|ma no-such-key v|ma no-such-key q"},
	{name: "ma to a longer number", text: "set K 0 0 1|9|ma K v c|ma K MD|ma K q|gets K|cas K 0 0 1 C|8"},
	{name: "ma with CAS to a longer number", text: "set K 0 0 1|9|mg K c|ma K CC v c|ma K CC v"},
	{name: "ma with CAS of a word", text: "set K 0 0 1|a|ma K C5 N1000 v"},
	{name: "ma of a stale number", text: "set K 0 0 2|15|md K I|ma K v|mg K v"},
	{name: "ma that may make a longer one", text: "set K 0 0 1|9|ma K N1000 v|mg K v c|ms K 1 CC|b"},
	{name: "ma that makes an item", text: "|ma K N1000 J13 v|ma K N1000 J13 v|mg K v t"},
	{name: "ma that makes one quietly", text: "|ma K N1000 J13 v q|ma K N1000 J13 q|mg K v"},
	{name: "ma that may make one", text: "set K 0 0 2|10|ma K N1000 J13 v|ma K N1000 q"},
	{name: "ma of a word", text: "set K 0 0 1|a|ma K N1000 v"},
	{name: "ma with CAS", text: "set K 0 0 2|10|mg K c|ma K CC v|ma K CC v"},
	{name: "me", text: "set K 0 0 1|a|me K|me no-such-key"},
	{name: "mn", text: "|mn|mn"},
}

// split returns the lines before and after the change of the nodes.
func split(text string) (before, after []string) {
	lines := strings.Split(text, "|")
	if lines[0] == "" {
		return nil, lines[1:]
	}
	return lines[:2], lines[2:]
}

// talk is a client that reads complete replies, of any number of lines.
type talk struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
	cas    string
}

func newTalk(t *testing.T, address string) *talk {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &talk{t: t, conn: conn, reader: bufio.NewReader(conn)}
}

var (
	casOfGets = regexp.MustCompile(`(?m)^(VALUE \S+ \d+ \d+) (\d+)\r$`)
	casOfMeta = regexp.MustCompile(`(?m)^((?:HD|VA \d+)(?: [^c\s]\S*)*) c(\d+)`)
	lifetimes = regexp.MustCompile(` t(9\d\d|2\d\d|1000|300)\b`) // the clocks of two memcacheds tick at different times
	debugging = regexp.MustCompile(`(?m)^ME (\S+) .*$`)
)

// say sends a command and returns the complete reply. It replaces CAS values and lifetimes by placeholders, because they differ
// between memcacheds.
func (c *talk) say(lines ...string) string {
	c.t.Helper()
	text := strings.Join(lines, "\r\n")
	if c.cas != "" {
		text = strings.NewReplacer(" 1 C\r", " 1 "+c.cas+"\r", " 1 C ", " 1 "+c.cas+" ", " CC", " C"+c.cas).Replace(text)
	}
	must(c.t, c.conn.SetDeadline(time.Now().Add(patienceOfTests)))
	_, err := c.conn.Write([]byte(text + "\r\nmn\r\n"))
	must(c.t, err)
	var reply strings.Builder
	for want := strings.Count(lines[0], "mn") + 1; want > 0; {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			c.t.Fatalf("%.200q: %v after %q", text, err, reply.String())
		}
		reply.WriteString(line)
		if line == "MN\r\n" {
			want--
		}
	}
	for _, pattern := range []*regexp.Regexp{casOfGets, casOfMeta} {
		if found := pattern.FindStringSubmatch(reply.String()); found != nil {
			c.cas = found[2]
		}
	}
	answer := casOfMeta.ReplaceAllString(casOfGets.ReplaceAllString(reply.String(), "$1 CAS\r"), "$1 cCAS")
	return debugging.ReplaceAllString(lifetimes.ReplaceAllString(answer, " tLEFT"), "ME $1")
}

// withValues are the commands whose value is on the next line.
var withValues = []string{"set", "add", "replace", "append", "prepend", "cas", "ms"}

// statements splits lines into commands with their values, and inserts the key.
func statements(lines []string, key string) [][]string {
	var all [][]string
	names := strings.NewReplacer("K", key, "B", base64.StdEncoding.EncodeToString([]byte(key)))
	for i := 0; i < len(lines); i++ {
		command := []string{names.Replace(lines[i])}
		if word, _, _ := strings.Cut(lines[i], " "); slices.Contains(withValues, word) {
			i++
			command = append(command, lines[i])
		}
		all = append(all, command)
	}
	return all
}
