// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	good := p.begin(inFile(t))
	p.store(stored)
	// With -t 2, the script of newPod ends before memcached reads its items.
	bad := p.assign(inFile(t, "-t 4", "-t 2"))
	status := p.status("the list is refused", func(s protocol.Status) bool { return s.Refused != nil && s.Hash == good && s.Restarting == "" })
	if status.Refused.Hash != bad || !strings.Contains(status.Refused.Reason, "no such option") {
		t.Errorf("refused: %+v", status.Refused)
	}
	if found := p.stored(stored); found != stored {
		t.Errorf("%d of %d items; the launcher logged:\n%s", found, stored, p.logged())
	}
	// The launcher does not try the list again, even if the kubelet replaces the file or starts the container again.
	p.write(protocol.SectionKey(template), p.section.String())
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.start()
	p.runs(good)
	if found := p.stored(stored); found != stored {
		t.Errorf("after the container: %d of %d items; the launcher logged:\n%s", found, stored, p.logged())
	}
	p.assign(inFile(t))
	p.status("the list in effect is asked for", func(s protocol.Status) bool { return s.Refused == nil && s.Hash == good })
	p.assign(inFile(t, "-t 4", "-t 2"))
	p.status("the list is refused again", func(s protocol.Status) bool { return s.Refused != nil && s.Hash == good && s.Restarting == "" })
	if status := p.runs(p.assign(inFile(t, "-t 4", "-t 5"))); status.Refused != nil {
		t.Errorf("another list is in effect, and refused is still %+v", status.Refused)
	}
}

// Once memcached has read NAME.meta (see the type items), it changes the items file. If memcached is killed after that, the items are lost.
func TestArgumentsThatAreRefusedAfterItemsWereRead(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.options.settled = 5 * time.Second // longer than memcached runs with -t 3, also on a busy machine
	good := p.begin(inFile(t))
	p.store(stored)
	p.assign(inFile(t, "-t 4", "-t 3"))
	p.status("the list is refused", func(s protocol.Status) bool { return s.Refused != nil && s.Hash == good && s.Restarting == "" })
	if found := p.stored(stored); found != 0 {
		t.Errorf("%d items that nobody can trust; the launcher logged:\n%s", found, p.logged())
	}
}

// TestItemsThatDoNotFitTheirVolume asks for more memory than the volume has. memcached would start, but would be killed as soon as the
// volume is full.
func TestItemsThatDoNotFitTheirVolume(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	good := p.begin(inFile(t))
	p.store(stored)
	large := p.assign(inFile(t, "-m 128", "-m 1000000000"))
	status := p.status("the list is refused", func(s protocol.Status) bool { return s.Refused != nil })
	if status.Refused.Hash != large || !strings.Contains(status.Refused.Reason, "volume for items has only") || status.Hash != good {
		t.Errorf("refused: %+v", status.Refused)
	}
	if found := p.stored(stored); found != stored {
		t.Errorf("%d of %d items", found, stored)
	}
}

func TestForeignArguments(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	good := p.begin(inMemory(t))
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
	p.options.wait = 100 * time.Millisecond
	p.section.Nodes[7] = "0"
	p.write(protocol.SectionKey(template), p.section.String())
	p.start()
	if code := p.exit(); code != 1 || strings.Count(p.logged(), "arguments are missing: nodes.0123 has no list for node 1") != 2 {
		t.Errorf("exit code %d; the launcher logged:\n%s", code, p.logged())
	}
}
