// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

const stored = 2000

func TestItemsSurviveEveryChangeThatMemcachedAllows(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	p.store(stored)
	restarted := inFile(t)
	restarted.Restart = "2026-11-24T07:00:00Z"
	for _, change := range []protocol.List{
		inFile(t, "-c 1055", "-c 2031", "=44", "=60"),
		inFile(t, "-t 4", "-t 8"),
		inFile(t, "-X", "-X -F"),
		inFile(t, "-W -X", "-W"),
		inFile(t, "=44", "=44,idle_timeout=600"),
		inFile(t),
		restarted,
	} {
		before := p.client() // a connection to the process that the restart ends
		status := p.runs(p.assign(change))
		if status.Restart == nil || status.Restart.ItemsBefore != stored || status.Restart.ItemsAfter != stored {
			t.Errorf("%v: the restart was %+v", change, status.Restart)
		}
		if found := p.stored(stored); found != stored {
			t.Fatalf("%v: %d of %d items; the parent logged:\n%s", change, found, stored, p.logged())
		}
		if _, err := before.Stats(t.Context()); err == nil {
			t.Errorf("%v: memcached was not restarted", change)
		}
	}
}

func TestOtherMemoryEmptiesTheFile(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	p.store(stored)
	status := p.runs(p.assign(inFile(t, "-m 128", "-m 192")))
	if status.Restart.ItemsBefore != stored || status.Restart.ItemsAfter != 0 || p.setting("maxbytes") != "201326592" {
		t.Errorf("the restart was %+v, and the memory is %s", status.Restart, p.setting("maxbytes"))
	}
}

// A memcached that cannot forget restarts with the arguments that it has. An entry that names another process changes nothing, nor does
// one that names none.
func TestForgetting(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	list, before := inMemory(t), 0
	p.begin(list)
	for list.Forget = credentials.StartOf(p.pid()); before != p.pid(); {
		before = p.pid()
		must := list.Forget == credentials.StartOf(before)
		p.runs(p.assign(list))
		if restarted := before != p.pid(); restarted != must {
			t.Errorf("the process %d is %d now, and the one of %d must restart", before, p.pid(), list.Forget)
		}
	}
	list.Forget = 0
	if p.runs(p.assign(list)); before != p.pid() {
		t.Error("it was restarted for nothing")
	}
}

func TestFreePagesAreTakenBackAfterARestart(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	list := inFile(t)
	p.begin(list)
	conn := p.client()
	const large = 10_000
	for i := range 50 * 100 {
		reply, err := conn.Command(t.Context(), fmt.Sprintf("set key-%d 0 0 %d\r\n%s", i, large, strings.Repeat("v", large)))
		must(t, err)
		if reply != "STORED" {
			t.Fatal(reply)
		}
	}
	list.Restart = "2026-11-24T07:00:00Z"
	p.runs(p.assign(list))
	conn = p.client()
	for i := range 50 * 100 {
		_, err := conn.Command(t.Context(), fmt.Sprintf("delete key-%d", i))
		must(t, err)
	}
	p.await("no slab class keeps free pages", func() error {
		stats, err := conn.Stats(t.Context(), "slabs")
		must(t, err)
		for class := 1; class <= lastClass; class++ {
			if pages := free(stats, class); pages > 0 {
				return fmt.Errorf("class %d has %d free pages", class, pages)
			}
		}
		return nil
	})
}

// The kubelet may end a container while memcached restarts.
func TestEndWhileRestarting(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.options.crawler = 0 // do not wait: a memcached that hangs cannot say that its crawler is idle
	p.begin(inFile(t))
	p.store(stored)
	must(t, syscall.Kill(p.pid(), syscall.SIGSTOP)) // memcached cannot end before SIGCONT
	next := p.assign(inFile(t, "-t 4", "-t 5"))
	p.status("memcached restarts", func(s protocol.Status) bool { return s.Restarting && s.Since.IsZero() })
	if code := p.ready(); code != http.StatusServiceUnavailable {
		t.Errorf("while memcached restarts, the probe gets %d", code)
	}
	p.signals <- syscall.SIGTERM
	must(t, syscall.Kill(p.pid(), syscall.SIGCONT))
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.start()
	p.runs(next)
	if p.stored(stored) != stored {
		t.Errorf("items are lost; the parent logged:\n%s", p.logged())
	}
}

// If NAME.meta (see the type items) lacks half of its text, or only its last line, the items are lost, but memcached starts.
func TestIncompleteMetadata(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(text []byte) []byte{
		"half":                  func(text []byte) []byte { return text[:len(text)/2] },
		"all but the last line": func(text []byte) []byte { return text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.begin(inFile(t))
			p.store(stored)
			p.end()
			meta := p.options.Items + ".meta"
			text, err := os.ReadFile(meta)
			must(t, err)
			must(t, os.WriteFile(meta, keep(text), 0o700))
			p.start()
			p.runs(0)
			if p.stored(stored) != 0 {
				t.Error("items were found by incomplete metadata")
			}
		})
	}
}

func TestMoreMemoryNeedsNoRestart(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inMemory(t))
	p.store(stored)
	conn := p.client()
	status := p.runs(p.assign(inMemory(t, "-m 64", "-m 128")))
	stats, err := conn.Stats(t.Context())
	must(t, err)
	if status.Restart != nil || p.stored(stored) != stored || stats["limit_maxbytes"] != "134217728" {
		t.Errorf("restart %+v, memory %s", status.Restart, stats["limit_maxbytes"])
	}
	less := p.runs(p.assign(inMemory(t)))
	if less.Restart == nil || less.Restart.ItemsAfter != 0 {
		t.Errorf("less memory: restart %+v", less.Restart)
	}
}

func TestMoreMemoryWaitsForAConnection(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inMemory(t, "-c 1055", "-c 100"))
	var open []net.Conn
	for range 150 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.options.Memcached)
		must(t, err)
		open = append(open, conn)
	}
	more := p.assign(inMemory(t, "-c 1055", "-c 100", "-m 64", "-m 128"))
	p.logs("trying again: ")
	for _, conn := range open {
		must(t, conn.Close())
	}
	if status := p.runs(more); status.Restart != nil || status.Refused != nil || strings.Count(p.logged(), "trying again: ") > 2 {
		t.Errorf("%+v; the parent logged:\n%s", status, p.logged())
	}
}
