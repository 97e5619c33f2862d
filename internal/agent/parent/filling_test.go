// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/test/traffic"
)

// filledFrom returns a new pod that gets its items from the other pods.
func filledFrom(t *testing.T, others ...*pod) *pod {
	t.Helper()
	p := newPod(t)
	for _, other := range others {
		host, _, err := net.SplitHostPort(other.options.Memcached)
		must(t, err)
		p.options.sources = append(p.options.sources, host)
	}
	return p
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
	p := filledFrom(t, other)
	p.options.settleClients = 4 * time.Second
	p.first(open(t))
	waiting := p.fill(protocol.FillWaiting)
	conn := p.client()
	// The copy must not replace what clients store meanwhile.
	reply, err := conn.Command(t.Context(), "set key-0 0 3600 3\r\nnew")
	must(t, err)
	if code := p.ready(); code != http.StatusServiceUnavailable || reply != "STORED" || waiting.From != p.options.from() {
		t.Errorf("it is ready (%d), or does not serve (%s): %+v", code, reply, waiting)
	}
	p.untilReady(http.StatusOK)
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
	p := filledFrom(t, other)
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

// TestReadyWithout starts nodes that cannot get the items of another copy at first.
func TestReadyWithout(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]struct {
		begin  func(t *testing.T, other, another *pod)
		reason string
		heal   func(t *testing.T, other, another *pod)
		items  int64
	}{
		"away": {
			begin: func(*testing.T, *pod, *pod) {}, reason: "connection refused",
			heal: func(t *testing.T, other, another *pod) { other.begin(open(t)); another.begin(open(t)) },
		},
		"without dump": {
			begin: func(t *testing.T, other, another *pod) { other.begin(inMemory(t)); another.begin(inMemory(t)) }, reason: "refuses to list",
			heal: func(t *testing.T, other, _ *pod) { other.runs(other.assign(open(t))) },
		},
		"one hangs, and one is away": {
			begin: func(t *testing.T, other, _ *pod) {
				other.begin(open(t))
				other.store(stored)
				must(t, syscall.Kill(other.pid(), syscall.SIGSTOP))
			},
			reason: "i/o timeout",
			heal:   func(t *testing.T, other, _ *pod) { must(t, syscall.Kill(other.pid(), syscall.SIGCONT)) }, items: stored,
		},
		"one is away, and one is empty": {
			begin: func(t *testing.T, _, another *pod) { another.begin(open(t)) }, reason: "connection refused",
			heal: func(t *testing.T, other, _ *pod) { other.begin(open(t)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, another := newPod(t), newPod(t)
			story.begin(t, other, another)
			p := filledFrom(t, other, another)
			p.first(open(t))
			failed := p.fill(protocol.FillFailed)
			if !strings.Contains(failed.Reason, story.reason) || !strings.Contains(p.logged(), "serving without the items of another copy") {
				t.Errorf("%+v; it logged:\n%s", failed, p.logged())
			}
			if code := p.ready(); code != http.StatusOK {
				t.Errorf("it is not ready: %d", code)
			}
			story.heal(t, other, another)
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

// TestFilledFromTheFullest fills a node from the third of its sources: the first does not exist, and the second is being filled itself.
func TestFilledFromTheFullest(t *testing.T) {
	t.Parallel()
	partial, full := newPod(t), newPod(t)
	for other, items := range map[*pod]int{partial: stored / 2, full: stored} {
		other.begin(open(t))
		other.store(items)
	}
	p := filledFrom(t, partial, full)
	p.options.dns.client = newNameserver(t).client()
	p.options.sources = append([]string{"node-1.shop.svc"}, p.options.sources...)
	p.begin(open(t))
	if done := p.fill(protocol.FillDone); done.Items != stored || done.From != full.options.Memcached {
		t.Errorf("%+v", done)
	}
}

// TestReadyBeforeItIsFilled starts a node whose other copies have no items. Clients store items there before they find the node.
func TestReadyBeforeItIsFilled(t *testing.T) {
	t.Parallel()
	other := newPod(t)
	other.begin(open(t))
	p := filledFrom(t, other)
	p.options.settleClients = 4 * time.Second
	p.begin(open(t))
	p.untilReady(http.StatusOK)
	if waiting := p.fill(protocol.FillWaiting); !waiting.Open() || !waiting.Ready {
		t.Errorf("%+v", waiting)
	}
	other.store(100) // before the copy begins
	if done := p.fill(protocol.FillDone); done.Items != 100 || p.stored(100) != 100 {
		t.Errorf("%+v", done)
	}
}

func TestReadyWhileCopying(t *testing.T) {
	v := view{serving: true, status: protocol.Status{Fill: &protocol.Fill{State: protocol.FillWaiting, Ready: true}}}
	if _, err := (filler{view: &v}).copyFrom(t.Context(), newNetwork()+"1:11211"); err == nil {
		t.Error("copied from nobody")
	}
	if err := v.unready(); err != nil || v.status.Fill.State != protocol.FillCopying {
		t.Errorf("%+v, %v", v.status.Fill, err)
	}
}

// TestNoOtherCopy starts a node whose other copies have no address. While DNS fails, nobody knows that. Later, one has an address.
func TestNoOtherCopy(t *testing.T) {
	t.Parallel()
	dns := newNameserver(t)
	dns.change(func() { dns.failing = true })
	p := newPod(t)
	p.options.sources, p.options.dns.client = []string{"b-1.shop.svc", "c-1.shop.svc"}, dns.client()
	p.options.settleClients = 3 * time.Second
	p.begin(open(t))
	if code := p.ready(); code != http.StatusServiceUnavailable {
		t.Errorf("readiness is %d", code)
	}
	dns.change(func() { dns.failing = false })
	p.untilReady(http.StatusOK)
	if done := p.fill(protocol.FillDone); !strings.HasSuffix(done.Reason, "no address of b-1.shop.svc, c-1.shop.svc") {
		t.Errorf("%+v", done)
	}
	dns.change(func() { dns.records["b-1.shop.svc."] = "127.0.0.1" })
	p.fill(protocol.FillFailed) // it has tried again: only this resolver knows the name
}

func TestNothingToFill(t *testing.T) {
	t.Parallel()
	alone := newPod(t)
	alone.begin(open(t))
	alone.untilReady(http.StatusOK)
	if status := alone.runs(0); status.Fill != nil {
		t.Errorf("one copy: %+v", status.Fill)
	}
	warm := filledFrom(t, alone)
	warm.begin(inFile(t))
	if status := warm.runs(0); status.Fill != nil || warm.ready() != http.StatusOK {
		t.Errorf("items in a file: %+v", status.Fill)
	}
}

// TestEndWhileFilling ends a container while the other copy hangs.
func TestEndWhileFilling(t *testing.T) {
	t.Parallel()
	other := newPod(t)
	other.begin(open(t))
	must(t, syscall.Kill(other.pid(), syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(other.pid(), syscall.SIGCONT) })
	p := filledFrom(t, other)
	p.begin(open(t))
	p.signals <- syscall.SIGTERM
	p.exits(0)
}
