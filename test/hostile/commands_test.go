// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build hostile

package hostile

import (
	"bufio"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	// defaultRounds is how often TestCommandsInALoopKeepTheirMemory sends a command while it measures memory, unless the environment
	// variable ROUNDS is set. Before, the test sends the command equally often without measuring, because memcached may allocate memory at
	// first and then reuse it.
	defaultRounds = 2000
	// next separates requests that a round sends one after another.
	next = " | "
	// noise is by how many bytes memory may grow without a leak.
	noise = 4 * mebibyte
)

// commands are the commands in memcached's doc/protocol.txt with their subcommands, and malformed commands.
var commands = []string{
	"set k 0 0 3\nabc", "add k 0 0 3\nabc", "replace k 0 0 3\nabc", "append k 0 0 0\n", "prepend k 0 0 0\n", "cas k 0 0 3 1\nabc",
	"set k 0 0 -1", "set k 0 0 2147483647", "set k 0 0 3 noreply\nabc", "set k 0 0 2\nabc", "set k 0 0 2000000\n" + strings.Repeat("x", 2000000),
	"get k", "get k k k k k k k k k k", "get absent", "gets k", "gat 0 k", "gats 0 k", "touch k 0", "incr k 1", "decr k 1", "delete k",
	"get " + strings.Repeat("k", 251), "get " + strings.Repeat("k ", 500),
	"mg k", "mg k v", "mg k s v t c f k O1", "mg k N30 v", "mg a2V5 b v", "mg absent N30 v | md absent", "mg k h l t E1",
	"ms k 3\nabc", "ms k 3 T60 MA I\nabc", "ms k S3", "md k", "md k q", "ma k", "ma k N0 J1 D1 MI v", "mn", "me k", "me absent",
	"stats", "stats settings", "stats items", "stats slabs", "stats sizes", "stats sizes_enable", "stats sizes_disable", "stats conns",
	"stats reset", "stats detail on | get k | stats detail dump | stats detail off", "stats cachedump 1 100", "stats extstore", "stats proxy",
	"slabs reassign 1 2", "slabs reassign -1 1", "slabs automove 0 | slabs automove 1", "slabs automove 2", "slabs automove ratio 0.8",
	"slabs automove freeratio 0.01", "slabs automove window 30",
	"lru tune 10 25 0.1 2.0", "lru mode flat | lru mode segmented", "lru temp_ttl 60 | lru temp_ttl -1",
	"lru_crawler crawl all", "lru_crawler crawl 1,2,3", "lru_crawler sleep 0", "lru_crawler tocrawl 100", "lru_crawler metadump all",
	"lru_crawler mgdump all", "lru_crawler enable", "lru_crawler disable",
	"watch", "watch fetchers", "watch mutations evictions connevents", "extstore free_memchunks 1 1", "extstore recache_rate 1",
	"flush_all", "flush_all 0 noreply", "flush_all 100", "cache_memlimit 64", "cache_memlimit 1", "cache_memlimit 65 | cache_memlimit 64",
	"verbosity 0", "verbosity 2 | verbosity 0", "version", "shutdown", "misbehave", "refresh_certs", "debugtime p", "debugitem lock k",
	"unknown", "",
}

func TestCommandsInALoopKeepTheirMemory(t *testing.T) {
	for _, command := range commands {
		t.Run(name(command), func(t *testing.T) {
			n := start(t, cachev1alpha1.MemcachedSpec{Size: 1}, nil)
			grown := n.repeated(t, command, rounds(t))
			if grown > noise {
				t.Errorf("%d rounds took %d KiB more: name this command in docs/operations/security.md and docs/concepts/sizing.md",
					rounds(t), grown/kibibyte)
			}
			if used := n.resident(t); used > n.limit {
				t.Errorf("memcached uses %d MiB, and the limit is %d", used/mebibyte, n.limit/mebibyte)
			}
		})
	}
}

// repeated sends a command for the given number of rounds, twice. It returns by how many bytes memcached's memory grew the second time.
func (n *node) repeated(t *testing.T, command string, rounds int) int64 {
	t.Helper()
	conn := n.connect(t)
	reader := bufio.NewReader(conn)
	must(t, send(conn, reader, command, rounds))
	before := n.resident(t)
	must(t, send(conn, reader, command, rounds))
	return n.resident(t) - before
}

// send repeats the requests of a command for the given number of rounds, and waits for the response to each request. A no-op, "mn",
// follows each request: its response, "MN", marks the end of the responses to the request.
func send(conn net.Conn, reader *bufio.Reader, command string, rounds int) error {
	var requests []string
	for request := range strings.SplitSeq(command, next) {
		requests = append(requests, strings.ReplaceAll(request, "\n", "\r\n")+"\r\nmn\r\n")
	}
	for sent := range rounds * len(requests) {
		request := requests[sent%len(requests)]
		written := make(chan error, 1)
		go func() {
			_, err := conn.Write([]byte(request))
			written <- err
		}()
		for wanted := strings.Count(request, "mn\r\n"); wanted > 0; {
			line, err := reader.ReadString('\n')
			if err != nil {
				return err
			}
			if line == "MN\r\n" {
				wanted--
			}
		}
		if err := <-written; err != nil {
			return err
		}
	}
	return nil
}

func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROUNDS")
	if text == "" {
		return defaultRounds
	}
	wanted, err := strconv.Atoi(text)
	must(t, err)
	return wanted
}

func name(command string) string {
	short := strings.ReplaceAll(command, "\n", " ")
	return short[:min(len(short), 60)]
}
