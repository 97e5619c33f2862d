// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

func TestParse(t *testing.T) {
	t.Parallel()
	list := inMemory(t)
	list.Restart = "2026-11-24T07:00:00Z"
	line := "--pod=" + uid + " --target=target --restart=" + list.Restart + " -- " + list.Arguments
	const b, c = "sessions-b-%d.sessions-nodes.shop.svc", "sessions-c-%d.sessions-nodes.shop.svc"
	o, err := Parse(strings.Fields("--fill-from="+b+","+c+" "+line), "sessions-12", io.Discard)
	from := "sessions-b-12.sessions-nodes.shop.svc, sessions-c-12.sessions-nodes.shop.svc"
	if err != nil || o.Name != "sessions-12" || o.Pod != uid || o.First != list || o.from() != from {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := Parse(strings.Fields(line), "sessions-12", io.Discard); err != nil || len(o.sources) > 0 {
		t.Errorf("%+v, %v", o, err)
	}
	lines := []string{
		"", strings.Replace(line, uid, "", 1), strings.Replace(line, "=target", "=", 1), strings.Replace(line, " -- ", " ", 1),
		line + " -A", "--template=0123 " + line,
	}
	for _, from := range []string{
		"", ",", b + ",", b + "," + b, b + "," + c + ",d-%d.svc", "b-1.svc", b + ":11211", "B-%d.svc", "%d-%d.svc", b + ".", "[::%d]",
	} {
		lines = append(lines, "--fill-from="+from+" "+line)
	}
	for _, line := range lines {
		if o, err := Parse(strings.Fields(line), "sessions-12", io.Discard); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %+v, %v", line, o, err)
		}
	}
}

// After a crash of memcached, the kubelet starts the container again. memcached runs with its last list, or with a new one from the
// ConfigMap. The items are lost, because a memcached that crashes writes no NAME.meta (see the type items).
func TestContainerStartsAgainAfterACrash(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	p.store(stored)
	must(t, syscall.Kill(p.pid(), syscall.SIGSEGV))
	if code := p.exit(); code != 139 {
		t.Errorf("exit code %d", code)
	}
	p.start()
	status := p.runs(0)
	if found := p.stored(stored); found != 0 || status.Restart != nil {
		t.Errorf("%d items, %+v", found, status.Restart)
	}
	p.store(stored)
	must(t, syscall.Kill(p.pid(), syscall.SIGKILL))
	p.exit()
	next := p.assign(inFile(t, "-t 4", "-t 5"))
	p.start()
	p.runs(next)
	if found := p.stored(stored); found != 0 || p.setting("num_threads") != "5" {
		t.Errorf("%d items, %s threads", found, p.setting("num_threads"))
	}
}

// If the pod has an entry already at its first start, memcached starts with it. If memcached fails with it, the template's list is left.
func TestFirstStartWithAnEntryThatIsRefused(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	bad := p.assign(inFile(t, "-t 4", "-t 2"))
	p.first(inFile(t))
	p.refuses(bad, 0)
	p.end()
	p.start() // the next container remembers the refusal
	if status := p.refuses(bad, 0); status.Restart != nil {
		t.Errorf("%+v", status)
	}
}

// TestOnlyArgumentsAreRefused refuses the first argument list of a pod. Without a former list, the container ends, and the kubelet
// starts it again. An entry with other arguments heals the pod.
func TestOnlyArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.first(inFile(t, "-t 4", "-t 2"))
	if code := p.exit(); code != 64 {
		t.Errorf("exit code %d", code)
	}
	good := p.assign(inFile(t))
	p.start()
	p.runs(good)
}

func TestTimeInEffect(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inMemory(t))
	before := p.status("a second has passed", func(s protocol.Status) bool { return s.SecondsInEffect >= 1 })
	if after := p.runs(p.assign(inMemory(t, "-t 4", "-t 5"))); !after.Since.After(before.Since.Add(time.Second)) {
		t.Errorf("%+v, then %+v", before, after)
	}
	p.status("a second has passed", func(s protocol.Status) bool { return s.SecondsInEffect >= 1 })
}

// If SIGTERM ends memcached soon after a start with a new list, the parent does not refuse the list.
func TestMemcachedEndsSoonAfterAStartWithOtherArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inMemory(t))
	p.end()
	next := p.assign(inMemory(t, "-t 4", "-t 5"))
	p.options.settled = time.Hour
	p.start()
	if threads := p.setting("num_threads"); threads != "5" {
		t.Errorf("%s threads", threads)
	}
	must(t, syscall.Kill(p.pid(), syscall.SIGTERM))
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.options.settled = time.Second
	p.start()
	if status := p.runs(next); status.Refused != nil {
		t.Errorf("refused: %+v", status.Refused)
	}
}

// If memcached hangs before its list is accepted, the parent must still pass SIGTERM on.
func TestEndWhileMemcachedHangsAfterItsStart(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.options.settled = time.Hour
	p.first(inMemory(t))
	p.client()
	pid := p.pid()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	time.Sleep(100 * time.Millisecond) // until the parent has asked memcached
	p.signals <- syscall.SIGTERM
	p.await("memcached is to end", func() error {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if pending := fmt.Sprintf("ShdPnd:\t%016x\n", 1<<(syscall.SIGTERM-1)); err == nil && !strings.Contains(string(status), pending) {
			err = errors.New("it has not got SIGTERM")
		}
		return err
	})
	must(t, syscall.Kill(pid, syscall.SIGCONT))
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The parent refuses items in a file with an old version of memcached, and warns of an untested version. With items in memory, it
// accepts every version.
func TestVersions(t *testing.T) {
	t.Parallel()
	const untested = "was not tested with storage.type MemoryFile, only 1.6.45"
	for claim, test := range map[string]struct {
		list protocol.List
		// refused is why the parent ends. logged is its warning.
		refused, logged string
	}{
		"memcached 1.6.44":  {inFile(t), "storage.type MemoryFile needs memcached 1.6.45 or later, but the image has memcached 1.6.44: set spec.image", ""},
		"memcached 1.5.99":  {inFile(t), "storage.type MemoryFile needs memcached 1.6.45 or later", ""},
		"memcached 1.6.45":  {inFile(t), "", ""},
		"memcached 1.6.999": {inFile(t), "", "memcached 1.6.999 " + untested},
		"memcached 2.0.0":   {inFile(t), "", "memcached 2.0.0 " + untested},
		"something else":    {inFile(t), "", "something else " + untested},
		"memcached 1.6.18":  {inMemory(t), "", ""},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.claims(claim)
			p.first(test.list)
			if test.refused != "" {
				if code := p.exit(); code != 1 || !strings.Contains(p.logged(), test.refused) {
					t.Errorf("exit code %d; the parent logged:\n%s", code, p.logged())
				}
				return
			}
			p.runs(0)
			if logged := p.logged(); strings.Contains(logged, "MemoryFile") != (test.logged != "") || !strings.Contains(logged, test.logged) {
				t.Errorf("the parent logged:\n%s", logged)
			}
		})
	}
}

// A memcached does not read the items that another version has written.
func TestAnotherVersionStartsEmpty(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	p.store(stored)
	p.end()
	p.claims("memcached 1.6.999")
	p.start()
	p.runs(0)
	if found := p.stored(stored); found != 0 {
		t.Errorf("%d items of another version; the parent logged:\n%s", found, p.logged())
	}
	p.store(stored)
	p.end()
	p.start()
	p.runs(0)
	if found := p.stored(stored); found != stored {
		t.Errorf("%d of %d items of the same version; the parent logged:\n%s", found, stored, p.logged())
	}
}
