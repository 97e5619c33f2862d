// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t).full()
	// With -t 2, the script of newPod ends before memcached reads its items.
	bad := inFile(t, "-t 4", "-t 2")
	status := p.refuses(p.assign(bad), 0)
	if !strings.Contains(status.Refused.Reason, "no such option") || p.stored(stored) != stored {
		t.Errorf("%+v; the parent logged:\n%s", status, p.logged())
	}
	// The parent does not try the entry again, even if the kubelet starts the container again.
	p.end()
	p.start()
	if status := p.refuses(1, 0); status.Restart != nil || p.stored(stored) != stored {
		t.Errorf("after the container: %+v; the parent logged:\n%s", status, p.logged())
	}
	// Under another number, it tries the same list again.
	again := p.refuses(p.assign(bad), 0)
	if again.Restart == nil || p.stored(stored) != stored {
		t.Errorf("the list was not tried again: %+v", again)
	}
	// The list in effect needs no restart.
	if status := p.runs(p.assign(inFile(t))); status.Refused != nil || *status.Restart != *again.Restart {
		t.Errorf("the list in effect is asked for: %+v", status)
	}
	p.refuses(p.assign(bad), 3)
	status = p.runs(p.assign(inFile(t, "-t 4", "-t 5")))
	if tries := strings.Count(p.logged(), "was refused"); status.Refused != nil || tries != 3 {
		t.Errorf("another list is in effect: %+v, after %d refusals:\n%s", status.Refused, tries, p.logged())
	}
}

// Once memcached has read NAME.meta (see the type items), it changes the items file. If memcached is killed after that, the items are lost.
func TestArgumentsThatAreRefusedAfterItemsWereRead(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.options.settled = 5 * time.Second // longer than memcached runs with -t 3, also on a busy machine
	p.begin(inFile(t))
	p.store(stored)
	p.refuses(p.assign(inFile(t, "-t 4", "-t 3")), 0)
	p.has(0) // nobody could trust them
}

// TestUnusableEntries assigns arguments of somebody else, and more memory than the volume has. With the memory, memcached would start, but
// would be killed as soon as the volume is full.
func TestUnusableEntries(t *testing.T) {
	t.Parallel()
	p := newPod(t).full()
	large := inFile(t, "-m 128", "-m 1000000000")
	for reason, list := range map[string]protocol.List{
		"not what the operator writes": {Arguments: "-p 11211 -A"}, "volume for items has only": large,
	} {
		if status := p.refuses(p.assign(list), 0); !strings.Contains(status.Refused.Reason, reason) || status.Restart != nil {
			t.Errorf("%+v", status)
		}
	}
	p.has(stored)
	p = newPod(t)
	p.first(large)
	if code := p.exit(); code != 1 || !strings.Contains(p.logged(), "volume for items has only") {
		t.Errorf("exit code %d; the parent logged:\n%s", code, p.logged())
	}
}

// TestEntries reads the files of the ConfigMap in each state that the kubelet or others may leave.
func TestEntries(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		found bool
		err   string
	}{
		"none":                      {},
		"for this pod":              {text: protocol.Entry{Pod: uid, Number: 7, List: inMemory(t)}.String(), found: true},
		"not ours":                  {text: `{"pod":"` + uid + `","number":7,"arguments":"-A"}`, found: true, err: "not what the operator writes"},
		"too large for the volume":  {text: protocol.Entry{Pod: uid, Number: 7, List: inFile(t, "-m 128", "-m 1000000000")}.String(), found: true, err: "has only"},
		"for another pod":           {text: protocol.Entry{Pod: "other", Number: 7, List: inMemory(t)}.String()},
		"not ours, for another pod": {text: `{"pod":"other","number":7,"arguments":"-A"}`},
		"half":                      {text: `{"pod":"` + uid, err: "unexpected end"},
		"too long":                  {text: protocol.Entry{Pod: uid, Number: 7, List: inMemory(t)}.String() + strings.Repeat(" ", maxText), err: "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			if test.text != "" {
				p.write("sessions-1", test.text)
			}
			for _, other := range []string{"1", "sessions-b-1"} {
				p.write(other, protocol.Entry{Pod: uid, Number: 8, List: inMemory(t)}.String())
			}
			s := source{folder: p.options.Arguments, name: "sessions-1", pod: uid, items: items(p.options.Items)}
			entry, err := s.entry()
			if (entry != nil) != test.found || entry != nil && entry.Number != 7 {
				t.Errorf("%+v", entry)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Error(err)
			}
		})
	}
}

// Entries that name another pod, or the arguments in effect, leave memcached alone.
func TestEntriesThatChangeNothing(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.options.Pod = "another"
	p.assign(inMemory(t, "-t 4", "-t 5"))
	p.options.Pod = uid
	p.begin(inMemory(t))
	p.store(stored)
	before := p.status("a second has passed", func(s protocol.Status) bool { return s.SecondsInEffect >= 1 })
	same := inMemory(t)
	same.Target = "another target"
	p.runs(p.assign(same))
	status := p.status("a second has passed", func(s protocol.Status) bool { return s.SecondsInEffect >= before.SecondsInEffect+2 })
	if before.Number != 0 || status.List != same || status.Restart != nil || !status.Since.Equal(before.Since) || p.stored(stored) != stored {
		t.Errorf("%+v, then %+v", before, status)
	}
	p.end()
	p.start()
	status = p.runs(p.number)
	if status.List != same {
		t.Errorf("after the container: %+v", status)
	}
	// Other arguments begin a new time in effect.
	if after := p.runs(p.assign(inMemory(t, "-t 4", "-t 5"))); !after.Since.After(status.Since) {
		t.Errorf("%+v, then %+v", status, after)
	}
}

// A pod needs no ConfigMap. What was in effect stays when the ConfigMap is lost, also if the container starts again.
func TestMissingEntryMeansKeep(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	must(t, os.Remove(p.options.Arguments))
	p.begin(inMemory(t))
	must(t, os.Mkdir(p.options.Arguments, 0o700))
	p.runs(p.assign(inMemory(t, "-t 4", "-t 5")))
	p.runs(p.assign(inMemory(t)))
	last := p.runs(p.assign(inMemory(t, "-t 4", "-t 6")))
	p.write(p.options.Name, "{")
	p.logs("trying again: not what the operator writes")
	must(t, os.RemoveAll(p.options.Arguments))
	p.end()
	p.start()
	status, lines := p.runs(3), strings.Count(p.logged(), "trying again")
	if status.List != last.List || p.setting("num_threads") != "6" || lines != 1 {
		t.Errorf("%+v, then %+v, with %d lines about one entry:\n%s", last, status, lines, p.logged())
	}
}

// After a loss of the ConfigMap while the container was down, the operator's numbers begin at 1 again.
func TestNumbersThatBeginAgain(t *testing.T) {
	t.Parallel()
	for name, first := range map[string][2]string{"the first was accepted": {"-t 4", "-t 5"}, "the first was refused": {"-t 4", "-t 2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.begin(inMemory(t))
			number := p.assign(inMemory(t, first[0], first[1]))
			if strings.Contains(name, "refused") {
				p.refuses(number, 0)
			} else {
				p.runs(number)
			}
			p.end()
			p.number = 0
			p.assign(inMemory(t, "-t 4", "-t 6"))
			p.start()
			p.runs(number)
			if threads := p.setting("num_threads"); threads != "6" {
				t.Errorf("%s threads; the parent logged:\n%s", threads, p.logged())
			}
		})
	}
}

// TestLongestStatus checks that the operator, which reads 4 KiB of an answer, can read every status.
func TestLongestStatus(t *testing.T) {
	t.Parallel()
	n := node{options: Options{State: t.TempDir()}, log: log.New(io.Discard, "", 0), current: protocol.Entry{List: inMemory(t)}}
	n.current.Target = strings.Repeat("x", 1024-len(n.current.Arguments))
	must(t, n.current.Check())
	n.accept()
	long := strings.Repeat("x", 10_000)
	n.refuse(protocol.Entry{Number: math.MaxInt64}, long)
	n.view.status.Restart = &protocol.Restart{ItemsBefore: math.MaxInt64, ItemsAfter: math.MaxInt64, Seconds: math.Pi}
	n.view.status.Fill = &protocol.Fill{From: long[:600], Items: math.MaxInt64, Bytes: math.MaxInt64, Seconds: math.Pi, Reason: shortened(long)}
	if text, err := n.view.MarshalJSON(); err != nil || len(text) > 4<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

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
	p := newPod(t).full()
	must(t, syscall.Kill(p.pid(), syscall.SIGSEGV))
	p.exits(139)
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
	p.exits(64)
	good := p.assign(inFile(t))
	p.start()
	p.runs(good)
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
	p.exits(0)
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
	p.exits(0)
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
	p := newPod(t).full()
	p.end()
	p.claims("memcached 1.6.999")
	p.start()
	p.runs(0)
	p.has(0)
	p.store(stored)
	p.end()
	p.start()
	p.runs(0)
	p.has(stored)
}
