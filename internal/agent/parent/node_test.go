// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

const stored = 2000

func TestItemsSurviveEveryChangeThatMemcachedAllows(t *testing.T) {
	t.Parallel()
	p := newPod(t).full()
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
	p := newPod(t).full()
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
	p.exits(0)
	p.start()
	p.runs(next)
	p.has(stored)
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
			p := newPod(t).full()
			p.end()
			meta := p.options.Items + ".meta"
			text, err := os.ReadFile(meta)
			must(t, err)
			must(t, os.WriteFile(meta, keep(text), 0o700))
			p.start()
			p.runs(0)
			p.has(0)
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

// longKeys is the number of keys that pod.listed stores. The keys are so long that their list exceeds the buffers of a connection.
const longKeys = 50000

// listed starts a node and stores keys in it. It returns a client that requests the list of keys and does not read it.
func (p *pod) listed() *memcache.Conn {
	p.t.Helper()
	p.begin(inFile(p.t, "-W -X", "-W"))
	conn, prefix := p.client(), strings.Repeat("k", 230)
	for first := 0; first < longKeys; first += 1000 {
		var request strings.Builder
		for i := first; i < first+1000; i++ {
			fmt.Fprintf(&request, "ms %s-%d 1 q\r\nv\r\n", prefix, i)
		}
		reply, err := conn.Command(p.t.Context(), request.String()+"mn")
		must(p.t, err)
		if reply != "MN" {
			p.t.Fatal(reply)
		}
	}
	lister := p.client()
	reply, err := lister.Ask([]byte("lru_crawler mgdump hash\r\n"))
	if err != nil || reply != "OK" {
		p.t.Fatal(reply, err)
	}
	time.Sleep(time.Second) // until the buffers are full
	return lister
}

func (p *pod) logs(text string) {
	p.t.Helper()
	p.await("the parent logs "+text, func() error {
		if !strings.Contains(p.logged(), text) {
			return errors.New("it has not")
		}
		return nil
	})
}

const (
	waiting = "the restart waits, at most"
	anyway  = "restarting memcached nevertheless"
)

// If a client is reading a list of keys, memcached serves nobody after SIGUSR1 until the list ends. So the parent first waits for the
// end of the list, unless the restart empties the node.
func TestRestartDuringAListOfKeys(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		crawler         time.Duration
		change          []string
		waits, inTheEnd bool
		items           int64
	}{
		"it waits":            {crawler: patienceOfTests, change: []string{"-t 4", "-t 5"}, waits: true, items: longKeys},
		"it waits in vain":    {crawler: 100 * time.Millisecond, change: []string{"-t 4", "-t 5"}, waits: true, inTheEnd: true, items: longKeys},
		"it empties the node": {crawler: patienceOfTests, change: []string{"-m 128", "-m 192"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.options.crawler = row.crawler
			lister := p.listed()
			next := p.assign(inFile(t, append(row.change, "-W -X", "-W")...))
			if row.waits {
				p.logs(waiting)
			}
			if row.waits && !row.inTheEnd {
				_, err := p.client().Stats(t.Context()) // memcached serves meanwhile
				must(t, err)
			} else {
				p.status("memcached is to end", func(s protocol.Status) bool { return s.Restarting })
			}
			must(t, lister.Close())
			status, logged := p.runs(next), p.logged()
			if status.Restart == nil || status.Restart.ItemsAfter != row.items ||
				strings.Contains(logged, waiting) != row.waits || strings.Contains(logged, anyway) != row.inTheEnd {
				t.Errorf("the restart was %+v; the parent logged:\n%s", status.Restart, logged)
			}
		})
	}
}

func TestEndWhileARestartWaitsForAListOfKeys(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	lister := p.listed()
	p.assign(inFile(t, "-W -X", "-W", "-t 4", "-t 5"))
	p.logs(waiting)
	p.signals <- syscall.SIGHUP
	p.signals <- syscall.SIGTERM
	p.status("memcached is to end", func(s protocol.Status) bool { return s.Restarting })
	must(t, lister.Close())
	p.exits(0)
}

// If memcached crashes while a restart waits, the restart goes on at once.
func TestCrashWhileARestartWaits(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	must(t, syscall.Kill(p.pid(), syscall.SIGSTOP))
	next := p.assign(inFile(t, "-t 4", "-t 5"))
	p.logs("the restart waits, at most 1m0s: version: context deadline exceeded")
	must(t, syscall.Kill(p.pid(), syscall.SIGKILL))
	if status := p.runs(next); status.Restart.ItemsAfter != 0 || strings.Contains(p.logged(), anyway) {
		t.Errorf("the restart was %+v; the parent logged:\n%s", status.Restart, p.logged())
	}
}

// TestReplaceFileOnAFullVolume writes to a device that is always full.
func TestReplaceFileOnAFullVolume(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, replaceFile(file, "good"))
	must(t, os.Symlink("/dev/full", file+".new"))
	if err := replaceFile(file, "new"); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	info, err := os.Lstat(file)
	must(t, err)
	if !info.Mode().IsRegular() {
		t.Errorf("the good file was replaced by %s", info.Mode())
	}
}
