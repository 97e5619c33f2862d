// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/fill"
)

// pipeline writes all requests at once, and returns the complete reply.
func (c *talk) pipeline(requests string) string {
	c.t.Helper()
	must(c.t, c.conn.SetDeadline(time.Now().Add(patienceOfTests)))
	go func() { _, _ = io.WriteString(c.conn, requests+"mn\r\n") }() // an error shows in the reply
	var reply strings.Builder
	for {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			c.t.Errorf("%.200q: %v after %.200q", requests, err, reply.String())
			return ""
		}
		reply.WriteString(line)
		if line == "MN\r\n" {
			return reply.String()
		}
	}
}

// directly connects to the nodes of each pool.
func (p *proxyPod) directly(pools int) (nodes []*talk) {
	for pool := range pools {
		for number := range 2 {
			nodes = append(nodes, newTalk(p.t, p.node(10*pool+number)+":11211"))
		}
	}
	return nodes
}

// A client sends two requests for a key without waiting for the first answer. The answers, and the value in each copy, are those of a
// single memcached. The key has a value before, which one copy may lack, or it has none.
func TestOrderOfCopies(t *testing.T) {
	t.Parallel()
	const add, set, replace = "add K 0 0 3\r\nold", "set K 0 0 3\r\nnew", "replace K 0 0 3\r\nnew"
	const cas, appendN = "cas K 0 0 3 C\r\nold", "ms K 3 MA N0\r\nold"
	pairs := [][2]string{
		{add, "delete K"},
		{"add K 0 0 3 noreply\r\nold", "delete K noreply"},
		{"ms K 3 ME\r\nold", "md K"},
		{add, set},
		{add, replace},
		{add, "touch K 100"},
		{add, "append K 0 0 3\r\nnew"},
		{add, "add K 0 0 3\r\nnew"},
		{"ma K N0 J1", "set K 0 0 2\r\n50"},
		{"ma K N0 J1", "delete K"},
		{"ma K N0 J9", "incr K 5"},
		{appendN, set},
		{appendN, "delete K"},
		{"mg K N30 v", set},
		{"mg K N30 v", "delete K"},
		{set, "delete K"},
		{replace, "delete K"},
		{"get K", set},
		{"incr K 1", "set K 0 0 2\r\n50"},
		{"incr K 99", "append K 0 0 1\r\n1"},
		{"set K 0 0 2\r\n99", "incr K 1"},
		{cas, set},
		{cas, "append K 0 0 3\r\nnew"},
		{cas, "delete K"},
		{cas, cas},
		{"append K 0 0 1\r\n1", "prepend K 0 0 1\r\n2"},
		{"md K I", "ms K 3\r\nnew"},
		{"delete K", add},
	}
	for _, row := range []struct {
		name  string
		pools int
		lacks []int
	}{
		{name: "two copies", pools: 2},
		{name: "three copies", pools: 3},
		{name: "the first lacks the items", pools: 2, lacks: []int{0, 1}},
		{name: "the second lacks the items", pools: 3, lacks: []int{2, 3}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newCopiesPod(t, row.pools)
			client, oracle, nodes := newTalk(t, p.proxy.Memcached), newTalk(t, p.node(oracleNode)+":11211"), p.directly(row.pools)
			for number, pair := range pairs {
				for round := range 100 {
					p.orderOf(pair, fmt.Sprintf("order-%d-%d", number, round), round%2 == 1 || row.lacks != nil, row.lacks, client, oracle, nodes)
				}
			}
		})
	}
}

func (p *proxyPod) orderOf(pair [2]string, key string, has bool, lacks []int, client, oracle *talk, nodes []*talk) {
	p.t.Helper()
	answers, nothing := map[*talk]string{}, "END\r\nMN\r\n"
	for _, c := range []*talk{client, oracle} {
		c.cas = "5"
		if has {
			c.say("set "+key+" 0 0 1", "7")
			c.say("gets " + key)
		}
	}
	for _, node := range lacks {
		nodes[node].say("delete " + key)
	}
	for _, c := range []*talk{client, oracle} {
		text := pair[0] + "\r\n" + pair[1] + "\r\n"
		answers[c] = c.pipeline(strings.NewReplacer(" K", " "+key, " C\r", " "+c.cas+"\r").Replace(text))
	}
	// While a copy lacks what another has, the second answer may be about what the first request has just made there.
	if answers[client] != answers[oracle] && lacks == nil {
		p.t.Errorf("%q (%v): the answers are %q, not %q", pair, has, answers[client], answers[oracle])
	}
	want := oracle.say("gets " + key)
	if got := client.say("gets " + key); got != want {
		p.t.Errorf("%q (%v): then %q, not %q", pair, has, got, want)
	}
	p.await("the copies agree", func() error { // the CAS number of a longer counter is repaired after the answer
		found, numbers := 0, map[string]bool{}
		for _, node := range nodes {
			node.cas = ""
			switch got := node.say("gets " + key); got {
			case want:
				found++
				numbers[node.cas] = true
			case nothing:
			default:
				return fmt.Errorf("%q (%v): a node has %q, not %q", pair, has, got, want)
			}
		}
		if found == 0 || want != nothing && (len(numbers) != 1 || lacks == nil && found != len(nodes)/2) {
			return fmt.Errorf("%q (%v): %d nodes have %q, with the numbers %v", pair, has, found, want, numbers)
		}
		return nil
	})
}

// Clients of one proxy write the same keys at the same time. Afterwards, all copies have the same values and CAS numbers.
func TestCopiesAgreeAfterRaces(t *testing.T) {
	t.Parallel()
	const pools, count = 3, 60
	p := newCopiesPod(t, pools)
	// A refused request would close connections, and items would be in fewer copies. So only numbers are incremented.
	numbers := []string{
		"set K 0 0 1\r\n5", "set K 0 0 2\r\n97", "add K 0 0 2\r\n98", "replace K 0 0 1\r\n8", "append K 0 0 1\r\n1",
		"prepend K 0 0 1 noreply\r\n2", "delete K", "incr K 1", "decr K 3", "touch K 1000", "gat 1000 K", "cas K 0 0 1 C\r\n6", "mg K T1000",
		"ms K 1 q\r\n7", "ms K 2 ME\r\n99", "ms K 1 MA N1000\r\n3", "ms K 1 CC\r\n4", "ma K N1000 J9", "ma K q MD D7", "ma K CC", "md K",
		"md K CC q", "get K", "ms K 1\r\n9",
	}
	words := []string{
		"set K 0 0 1\r\na", "mg K N1000 v", "md K x", "md K I", "ms K 1 CC I\r\nd", "mg K v", "add K 0 0 1\r\na", "delete K",
		"ms K 1 MP\r\nb",
	}
	var all sync.WaitGroup
	for number := range 6 {
		client, random := newTalk(t, p.proxy.Memcached), rand.New(rand.NewPCG(uint64(number), 3))
		client.cas = "5"
		all.Go(func() {
			for range 150 {
				key, writes := keyOf(random.IntN(count)), numbers
				if random.IntN(3) == 0 {
					key, writes = "word-"+key, words
				}
				client.say("gets " + key)
				var text strings.Builder
				for range 20 {
					text.WriteString(strings.NewReplacer(" K", " "+key, " CC", " C"+client.cas, " C\r", " "+client.cas+"\r").
						Replace(writes[random.IntN(len(writes))]) + "\r\n")
				}
				if reply := client.pipeline(text.String()); strings.Contains(reply, "ERROR") {
					t.Errorf("%q is answered with %q", text.String(), reply)
				}
			}
		})
	}
	all.Wait()
	nodes := p.directly(pools)
	for key := range count {
		for _, key := range []string{keyOf(key), "word-" + keyOf(key)} {
			p.await("the copies agree", func() error {
				if values, holders := valuesOf(nodes, key); len(values) > 1 || holders != 0 && holders != pools {
					return fmt.Errorf("%s: %v", key, values)
				}
				return nil
			})
		}
	}
}

// valuesOf returns the different values that nodes have for a key, with their CAS numbers, and how many nodes have one.
func valuesOf(nodes []*talk, key string) (values map[string]bool, holders int) {
	values = map[string]bool{}
	for _, node := range nodes {
		if value := node.pipeline("gets " + key + "\r\n"); value != "END\r\nMN\r\n" {
			values[value] = true
			holders++
		}
	}
	return values, holders
}

// Readers add what they have read from the database, while a writer deletes the key. Each add succeeds only if the key is absent, and after
// the last answer, the key is there only if one add more than deletes has succeeded.
func TestAddsRaceDelete(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	one, two, writer := newTalk(t, p.proxy.Memcached), newTalk(t, p.proxy.Memcached), newTalk(t, p.proxy.Memcached)
	deleted := 0
	for i := range 1500 {
		var all sync.WaitGroup
		var added atomic.Int32
		for _, reader := range []*talk{one, two} {
			all.Go(func() {
				if reader.say("add "+keyOf(i)+" 0 0 3", "old") == "STORED\r\nMN\r\n" {
					added.Add(1)
				}
			})
		}
		all.Go(func() {
			time.Sleep(time.Duration(i%20) * 10 * time.Microsecond)
			if strings.HasPrefix(writer.say("delete "+keyOf(i)), "DELETED") {
				deleted++
				added.Add(-1)
			}
		})
		all.Wait()
		if got := writer.say("get "+keyOf(i)) != "END\r\nMN\r\n"; got != (added.Load() == 1) || added.Load() < 0 || added.Load() > 1 {
			t.Errorf("%s is there: %t, after %d more adds than deletes", keyOf(i), got, added.Load())
		}
	}
	if deleted < 100 {
		t.Errorf("only %d deletes came after an add", deleted)
	}
}

// A client has read a value and its CAS number from a copy that is away now. Its cas fails if others have changed the value since, and
// otherwise succeeds. JavaScript can represent the number.
func TestCasOfAnotherCopy(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	client, other := newTalk(t, p.proxy.Memcached), newTalk(t, p.proxy.Memcached)
	numbers := map[string]string{}
	for _, key := range keys(100) {
		for range 3 {
			client.say("set "+key+" 0 0 1", "7")
			client.say("gets " + key)
			client.say("cas "+key+" 0 0 1 C", "8")
		}
		client.say("gets " + key)
		numbers[key] = client.cas
		if len(client.cas) > 16 || len(client.cas) == 16 && client.cas > "9007199254740991" {
			t.Fatalf("%s has more than 53 bits", client.cas)
		}
	}
	p.kill(0)
	p.kill(1)
	for i, key := range keys(100) {
		want := "STORED\r\nMN\r\n"
		if i%2 == 0 {
			want = "EXISTS\r\nMN\r\n"
			for range 9 {
				other.say("incr " + key + " 1")
			}
		}
		if got := client.say("cas "+key+" 0 0 1 "+numbers[key], "9"); got != want {
			t.Errorf("%s: %q, not %q", key, got, want)
		}
	}
}

// A node of each copy comes back empty and is filled while clients write, each its own keys. Afterwards, no node has a value of its own.
func TestFillWhileClientsWrite(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	writes := []string{
		"set K 0 0 2\r\n10", "set K 0 0 3\r\n995", "delete K", "touch K 1000", "incr K 1", "decr K 7", "md K q", "add K 0 0 1\r\n5",
		"replace K 0 0 1\r\n6", "append K 0 0 1\r\n1", "ma K N0 J5 v", "ms K 1 MA N0\r\n2",
	}
	const clients, each = 4, 300
	probe, done := p.client(), make(chan struct{})
	var running sync.WaitGroup
	for number := range clients {
		client, random := newTalk(t, p.proxy.Memcached), rand.New(rand.NewPCG(uint64(number), 7))
		for i := range each {
			client.say(fmt.Sprintf("set of-%d-%d 0 0 2", number, i), "10")
		}
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					key := fmt.Sprintf(" of-%d-%d", number, random.IntN(each))
					client.say(strings.ReplaceAll(writes[random.IntN(len(writes))], " K", key))
				}
			}
		})
	}
	for _, number := range []int{10, 0, 11, 1} {
		p.kill(number)
		p.startNode(number)
		p.await("it is found", func() error {
			away, err := probe.Stats(t.Context(), "proxybe")
			if err == nil && len(away) != 0 {
				err = fmt.Errorf("%v", away)
			}
			return err
		})
		copied, err := fill.Copy{Source: p.node((number+10)%20) + ":11211", Destination: p.node(number) + ":11211"}.Run(t.Context())
		must(t, err)
		if copied.Items+copied.Present < each {
			t.Errorf("node %d: %+v", number, copied)
		}
	}
	close(done)
	running.Wait()
	nodes, alone := p.directly(2), 0
	for number := range clients {
		for i := range each {
			key := fmt.Sprintf("of-%d-%d", number, i)
			switch values, holders := valuesOf(nodes, key); {
			case len(values) > 1:
				t.Errorf("%s: %v", key, values)
			case holders == 1:
				alone++
			}
		}
	}
	if alone > clients*each/10 {
		t.Errorf("%d items are in one copy only", alone)
	}
}
