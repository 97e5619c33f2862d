// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

const stored = 2000

func TestItemsSurviveEveryChangeThatMemcachedAllows(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.runs(func() string { hash := p.assign(inFile(t)); p.start(); return hash }())
	p.store(stored)
	for _, change := range [][]string{
		{"-c 1055", "-c 2031", "=44", "=60"}, {"-t 4", "-t 8"}, {"-X", "-X -F -v"}, {"-W -X", "-W"}, {"=44", "=44,idle_timeout=600"}, nil,
	} {
		before := p.client() // a connection to the process that ends
		status := p.runs(p.assign(inFile(t, change...)))
		if status.Restart == nil || status.Restart.ItemsBefore != stored || status.Restart.ItemsAfter != stored {
			t.Errorf("%q: the restart was %+v", change, status.Restart)
		}
		if found := p.stored(stored); found != stored {
			t.Fatalf("%q: %d of %d items; the launcher logged:\n%s", change, found, stored, p.logged())
		}
		if _, err := before.Stats(t.Context()); err == nil {
			t.Errorf("%q: memcached was not restarted", change)
		}
	}
}

func TestRestartedAt(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	list := inFile(t)
	hash := p.assign(list)
	p.start()
	p.runs(hash)
	p.store(stored)
	list.RestartedAt = "2026-11-24T07:00:00Z"
	status := p.runs(p.assign(list))
	if found := p.stored(stored); found != stored || status.Restart == nil {
		t.Errorf("%d of %d items, restart %+v", found, stored, status.Restart)
	}
}

func TestOtherMemoryEmptiesTheFile(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	hash := p.assign(inFile(t))
	p.start()
	p.runs(hash)
	p.store(stored)
	status := p.runs(p.assign(inFile(t, "-m 128", "-m 192")))
	if status.Restart.ItemsBefore != stored || status.Restart.ItemsAfter != 0 || p.setting("maxbytes") != "201326592" {
		t.Errorf("the restart was %+v, and the memory is %s", status.Restart, p.setting("maxbytes"))
	}
}

func TestMoreMemoryNeedsNoRestart(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	hash := p.assign(inMemory(t))
	p.start()
	p.runs(hash)
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

func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	good := p.assign(inFile(t))
	p.start()
	p.runs(good)
	p.store(stored)
	// It ends before it has read its items.
	bad := p.assign(inFile(t, "-t 4", "-t 2"))
	status := p.status("the list is refused", func(s protocol.Status) bool { return s.Refused != nil && s.Hash == good && s.Restarting == "" })
	if status.Refused.Hash != bad || !strings.Contains(status.Refused.Reason, "no such option") {
		t.Errorf("refused: %+v", status.Refused)
	}
	if found := p.stored(stored); found != stored {
		t.Errorf("%d of %d items; the launcher logged:\n%s", found, stored, p.logged())
	}
	// Neither the kubelet's next file nor another container tries it again.
	p.write(protocol.SectionKey(template), p.section.String())
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.start()
	p.runs(good)
	if found := p.stored(stored); found != stored {
		t.Errorf("after the container: %d of %d items; the launcher logged:\n%s", found, stored, p.logged())
	}
}

// memcached changes its items as soon as it has read what describes them.
func TestArgumentsThatAreRefusedAfterItemsWereRead(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	good := p.assign(inFile(t))
	p.start()
	p.runs(good)
	p.store(stored)
	p.assign(inFile(t, "-t 4", "-t 3"))
	p.status("the list is refused", func(s protocol.Status) bool { return s.Refused != nil && s.Hash == good && s.Restarting == "" })
	if found := p.stored(stored); found != 0 {
		t.Errorf("%d items that nobody can trust; the launcher logged:\n%s", found, p.logged())
	}
}

func TestForeignArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	good := p.assign(inMemory(t))
	p.start()
	p.runs(good)
	foreign := protocol.List{Arguments: strings.Split("-p 11211 -A", " ")}
	p.assign(foreign)
	refused := p.status("the list is refused", func(s protocol.Status) bool { return s.Refused != nil })
	if refused.Refused.Hash != foreign.Hash() || !strings.Contains(refused.Refused.Reason, "not what the operator writes") {
		t.Errorf("refused: %+v", refused.Refused)
	}
	edited := inMemory(t, "-t 4", "-t 5")
	p.write(protocol.ListKey(edited.Hash()), inMemory(t, "-t 4", "-t 6").String())
	p.section.Nodes[1] = edited.Hash()
	p.write(protocol.SectionKey(template), p.section.String())
	p.status("the edited list is refused", func(s protocol.Status) bool {
		return s.Refused != nil && s.Refused.Hash == edited.Hash() && strings.Contains(s.Refused.Reason, "was edited") && s.Hash == good
	})
}

func TestMissingEntryMeansKeep(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	first, second := inMemory(t), inMemory(t, "-t 4", "-t 5")
	p.write(protocol.ListKey(first.Hash()), first.String())
	p.section.Default = first.Hash()
	p.write(protocol.SectionKey(template), p.section.String())
	p.start()
	p.runs(first.Hash())
	p.store(stored)
	p.write(protocol.ListKey(second.Hash()), second.String())
	p.section.Default = second.Hash()
	p.write(protocol.SectionKey(template), p.section.String())
	third := inMemory(t, "-X", "-X -F")
	p.section.Nodes[2] = third.Hash()
	p.write(protocol.SectionKey(template), p.section.String())
	must(t, os.Remove(filepath.Join(p.options.Arguments, protocol.SectionKey(template))))
	p.write(protocol.SectionKey(template), p.section.String())
	if status := p.runs(first.Hash()); status.Restart != nil || p.stored(stored) != stored {
		t.Errorf("restart %+v", status.Restart)
	}
	p.end()
	p.start()
	p.runs(first.Hash())
}

func TestFirstStartNeedsArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.section.Nodes[7] = "0"
	p.write(protocol.SectionKey(template), p.section.String())
	p.start()
	if code := p.exit(); code != 1 || !strings.Contains(p.logged(), "nodes.0123 has no list of arguments for node 1") {
		t.Errorf("exit code %d; the launcher logged:\n%s", code, p.logged())
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		signal syscall.Signal
		want   int
	}{"killed": {syscall.SIGKILL, 137}, "aborted": {syscall.SIGABRT, 134}} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			hash := p.assign(inMemory(t))
			p.start()
			p.runs(hash)
			must(t, syscall.Kill(p.pid(), end.signal))
			if code := p.exit(); code != end.want {
				t.Errorf("exit code %d, not %d", code, end.want)
			}
		})
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	hash := p.assign(inMemory(t))
	p.start()
	p.runs(hash)
	for _, path := range []string{protocol.ReadyPath, protocol.LivePath} {
		response, err := p.get(path)
		must(t, err)
		if must(t, response.Body.Close()); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
	// A process that is stopped accepts connections, and answers nothing.
	must(t, syscall.Kill(p.pid(), syscall.SIGSTOP))
	defer func() { must(t, syscall.Kill(p.pid(), syscall.SIGCONT)) }()
	for path, want := range map[string]int{protocol.ReadyPath: http.StatusServiceUnavailable, protocol.LivePath: http.StatusOK} {
		response, err := p.get(path)
		must(t, err)
		if must(t, response.Body.Close()); response.StatusCode != want {
			t.Errorf("memcached hangs: %s: %s", path, response.Status)
		}
	}
}
