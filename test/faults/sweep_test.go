// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// outcome is what a play leaves: what every other play of the scenario is compared with.
type outcome struct {
	state   map[string]string
	changes map[string][]string
	// writes are those of the operator, and watched how many events it was told of each resource.
	writes  []write
	watched map[string]int
}

// reference plays a scenario twice without a fault. What differs between the two cannot be compared with anything.
func reference(t *testing.T, s scenario) *outcome {
	t.Helper()
	first, second := s.play(t, nil, nil), s.play(t, nil, nil)
	if difference := cmp.Diff(first.state, second.state) + cmp.Diff(first.changes, second.changes); difference != "" {
		t.Fatalf("two plays without a fault differ:\n%s", difference)
	}
	if len(second.writes) < len(first.writes) {
		return second
	}
	return first
}

// TestSweep plays every scenario with every fault, or only the plan that FAULT_PLAN names.
func TestSweep(t *testing.T) {
	only := os.Getenv("FAULT_PLAN")
	var played plans
	for _, s := range scenarios {
		if name, _, _ := strings.Cut(only, "/"); only != "" && name != s.name {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			reference := reference(t, s)
			for _, f := range faultsOf(reference) {
				plan := s.name + "/" + f.String()
				if only != "" && only != plan {
					continue
				}
				t.Run(f.String(), func(t *testing.T) {
					t.Parallel()
					t.Cleanup(func() {
						if t.Failed() {
							t.Logf("alone: FAULT_PLAN=%s make test-faults TEST_FLAGS='-run TestSweep'", plan)
						}
					})
					s.attempt(t, f, reference, &played)
				})
			}
		})
	}
	t.Cleanup(func() { played.judge(t, only) }) // when all of them have ended
}

// attempt plays a scenario with a fault until there was an occasion for it: a write of the status may be spared when two
// causes for it come close together, and a machine that was busier when the reference was played has given the operator
// occasion to tell progress.
func (s scenario) attempt(t *testing.T, f *fault, reference *outcome, played *plans) {
	t.Helper()
	for range 3 {
		if s.play(t, f, reference) != nil || t.Failed() {
			played.bitten.Add(1)
			return
		}
	}
	played.spared.Add(1)
}

// faultsOf is everything that can go wrong: with each write of a play, but for the repetitions of one that is refused, and
// with each watch that delivered something.
func faultsOf(o *outcome) []*fault {
	var faults []*fault
	for _, w := range o.writes {
		if w.Code >= http.StatusBadRequest && w.nth > 1 {
			continue
		}
		for _, what := range writeFaults {
			faults = append(faults, &fault{what: what, write: w.kind(), nth: w.nth, turn: w.turn})
		}
	}
	for _, resource := range resources {
		if o.watched[resource] > 0 {
			for _, what := range watchFaults {
				faults = append(faults, &fault{what: what, watch: resource})
			}
		}
		faults = append(faults, &fault{what: stale, watch: resource})
	}
	return append(faults, &fault{what: stale, watch: "all"})
}

// play plays the scenario with a fault, which may be nil, and judges it. Want is nil for the play that is the reference. It
// returns nil if there was no occasion for the fault.
func (s scenario) play(t *testing.T, f *fault, want *outcome) *outcome {
	t.Helper()
	p := newPlay(t)
	defer p.end()
	if s.setup != nil {
		s.setup(p)
	}
	p.awaitKnown()
	p.proxy.remember(p.snapshots())
	lagging := f != nil && f.what == stale
	if lagging {
		p.proxy.begin(nil)
	} else {
		p.proxy.begin(f)
	}
	s.act(p)
	p.await("converge", s.end(want))
	watched := p.proxy.counts()
	switch {
	case lagging:
		p.startLate(f)
	case f != nil && !p.happened(f):
		if p.proxy.missed(f) {
			p.Error("there was an occasion for the fault, and it did not happen")
		}
		return nil
	}
	if s.name != deletion {
		p.look(p.operator) // at what came last
		p.look(p.operator) // when that look, which is counted before it writes the status, has ended
	}
	p.awaitKnown()
	p.await("converge after it has looked again", s.end(want))
	got := p.silence(s)
	got.watched = watched
	p.judge(got, want)
	return got
}

// happened waits until the fault has happened, and a crashed operator has started again.
func (p *play) happened(f *fault) bool {
	p.Helper()
	select {
	case <-p.proxy.bitten:
	case <-time.After(patience + thaw):
		return false
	}
	if f.what == crashBefore || f.what == crashAfter {
		select {
		case err := <-p.crashed:
			p.must(err)
		case <-p.ctx.Done():
			p.Fatal("the operator did not start again")
		}
	}
	return true
}

// startLate starts the operator again, which is told what was before the scenario.
func (p *play) startLate(f *fault) {
	p.Helper()
	late := []string{f.watch}
	if f.watch == "all" {
		late = resources
	}
	p.proxy.lag(late...)
	p.restart()
	p.must(<-p.crashed)
	p.must(eventually(p.ctx, "the operator was not told what was", p.proxy.caughtUp))
	p.awaitKnown()
}

// awaitKnown waits until the operator was told of everything.
func (p *play) awaitKnown() {
	p.Helper()
	p.must(eventually(p.ctx, "the operator was not told what is", func() bool { return p.knows(p.operator) }))
}

// knows says whether the caches of a process hold what exists.
func (p *play) knows(o *operator) bool {
	now := latest(history.of(p.namespace))
	for resource, list := range kinds {
		list := list.DeepCopyObject().(client.ObjectList)
		if err := o.manager.GetCache().List(p.ctx, list, client.InNamespace(p.namespace)); err != nil {
			return false // the process has not begun to watch
		}
		p.must(meta.EachListItem(list, func(cached runtime.Object) error {
			object := cached.(client.Object)
			if live := now[resource+"/"+object.GetName()]; live == nil || live.GetResourceVersion() != object.GetResourceVersion() {
				now["stale"] = object
			}
			delete(now, resource+"/"+object.GetName())
			return nil
		}))
	}
	return len(now) == 0
}

// look makes the operator look again, by something that nobody needs to react to, and waits until it has.
func (p *play) look(o *operator) {
	p.Helper()
	unchanged := o.reconciles("Unchanged")
	change(p, &corev1.Service{}, func(service *corev1.Service) {
		service.Annotations[noteAnnotation] = service.ResourceVersion
	})
	p.must(eventually(p.ctx, "the operator did not look at a foreign annotation",
		func() bool { return o.reconciles("Unchanged") > unchanged }))
}

// end is when the scenario has ended: with the state of the reference, if there is one.
func (s scenario) end(want *outcome) func(objects) string {
	return func(now objects) string {
		if s.done != nil {
			if missing := s.done(now); missing != "" {
				return missing
			}
		}
		if s.name != deletion {
			if missing := settled(now); missing != "" {
				return missing
			}
		}
		if want != nil {
			return cmp.Diff(want.state, state(now))
		}
		return ""
	}
}

// silence makes the operator look again, and a new process after that. Neither may write anything.
func (p *play) silence(s scenario) *outcome {
	p.Helper()
	got := &outcome{writes: p.proxy.written()}
	got.state = state(latest(history.of(p.namespace)))
	if s.name != deletion {
		p.look(p.operator)
	}
	p.restart()
	p.must(<-p.crashed)
	if s.name != deletion {
		p.must(eventually(p.ctx, "the new process found no work done", func() bool { return p.operator.reconciles("Unchanged") > 0 }))
		p.look(p.operator)
	}
	if writes := p.proxy.written(); len(writes) > len(got.writes) {
		p.Errorf("the operator wrote after it had converged: %v", writes[len(got.writes):])
	}
	got.changes = changes(history.of(p.namespace))
	return got
}

// eventually waits for what only counters tell; otherwise is the error.
func eventually(ctx context.Context, otherwise string, check func() bool) error {
	for !check() {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", otherwise, context.Cause(ctx))
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond): // counters send no events
		}
	}
	return nil
}
