// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// The kubelet can start a pod with an older ConfigMap: without the section of the pod template, or without the list.
func TestFirstStartWaitsForArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.start()
	list := inMemory(t)
	p.section.Default = list.Hash()
	for _, missing := range []struct{ key, text string }{
		{protocol.SectionKey(template), p.section.String()}, {protocol.ListKey(list.Hash()), list.String()},
	} {
		p.await("the launcher waits", func() error {
			if !strings.Contains(p.logged(), "waiting for arguments") {
				return fmt.Errorf("it logged %q", p.logged())
			}
			return nil
		})
		status := p.status("nothing runs", func(protocol.Status) bool { return true })
		if ready, live := p.ready(), p.live(); ready != http.StatusServiceUnavailable || live != http.StatusOK || status.Hash != "" {
			t.Errorf("without %s: ready %d, live %d, %+v", missing.key, ready, live, status)
		}
		p.write(missing.key, missing.text)
	}
	p.runs(list.Hash())
	if lines := strings.Count(p.logged(), "waiting for arguments"); lines != 1 {
		t.Errorf("%d lines about waiting:\n%s", lines, p.logged())
	}
}

func TestEndWhileWaitingForArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.start()
	p.signals <- syscall.SIGHUP // the agent has new credentials, which memcached reads when it starts
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// If the list is not one that the operator writes, the launcher ends instead of waiting.
func TestFirstStartWithForeignArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.assign(protocol.List{Arguments: strings.Split("-p 11211 -A", " ")})
	p.start()
	if code := p.exit(); code != 1 || !strings.Contains(p.logged(), "not what the operator writes") {
		t.Errorf("exit code %d; the launcher logged:\n%s", code, p.logged())
	}
}

// After a crash of memcached, the kubelet starts the container again. memcached runs with its last list, or with a new one from the
// ConfigMap. The items are lost, because a memcached that crashes writes no NAME.meta (see the type items).
func TestContainerStartsAgainAfterACrash(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	former := p.begin(inFile(t))
	p.store(stored)
	must(t, syscall.Kill(p.pid(), syscall.SIGSEGV))
	if code := p.exit(); code != 139 {
		t.Errorf("exit code %d", code)
	}
	p.start()
	status := p.runs(former)
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

// The kubelet replaces the section a moment before it adds the list.
func TestListArrivesAfterItsEntry(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	next := inFile(t, "-t 4", "-t 5")
	p.section.Nodes[p.options.Ordinal] = next.Hash()
	p.write(protocol.SectionKey(template), p.section.String())
	p.logs("trying again")
	p.write(protocol.ListKey(next.Hash()), next.String())
	if status := p.runs(next.Hash()); status.Refused != nil {
		t.Errorf("%+v", status.Refused)
	}
}

// If a new node gets a bad list, it starts with the section's default list, with which other nodes still run.
func TestFirstStartWithArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	former, bad := inFile(t), inFile(t, "-t 4", "-t 2")
	p.write(protocol.ListKey(former.Hash()), former.String())
	p.section.Default = former.Hash()
	p.assign(bad)
	p.start()
	refused := func(s protocol.Status) bool {
		return s.Hash == former.Hash() && s.Restarting == "" && s.Refused != nil && s.Refused.Hash == bad.Hash()
	}
	p.status("the former list is in effect", refused)
	p.end()
	p.start() // the next container remembers the refusal
	p.status("the former list is in effect", refused)
}

// TestOnlyArgumentsAreRefused refuses the first argument list of a pod. Without a former list, the container ends, and the kubelet
// starts it again.
func TestOnlyArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	bad := inFile(t, "-t 4", "-t 2")
	p.section.Default = bad.Hash()
	p.assign(bad)
	p.start()
	if code := p.exit(); code != 64 {
		t.Errorf("exit code %d", code)
	}
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

// If SIGTERM ends memcached soon after a start with a new list, the launcher does not refuse the list.
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

// If memcached hangs before its list is accepted, the launcher must still pass SIGTERM on.
func TestEndWhileMemcachedHangsAfterItsStart(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.options.settled = time.Hour
	p.assign(inMemory(t))
	p.start()
	p.client()
	pid := p.pid()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	time.Sleep(100 * time.Millisecond) // until the launcher has asked memcached
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
