// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"io"
	"log"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	p.store(stored)
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
	if found := p.stored(stored); found != 0 {
		t.Errorf("%d items that nobody can trust; the parent logged:\n%s", found, p.logged())
	}
}

// TestUnusableEntries assigns arguments of somebody else, and more memory than the volume has. With the memory, memcached would start, but
// would be killed as soon as the volume is full.
func TestUnusableEntries(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	p.store(stored)
	large := inFile(t, "-m 128", "-m 1000000000")
	for reason, list := range map[string]protocol.List{
		"not what the operator writes": {Arguments: "-p 11211 -A"}, "volume for items has only": large,
	} {
		if status := p.refuses(p.assign(list), 0); !strings.Contains(status.Refused.Reason, reason) || status.Restart != nil {
			t.Errorf("%+v", status)
		}
	}
	if found := p.stored(stored); found != stored {
		t.Errorf("%d of %d items", found, stored)
	}
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
				p.write(protocol.EntryKey("sessions-1"), test.text)
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
	if status := p.runs(p.number); status.List != same {
		t.Errorf("after the container: %+v", status)
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
	p.write(protocol.EntryKey(p.options.Name), "{")
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
