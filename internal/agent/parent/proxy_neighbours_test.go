// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// neighbour is a client that checks each answer, while a hostile client uses the same proxy.
type neighbour struct {
	conn   net.Conn
	reader *bufio.Reader
	number int
}

func (n *neighbour) ask(request string) (string, error) {
	if _, err := io.WriteString(n.conn, request); err != nil {
		return "", err
	}
	reply, err := n.reader.ReadString('\n')
	for lines := 1; err == nil && strings.HasPrefix(reply, "VALUE ") && lines < 3; lines++ { // the value and END follow
		var line string
		line, err = n.reader.ReadString('\n')
		reply += line
	}
	return reply, err
}

// trip stores a value and reads it again. It returns whether both succeeded, and an error if an answer cannot be one to its request.
// With several pools, a pool that has missed the set may answer with an earlier value of the key.
func (n *neighbour) trip(at int) (bool, error) {
	key := fmt.Sprintf("client-%d-key-%d", n.number, at%20)
	value := fmt.Sprintf("value-%d-of-%s", at, key)
	set, err := n.ask(fmt.Sprintf("set %s 0 0 %d\r\n%s\r\n", key, len(value), value))
	if err == nil && set != "STORED\r\n" && !strings.HasPrefix(set, "SERVER_ERROR ") {
		err = fmt.Errorf("the answer to a set of %s is %q", key, set)
	}
	if err != nil {
		return false, err
	}
	get, err := n.ask("get " + key + "\r\n")
	own := strings.HasPrefix(get, "VALUE "+key+" ") && strings.Contains(get, "-of-"+key+"\r\n")
	if err == nil && !own && get != "END\r\n" && !strings.HasPrefix(get, "SERVER_ERROR ") {
		err = fmt.Errorf("the answer to a get of %s is %q", key, get)
	}
	return set == "STORED\r\n" && strings.Contains(get, value+"\r\n"), err
}

// besides lets four clients make round trips while a hostile client sends what the function request returns. It returns how many round
// trips failed.
func (p *proxyPod) besides(trips int, request func() string) int64 {
	p.t.Helper()
	done := make(chan struct{})
	var hostile sync.WaitGroup
	for range 3 {
		hostile.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					p.harass(request)
				}
			}
		})
	}
	const clients = 4
	var failed atomic.Int64
	results := make(chan error, clients)
	for number := range clients {
		n := &neighbour{number: number}
		conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.proxy.Memcached)
		must(p.t, err)
		must(p.t, conn.SetDeadline(time.Now().Add(3*time.Minute)))
		n.conn, n.reader = conn, bufio.NewReader(conn)
		go func() {
			defer conn.Close()
			for at := range trips / clients {
				succeeded, err := n.trip(at)
				if err != nil {
					results <- err
					return
				}
				if !succeeded {
					failed.Add(1)
				}
			}
			results <- nil
		}()
	}
	for range clients {
		if err := <-results; err != nil {
			p.t.Error(err)
		}
	}
	close(done)
	hostile.Wait()
	return failed.Load()
}

// harass sends some requests over one connection, and waits a moment for their answers.
func (p *proxyPod) harass(request func() string) {
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.proxy.Memcached)
	if err != nil {
		return
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for range 20 {
		_ = conn.SetDeadline(time.Now().Add(5 * time.Millisecond))
		_, _ = io.WriteString(conn, request()+"mn\r\n")
		for line := ""; line != "MN\r\n"; {
			if line, err = reader.ReadString('\n'); err != nil {
				return
			}
		}
	}
}

// odd are the parts of odd requests.
var odd = struct{ commands, keys, tokens, ends []string }{
	commands: []string{
		"get", "gets", "gat 10", "gats 10", "mg", "ms", "md", "ma", "me", "incr", "decr", "touch", "delete", "set", "add", "append", "replace", "cas",
	},
	keys: []string{
		"absent", "q", "noreply", "qq", strings.Repeat("k", 250), strings.Repeat("k", 251), strings.Repeat("k", 300), "ZjM=", "a\tb", "\x01", "é",
	},
	tokens: []string{
		"q", "noreply", "k", "v", "0", "1", "3", "-1", "b", "O123", "N30", "T0", "ME", "MA", "C1", "E5", "I", "S3", "D1", "F9", "Z", "x", "\r", "\tq",
		"O" + strings.Repeat("o", 40), "é",
	},
	ends: []string{"\r\n", "\n", " \r\n", "  \r\n", "\r\r\n", " \n"},
}

// oddRequest returns a request that is often malformed: too many tokens, tokens twice or glued together, other line ends.
func oddRequest(random *rand.Rand) string {
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	request := pick(odd.commands) + " " + pick(odd.keys)
	again := odd.tokens[random.IntN(3)]
	for range random.IntN(30) {
		token := again
		if random.IntN(4) == 0 {
			token = pick(odd.tokens)
		}
		if random.IntN(6) == 0 {
			token += again
		}
		request += strings.Repeat(" ", 1+random.IntN(8)/7) + token
	}
	request += pick(odd.ends)
	if random.IntN(2) == 0 {
		request += strings.Repeat("a", random.IntN(5)) + "\r\n"
	}
	return request
}

// seed differs for each request, so that go test -count tries others.
var seed atomic.Uint64

// Whatever a client sends, the other clients of a proxy get the answers to their own requests.
func TestAnswersBesideOddRequests(t *testing.T) {
	t.Parallel()
	for pools := 1; pools <= 2; pools++ {
		t.Run(fmt.Sprintf("%d pools", pools), func(t *testing.T) {
			t.Parallel()
			p := newCopiesPod(t, pools)
			// What fails is not judged here, but wrong answers are.
			p.besides(6000, func() string { return oddRequest(rand.New(rand.NewPCG(seed.Add(1), uint64(pools)))) })
		})
	}
}

// A node refuses a longer key, and memcached's proxy then closes its connection to the node.
func TestLongKeysOfOthers(t *testing.T) {
	t.Parallel()
	for pools := 1; pools <= 2; pools++ {
		t.Run(fmt.Sprintf("%d pools", pools), func(t *testing.T) {
			t.Parallel()
			p := newCopiesPod(t, pools)
			for _, request := range []string{"touch K 1\r\n", "get K\r\n", "set K 0 0 1\r\na\r\n", "mg K v\r\n"} {
				request = strings.Replace(request, "K", strings.Repeat("k", 251), 1)
				if failed := p.besides(1000, func() string { return request }); failed > 0 {
					t.Errorf("%.20s...: %d round trips of others failed", request, failed)
				}
			}
		})
	}
}
