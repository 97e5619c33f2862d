// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

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
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
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
