// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/test/traffic"
)

// twinOf returns a new pod that copies items from the other pod.
func twinOf(t *testing.T, other *pod) *pod {
	t.Helper()
	p := newPod(t)
	p.options.twin = func(protocol.Twin) string { return other.options.Memcached }
	p.name("sessions-b shop 3\n")
	return p
}

func (p *pod) name(text string) {
	p.t.Helper()
	p.write(protocol.TwinKey, text)
}

func (p *pod) fill(state protocol.FillState) protocol.Fill {
	p.t.Helper()
	status := p.status("the fill is "+string(state), func(s protocol.Status) bool { return s.Fill != nil && s.Fill.State == state })
	return *status.Fill
}

// open returns an argument list that lets clients list memcached's keys.
func open(t *testing.T, changes ...string) protocol.List {
	t.Helper()
	return inMemory(t, append(changes, "-W -X", "-W")...)
}

func TestFilledBeforeReady(t *testing.T) {
	t.Parallel()
	other := newPod(t)
	other.begin(open(t))
	other.store(stored)
	p := twinOf(t, other)
	p.options.settleClients = time.Second
	p.first(open(t))
	waiting := p.fill(protocol.FillWaiting)
	conn := p.client()
	// The copy must not replace what clients store meanwhile.
	reply, err := conn.Command(t.Context(), "set key-0 0 3600 3\r\nnew")
	must(t, err)
	if code := p.ready(); code != http.StatusServiceUnavailable || reply != "STORED" || waiting.From != other.options.Memcached {
		t.Errorf("it is ready (%d), or does not serve (%s): %+v", code, reply, waiting)
	}
	p.await("it is ready", func() error {
		if code := p.ready(); code != http.StatusOK {
			return fmt.Errorf("%d", code)
		}
		return nil
	})
	if found := p.stored(stored); found != stored {
		t.Errorf("ready with %d of %d items", found, stored)
	}
	done := p.fill(protocol.FillDone)
	value, err := traffic.Read(t.Context(), p.client(), "key-0")
	must(t, err)
	if done.Items != stored-1 || done.Present != 1 || done.Bytes < 100*(stored-1) || string(value.Bytes) != "new" {
		t.Errorf("%+v, %q", done, value.Bytes)
	}
	if logged := p.logged(); !strings.Contains(logged, fmt.Sprintf("%d items, 1 were here already", stored-1)) {
		t.Error(logged)
	}
}

// TestFilledAfterEachStart restarts memcached in its container, and then the container.
func TestFilledAfterEachStart(t *testing.T) {
	t.Parallel()
	other := newPod(t)
	other.begin(open(t))
	other.store(stored)
	p := twinOf(t, other)
	p.begin(open(t))
	p.fill(protocol.FillDone)
	status := p.runs(p.assign(open(t, "-t 4", "-t 5")))
	if status.Restart == nil || status.Restart.ItemsBefore != stored {
		t.Errorf("%+v", status.Restart)
	}
	if done := p.fill(protocol.FillDone); done.Items != stored || p.stored(stored) != stored {
		t.Errorf("after a restart: %+v", done)
	}
	must(t, syscall.Kill(p.pid(), syscall.SIGKILL))
	p.exit()
	p.start()
	if done := p.fill(protocol.FillDone); done.Items != stored || p.stored(stored) != stored {
		t.Errorf("after a crash: %+v", done)
	}
}

// TestReadyWithout starts nodes whose twin (spec.fillFrom) cannot be copied at first.
func TestReadyWithout(t *testing.T) {
	t.Parallel()
	full := func(t *testing.T, other *pod) {
		t.Helper()
		other.begin(open(t))
		other.store(stored)
	}
	for name, story := range map[string]struct {
		twin   func(*testing.T, *pod)
		text   string
		reason string
		heal   func(t *testing.T, other, p *pod)
		items  int64
	}{
		"away": {
			twin: func(*testing.T, *pod) {}, reason: "connection refused",
			heal: func(t *testing.T, other, _ *pod) { other.begin(open(t)) },
		},
		"without dump": {
			twin: func(t *testing.T, other *pod) { other.begin(inMemory(t)) }, reason: "spec.config.dump",
			heal: func(t *testing.T, other, _ *pod) { other.runs(other.assign(open(t))) },
		},
		"unreadable": {
			twin: full, text: "sessions b\n", reason: errUnreadable.Error(), items: stored,
			heal: func(_ *testing.T, _, p *pod) { p.name("sessions-b shop 2\n") },
		},
		"smaller": {
			twin: full, text: "sessions-b shop 1\n", reason: "sessions-b has 1 nodes", items: stored,
			heal: func(_ *testing.T, _, p *pod) { p.name("sessions-b shop 2\n") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := newPod(t)
			story.twin(t, other)
			p := twinOf(t, other)
			if story.text != "" {
				p.name(story.text)
			}
			p.first(open(t))
			failed := p.fill(protocol.FillFailed)
			if !strings.Contains(failed.Reason, story.reason) || !strings.Contains(p.logged(), "serving without the items of the twin") {
				t.Errorf("%+v; it logged:\n%s", failed, p.logged())
			}
			if code := p.ready(); code != http.StatusOK {
				t.Errorf("it is not ready: %d", code)
			}
			story.heal(t, other, p)
			if done := p.fill(protocol.FillDone); done.Items != story.items {
				t.Errorf("%+v", done)
			}
		})
	}
}

// TestReasonsAreSteady checks that the text of a network error is the same in each attempt.
func TestReasonsAreSteady(t *testing.T) {
	for text, want := range map[string]string{
		"read tcp 10.0.0.2:53412->10.0.0.9:11211: i/o timeout":                                        "read tcp 10.0.0.9:11211: i/o timeout",
		"lookup b-0.b.shop.svc on 10.96.0.10:53: read udp [fd00::2]:4242->10.96.0.10:53: i/o timeout": "lookup b-0.b.shop.svc on 10.96.0.10:53: read udp 10.96.0.10:53: i/o timeout",
	} {
		if got := steady(errors.New(text)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestTwinIsGone removes the twin from the ConfigMap: once while a node waits, and once while a node serves without the twin's items.
func TestTwinIsGone(t *testing.T) {
	t.Parallel()
	gone := func(t *testing.T, p *pod) {
		t.Helper()
		must(t, os.Remove(filepath.Join(p.options.Arguments, protocol.TwinKey)))
		p.status("it has no twin", func(s protocol.Status) bool { return s.Fill == nil })
		if code := p.ready(); code != http.StatusOK {
			t.Errorf("it is not ready: %d", code)
		}
	}
	away := newPod(t)
	waiting := twinOf(t, away)
	waiting.options.settleClients = time.Second
	waiting.first(open(t))
	waiting.fill(protocol.FillWaiting)
	gone(t, waiting)
	without := twinOf(t, away)
	without.begin(open(t))
	without.fill(protocol.FillFailed)
	gone(t, without)
}

func TestNothingToFill(t *testing.T) {
	t.Parallel()
	other := newPod(t)
	other.begin(open(t))
	p := twinOf(t, other)
	p.begin(open(t))
	if done := p.fill(protocol.FillDone); done.Items != 0 || p.ready() != http.StatusOK {
		t.Errorf("an empty twin: %+v", done)
	}
	alone := newPod(t)
	alone.begin(open(t))
	if status := alone.status("it is ready", func(protocol.Status) bool { return alone.ready() == http.StatusOK }); status.Fill != nil {
		t.Errorf("no twin: %+v", status.Fill)
	}
	warm := twinOf(t, other)
	warm.begin(inFile(t))
	if status := warm.runs(0); status.Fill != nil || warm.ready() != http.StatusOK {
		t.Errorf("items in a file: %+v", status.Fill)
	}
}

// TestEndWhileFilling ends a container while its twin (spec.fillFrom) hangs.
func TestEndWhileFilling(t *testing.T) {
	t.Parallel()
	other := newPod(t)
	other.begin(open(t))
	must(t, syscall.Kill(other.pid(), syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(other.pid(), syscall.SIGCONT) })
	p := twinOf(t, other)
	p.begin(open(t))
	began := time.Now()
	if code := p.end(); code != 0 || time.Since(began) > 5*time.Second {
		t.Errorf("exit code %d after %s", code, time.Since(began))
	}
}
