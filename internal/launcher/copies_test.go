// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// dialogues are commands of clients, with K for the key, B for it in base64, and C for the CAS value that was last seen. After the
// first one, or before it if there is a bar, something happens to a copy.
var dialogues = []struct {
	name, text string
	// single says that one copy decides, and the others forget the key.
	single bool
}{
	{name: "get", text: "set K 7 0 1|a|get K|get K no-such-key K|get no-such-key"},
	{name: "gets", text: "set K 7 0 1|a|gets K|gets no-such-key"},
	{name: "set", text: "|set K 0 0 1|a|set K 3 100 2|bb"},
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
	{name: "cas", text: "set K 0 0 1|a|gets K|cas K 4 0 1 C|b", single: true},
	{name: "cas twice", text: "set K 0 0 1|a|gets K|cas K 4 0 1 C|b|cas K 4 0 1 C|c|gets K|cas K 4 0 1 C|d", single: true},
	{name: "cas too late", text: "set K 0 0 1|a|gets K|set K 0 0 1|b|cas K 0 0 1 C|c"},
	{name: "cas of nothing", text: "|cas K 0 0 1 5|b"},
	{name: "incr", text: "set K 0 0 2|10|incr K 5|decr K 1|decr K 100"},
	{name: "incr nothing", text: "|incr K 5|decr K 5"},
	{name: "incr a word", text: "set K 0 0 1|a|incr K 5"},
	{name: "touch", text: "set K 0 0 1|a|touch K 100|mg K t"},
	{name: "touch nothing", text: "|touch K 100"},
	{name: "touch to expire", text: "set K 0 0 1|a|touch K -1|get K"},
	{name: "gat", text: "set K 9 0 1|a|gat 100 K|gat 100 K no-such-key|mg K t"},
	{name: "gats", text: "set K 9 0 1|a|gats 100 K|gat 100 no-such-key"},
	{name: "delete", text: "set K 0 0 1|a|delete K|delete K"},
	{name: "delete noreply", text: "set K 0 0 1|a|delete K noreply|get K"},
	{name: "mg", text: "set K 9 0 1|a|mg K v f s k Oabc|mg K|mg K q v|mg no-such-key v|mg no-such-key v q k|mg no-such-key s k Oabc q|mn"},
	{name: "mg with a new lifetime", text: "set K 0 0 1|a|mg K T100 v|mg K t v|mg no-such-key T100 v|mg no-such-key T100 v q"},
	{name: "mg that makes an item", text: "|mg K N100 v c|mg K N100 v|mg K v|ms K 1|a|mg K N100 v t"},
	{name: "mg that finds one", text: "set K 0 0 1|a|mg K N100 v t|mg K v"},
	{name: "mg that makes one quietly", text: "|mg K N100 v q|mg K N100 v q|mg K v q k"},
	{name: "mg with all of it", text: "set K 0 0 1|a|mg K N30 T100 v t|mg K v t"},
	{name: "mg that makes one with a lifetime", text: "|mg K T100 N30 v|mg K v"},
	{name: "mg before the end", text: "set K 0 20 1|a|mg K R30 v"},
	{name: "ms", text: "|ms K 1 F5 T100 c|a|mg K v f t"},
	{name: "ms with its mode", text: "set K 0 0 1|a|ms K 1 MS k Oabc|b|ms K 1 q|c|ms K 1 q k|d"},
	{name: "ms as add", text: "|ms K 1 ME|a|ms K 1 ME|b|ms K 1 ME q|c"},
	{name: "ms as add of what exists", text: "set K 0 0 1|a|ms K 1 ME|b|ms K 1 ME q Oabc|b"},
	{name: "ms as replace", text: "set K 0 0 1|a|ms K 1 MR|b|ms no-such-key 1 MR|b"},
	{name: "ms as append", text: "set K 0 0 1|a|ms K 1 MA|b|ms K 1 MP|c|ms no-such-key 1 MA|b"},
	{name: "ms as append that may make an item", text: "set K 0 0 1|a|ms K 1 MA N100|b|ms K 1 MP N100 q|c"},
	{name: "ms as append that makes one", text: "|ms K 1 MA N100|b|ms K 1 MA N100|c|mg K v t"},
	{name: "ms with CAS", text: "set K 0 0 1|a|mg K c|ms K 1 CC|b|ms K 1 CC|c", single: true},
	{name: "ms with CAS of nothing", text: "|ms K 1 C5|b"},
	{name: "ms of a stale value", text: "set K 0 0 1|a|mg K c|set K 0 0 1|b|ms K 1 CC I|c|mg K v|mg K v", single: true},
	{name: "ms of a binary key", text: "|ms B 1 b|a|ms B 1 b ME|b|mg B b v k|ma B b|md B b q|mg B b v"},
	{name: "ms with CAS of a binary key", text: "ms B 1 b|a|mg B b c|ms B 1 b CC|b|mg B b v", single: true},
	{name: "md", text: "set K 0 0 1|a|md K|md K|md K k Oabc|md no-such-key q"},
	{name: "md quiet", text: "set K 0 0 1|a|md K q|mg K"},
	{name: "md with CAS", text: "set K 0 0 1|a|mg K c|md K CC", single: true},
	{name: "md with CAS too late", text: "set K 0 0 1|a|mg K c|set K 0 0 1|b|md K CC"},
	{name: "md that marks as stale", text: "set K 0 0 1|a|md K I T100|mg K v t|mg K v|ms K 1|b|mg K v"},
	{name: "md of the value", text: "set K 5 0 1|a|md K x|mg K v f"},
	{name: "ma", text: "set K 0 0 2|10|ma K v|ma K D5 MD v|ma K MD D100 v|ma K q|ma no-such-key v|ma no-such-key q"},
	{name: "ma that makes an item", text: "|ma K N100 J13 v|ma K N100 J13 v|mg K v t"},
	{name: "ma that makes one quietly", text: "|ma K N100 J13 v q|ma K N100 J13 q|mg K v"},
	{name: "ma that may make one", text: "set K 0 0 2|10|ma K N100 J13 v|ma K N100 q"},
	{name: "ma of a word", text: "set K 0 0 1|a|ma K N100 v"},
	{name: "ma with CAS", text: "set K 0 0 2|10|mg K c|ma K CC v|ma K CC v", single: true},
	{name: "me", text: "set K 0 0 1|a|me K|me no-such-key"},
	{name: "mn", text: "|mn|mn"},
}

// split returns the lines before something happens, which store an item, and those after it.
func split(text string) (before, after []string) {
	lines := strings.Split(text, "|")
	if lines[0] == "" {
		return nil, lines[1:]
	}
	return lines[:2], lines[2:]
}

// talk is a client that sees the whole of each reply.
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
	must(t, conn.SetDeadline(time.Now().Add(3*time.Minute)))
	return &talk{t: t, conn: conn, reader: bufio.NewReader(conn)}
}

var (
	casOfGets = regexp.MustCompile(`(?m)^(VALUE \S+ \d+ \d+) (\d+)\r$`)
	casOfMeta = regexp.MustCompile(`(?m)^((?:HD|VA \d+)(?: [^c\s]\S*)*) c(\d+)`)
	lifetimes = regexp.MustCompile(` t(9\d|2\d|100|30)\b`) // the clocks of two memcacheds tick at different times
	debugging = regexp.MustCompile(`(?m)^ME (\S+) .*$`)
)

// say sends lines and returns the replies, without CAS values.
func (c *talk) say(lines ...string) string {
	c.t.Helper()
	text := strings.Join(lines, "\r\n")
	if c.cas != "" {
		text = strings.NewReplacer(" 1 C\r", " 1 "+c.cas+"\r", " CC", " C"+c.cas).Replace(text)
	}
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

// statements are the commands among lines, each with the line of its value.
func statements(lines []string, key string) [][]string {
	var all [][]string
	names := strings.NewReplacer("K", key, "B", base64.StdEncoding.EncodeToString([]byte(key)))
	for i := 0; i < len(lines); i++ {
		command := []string{names.Replace(lines[i])}
		if word, _, _ := strings.Cut(lines[i], " "); strings.Contains(" set add replace append prepend cas ms ", " "+word+" ") {
			i++
			command = append(command, lines[i])
		}
		all = append(all, command)
	}
	return all
}

// newCopiesPod is a proxy with two copies of two nodes, and a single memcached that stands for a cache without copies.
func newCopiesPod(t *testing.T) *proxyPod {
	t.Helper()
	p := newProxyPod(t)
	for _, number := range []int{0, 1, 10, 11, 30} { // 10 is the twin of 0
		p.startNode(number)
	}
	text := p.pattern + " 2\n" + strings.Replace(p.pattern, "%d", "1%d", 1) + "\n"
	p.route(text)
	p.startProxy()
	p.leads(text)
	return p
}

func (p *proxyPod) empty(number int) {
	_, err := p.direct(number).Command(p.t.Context(), "flush_all")
	must(p.t, err)
}

func (p *proxyPod) hang(number int) {
	must(p.t, p.nodes[number].Process.Signal(syscall.SIGSTOP))
	p.t.Cleanup(func() { _ = p.nodes[number].Process.Signal(syscall.SIGCONT) })
}

// Each command has the answer of a single memcached, whatever happens to the nodes of one copy, and no node keeps another value than it.
func TestAnswersOfCopies(t *testing.T) {
	t.Parallel()
	first, second := []int{0, 1}, []int{10, 11}
	for name, event := range map[string]struct {
		happen func(*proxyPod, int)
		nodes  []int
		left   []int
	}{
		"nothing happens": {left: append(first, second...)},
		"first empty":     {(*proxyPod).empty, first, append(first, second...)},
		"second empty":    {(*proxyPod).empty, second, append(first, second...)},
		"first away":      {(*proxyPod).kill, first, second},
		"second away":     {(*proxyPod).kill, second, first},
		"first hung":      {(*proxyPod).hang, first, second},
		"second hung":     {(*proxyPod).hang, second, first},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newCopiesPod(t)
			client, oracle := newTalk(t, p.proxy.Memcached), newTalk(t, p.node(30)+":11211")
			for i, dialogue := range dialogues {
				before, _ := split(dialogue.text)
				client.agrees(oracle, dialogue.name, before, i)
			}
			time.Sleep(1100 * time.Millisecond) // flush_all spares what was stored in the same second
			for _, number := range event.nodes {
				event.happen(p, number)
			}
			for i, dialogue := range dialogues {
				_, after := split(dialogue.text)
				client.agrees(oracle, dialogue.name, append(after, "get K"), i)
			}
			for i, dialogue := range dialogues {
				want, found := oracle.say("get "+keyOf(i)), 0
				for _, number := range event.left {
					switch got := newTalk(t, p.node(number)+":11211").say("get " + keyOf(i)); got {
					case want:
						found++
					case "END\r\nMN\r\n":
					default:
						t.Errorf("%s: node %d has %q, not %q", dialogue.name, number, got, want)
					}
				}
				if complete := event.nodes == nil && !dialogue.single; found == 0 || complete && found < 2 {
					t.Errorf("%s: %d nodes have %q", dialogue.name, found, want)
				}
			}
		})
	}
}

func keyOf(number int) string { return fmt.Sprintf("key-%d", number) }

// agrees checks that commands have the answers of a single memcached.
func (c *talk) agrees(oracle *talk, name string, lines []string, number int) {
	c.t.Helper()
	for _, command := range statements(lines, keyOf(number)) {
		if want, got := oracle.say(command...), c.say(command...); got != want {
			c.t.Errorf("%s: %.80q is answered with %q, not %q", name, command, got, want)
		}
	}
}

// Clients notice nothing when a node ends: neither a miss nor an error.
func TestCopyEndsUnderLoad(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t)
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
					if requests++; set != "STORED\r\nMN\r\n" || get != "VALUE "+keyOf(i)+" 0 1\r\na\r\nEND\r\nMN\r\n" {
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
	for _, number := range []int{0, 11} { // of different slots
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

// Of several clients that add a key at the same time, one succeeds.
func TestConcurrentAdds(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t)
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

// memcached counts what a copy has missed, under the numbers of the pools.
func TestCountsOfCopies(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t)
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
	time.Sleep(1100 * time.Millisecond) // as above
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
	counts("missed 0 106, found 100") // of nothing that is lost
}

// A second pool, and back to one: memcached reads other routes and keeps its clients.
func TestPoolBecomesCopies(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t)
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
	// Twins of one name are none.
	p.route(one + p.pattern + "\n")
	p.proxyStatus("it is refused", func(s protocol.ProxyStatus) bool { return s.Refused != nil && s.Routes == two })
	// The other words of memcached.
	talk := newTalk(t, copies.Memcached)
	if reply := talk.say("version"); !strings.HasPrefix(reply, "VERSION 1.") {
		t.Errorf("version: %q", reply)
	}
	if reply := talk.say("stats"); !strings.Contains(reply, "STAT cmd_ms ") && !strings.Contains(reply, "STAT pid ") {
		t.Errorf("stats: %q", reply)
	}
}
