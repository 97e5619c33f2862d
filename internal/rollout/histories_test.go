// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var seeds = flag.Uint64("seeds", 300, "number of random histories")

// decider plays the operator: it decides by a view that may be old, and remembers only what parents have answered.
type decider struct {
	w *world
	// view is what the decider's cache had seen when it was last brought up to date.
	view seen
	// answers are those of parents, by uid. A decider that crashes loses them.
	answers map[int]answer
}

type seen struct {
	pods       [][]*pod
	entries    map[string]entry
	target     Target
	generation int
	size       int
	template   Asked
}

type answer struct {
	silent, arguments, credentials string
	filled, old, stopped           bool
	number                         int // of the entry, since the same arguments may have been assigned again
	whole                          Known
}

func (w *world) see() seen {
	s := seen{entries: map[string]entry{}, target: w.target, generation: w.generation, size: w.size, template: w.observed}
	for _, nodes := range w.copies {
		var pods []*pod
		for _, p := range nodes {
			if p != nil {
				clone := *p
				p = &clone
			}
			pods = append(pods, p)
		}
		s.pods = append(s.pods, pods)
	}
	maps.Copy(s.entries, w.entries)
	return s
}

// node returns what the decider knows about a node.
func (d *decider) node(c, o int) Node {
	w, k := d.w, key(c, o)
	n := Node{Name: key(c, o), Served: w.served[k], PeersWhole: Yes}
	p := d.view.pods[c][o]
	if p == nil {
		return n
	}
	old := *w
	old.entries = d.view.entries
	n.Asked, n.Assigned = old.asks(k, p)
	n.Pod, n.Ready, n.CutOff, n.Available = Present, p.ready() || p.seemsReady(), p.cutOff > 0, p.sinceReady > 1
	n.Started, n.Stopped, n.Refused = p.ran, !p.started || p.pullFailed || p.asked.Template == "crashes", p.refused
	n.Limit, n.AskedLimit = amount(p.resources), amount(p.asked.Resources)
	n.ResourcesTaken = yes(p.resources == p.asked.Resources)
	n.ImageTaken = yes(p.image == p.asked.Image || p.image == "")
	n.Use = max(amount(p.arguments), amount(n.Asked.Arguments))
	switch {
	case p.leaves > 0 && p.cutOff > 0:
		n.Pod = Lost
	case p.leaves > 0:
		n.Pod = Leaving
	case p.pullFailed:
		n.Failed = Failure{Action: SetImage, Words: "no such image"}
	case !p.started && p.resources == "999":
		n.Failed = Failure{Action: Resize, Words: "Unschedulable"}
	case p.infeasible():
		n.Failed = Failure{Action: Resize, Words: "the cluster node is too small"}
	}
	a, ok := d.answers[p.uid]
	switch {
	case !ok, a.old && (a.number != d.view.entries[k].number || a.arguments != n.Asked.Arguments || a.credentials != n.Asked.Credentials):
	case a.silent != "":
		n.Silent = a.silent
	default:
		n.Serves, n.ArgumentsTaken = Yes, yes(a.arguments == n.Asked.Arguments && a.credentials == n.Asked.Credentials)
		if p.refusesArguments && n.Asked.Arguments == "13" {
			n.Failed = Failure{Action: Assign, Words: "memcached refuses -m 13"}
		}
		if !a.filled || a.stopped {
			n.Serves = No
		}
	}
	if len(d.view.pods) > 1 {
		n.PeersWhole = a.whole
	}
	return n
}

func yes(is bool) Known {
	if is {
		return Yes
	}
	return No
}

// reconcile decides, and carries out the steps unless the pods or the spec have changed since they were seen. It may crash after any
// write. It returns the plan.
func (d *decider) reconcile() Plan {
	w := d.w
	if w.r.IntN(3) > 0 {
		d.view = w.see()
	}
	p := d.plan()
	for range 3 {
		asks := slices.Clone(p.Steps)
		for _, step := range asks {
			if step.Action == Ask {
				d.ask(place(step.Node))
			}
		}
		p = d.plan()
	}
	if p.Template && w.template != d.view.target.Asked && d.fresh() {
		w.template = d.view.target.Asked
	}
	for _, step := range p.Steps {
		if step.Action == Ask {
			continue
		}
		if !d.fresh() || w.r.IntN(20) == 0 {
			break
		}
		c, o := place(step.Node)
		d.do(c, o, step.Action)
	}
	d.forget(w.r.IntN(15) == 0)
	return p
}

// forget forgets what may change by itself. A crash makes the decider forget everything.
func (d *decider) forget(crash bool) {
	for uid, a := range d.answers {
		if crash || a.silent != "" || !a.filled || a.stopped {
			delete(d.answers, uid)
		} else {
			a.whole, a.old = Unknown, true
			d.answers[uid] = a
		}
	}
}

func (d *decider) plan() Plan {
	var nodes []Node
	for o := range d.view.size {
		for c := range d.view.pods {
			nodes = append(nodes, d.node(c, o))
		}
	}
	return Next(nodes, d.view.target, Rules{Budget: d.w.budget, TemplateReady: d.view.template == d.view.target.Asked})
}

// fresh reports whether the pods and the spec are those that were seen: a step that is decided by anything else is not taken.
func (d *decider) fresh() bool {
	w, v := d.w, d.view
	if v.generation != w.generation || len(v.pods) != len(w.copies) {
		return false
	}
	for c := range w.copies {
		same := slices.EqualFunc(w.copies[c], v.pods[c], func(a, b *pod) bool {
			return a == nil && b == nil || a != nil && b != nil && a.uid == b.uid && a.version == b.version
		})
		if !same {
			return false
		}
	}
	return true
}

// ask asks the parents of the ordinal in every copy.
func (d *decider) ask(_, ordinal int) {
	for c := range d.w.copies {
		p := d.view.pods[c][ordinal]
		if ordinal >= d.w.size || p == nil {
			continue
		}
		switch live := d.w.copies[c][ordinal]; {
		case d.w.silent, live == nil, live != nil && live.uid != p.uid:
			d.answers[p.uid] = answer{silent: "no route"}
		default:
			d.answers[p.uid] = answer{
				arguments: live.arguments, credentials: live.credentials, filled: live.filled, stopped: live.stops > 0,
				whole: yes(d.w.whole(ordinal, c)), number: d.w.entries[key(c, ordinal)].number,
			}
		}
	}
}

func (d *decider) do(c, o int, action Action) {
	w, k, t, p := d.w, key(c, o), d.view.target, d.w.copies[c][o]
	w.note("%s %s, %d are missing", action, k, w.missing())
	asked, _ := w.asks(k, p)
	switch {
	case action == Replace && p.ran && t.InPlace && asked.Template == t.Template:
		w.fault("%s is replaced, although it could change in place", k)
	case action != Replace && action != GoBack && action != ForceDelete && asked.Value(action) == t.Value(action):
		w.fault("%s is asked again: %s", k, action)
	}
	delete(d.answers, p.uid)
	seen := d.view.pods[c][o]
	p.version++
	seen.version++
	switch action {
	case Assign:
		if w.entries[k] != d.view.entries[k] {
			return // the ConfigMap has changed
		}
		w.entries[k] = entry{uid: p.uid, number: w.next(), arguments: t.Arguments, credentials: t.Credentials}
		d.view.entries[k] = w.entries[k]
	case Resize:
		p.asked.Resources = t.Resources
	case SetImage:
		p.asked.Image = t.Image
	case GoBack:
		d.goBack(k, p)
	case Replace:
		p.leaves = 1 + w.r.IntN(2)
	case ForceDelete:
		w.copies[c][o] = nil
	}
	p.refused.Due = false
}

func (d *decider) goBack(k string, p *pod) {
	w, n := d.w, d.node(0, 0)
	asked, _ := w.asks(k, p)
	n.Refused, n.Asked = p.refused, asked
	failed := Nothing
	switch {
	case p.pullFailed:
		failed = SetImage
	case p.infeasible():
		failed = Resize
	case p.refusesArguments:
		failed = Assign
	}
	if failed == Nothing {
		p.refused = Refusal{}
		return
	}
	tries := 1
	if p.refused.Action == failed && p.refused.Value == asked.Value(failed) {
		tries += p.refused.Tries
	}
	p.refused, p.tried = Refusal{Failure: Failure{Action: failed, Words: "no"}, Value: asked.Value(failed), Tries: tries}, w.now
	switch failed {
	case SetImage:
		p.asked.Image = "1"
	case Resize:
		p.asked.Resources = p.resources
	case Assign:
		w.entries[k] = entry{uid: p.uid, number: w.next(), arguments: p.arguments, credentials: p.credentials}
	}
}

// newWorld returns a world in which all nodes run.
func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 11))
	w := &world{
		r: r, entries: map[string]entry{}, served: map[string]bool{}, down: map[string]int{}, items: map[int]int{},
		keeps: r.IntN(2) == 0, pulls: true, budget: 1 + r.IntN(2),
	}
	w.copies = make([][]*pod, 1+r.IntN(2))
	if len(w.copies) > 1 {
		w.keeps, w.budget = false, 1
	}
	w.target = Target{
		Asked: Asked{Template: "0", Image: "1", Resources: "100", Arguments: "64", Credentials: "0"}, Limit: 100, Use: 64, InPlace: r.IntN(3) > 0,
	}
	w.template, w.observed = w.target.Asked, w.target.Asked
	w.resize(1 + r.IntN(5))
	return w
}

// change lets the user or, unless the world is quiet, an accident change something.
func (w *world) change() {
	t, kind := &w.target, w.r.IntN(12)
	if w.quiet {
		kind %= 8
	}
	switch kind {
	case 0:
		t.Template = []string{"0", "1", "2", "crashes"}[w.r.IntN(4)]
	case 1:
		t.Image = []string{"1", "2", "missing"}[w.r.IntN(3)]
	case 2, 3:
		t.Limit = []int64{100, 200, 300, 999}[w.r.IntN(4)]
		t.Resources = fmt.Sprint(t.Limit)
		t.Use = min(t.Limit, []int64{64, 90, 180, 280}[w.r.IntN(4)])
		t.Arguments = fmt.Sprint(t.Use)
	case 4:
		t.Use, t.Arguments = 13, "13"
	case 5:
		t.Credentials = fmt.Sprint(w.r.IntN(3))
	case 6:
		t.InPlace = !t.InPlace
	case 7:
		w.resize(1 + w.r.IntN(5))
	case 8, 9, 10:
		w.accident(kind)
	case 11:
		w.pulls, w.silent = w.r.IntN(2) == 0, w.r.IntN(3) == 0
	}
	w.generation++
	w.note("%+v size %d budget %d copies %d pulls %v silent %v", *t, w.size, w.budget, len(w.copies), w.pulls, w.silent)
}

// accident evicts a pod as far as the disruption budget allows, cuts a pod off, or lets memcached crash.
func (w *world) accident(kind int) {
	c, o := w.r.IntN(len(w.copies)), w.r.IntN(w.size)
	p := w.copies[c][o]
	switch {
	case p == nil || p.leaves > 0:
	case kind == 8 && w.missing() < w.budget && (len(w.copies) == 1 || w.whole(o, c) && !w.restarts(o, c)):
		w.note("evict %s", key(c, o))
		p.leaves = 1
	case kind == 9:
		w.note("cut off %s", key(c, o))
		p.cutOff = 10
	}
	if p != nil {
		p.version++
	}
}

// restarts reports whether another copy's node of this ordinal is about to restart. An eviction in this moment loses items: the API server
// counts pods that are ready, and does not know that one of them was asked to restart.
func (w *world) restarts(ordinal, except int) bool {
	for c := range w.copies {
		p, e := w.copies[c][ordinal], w.entries[key(c, ordinal)]
		if c != except && p != nil && e.uid == p.uid && (e.arguments != p.arguments || e.credentials != p.credentials) {
			return true
		}
	}
	return false
}

// repair makes the spec one that can run, and ends all accidents.
func (w *world) repair() {
	w.pulls, w.silent = true, false
	t := &w.target
	if t.Template == "crashes" {
		t.Template = "3"
	}
	if t.Image == "missing" {
		t.Image = "2"
	}
	if t.Limit == 999 || t.Use == 13 {
		t.Limit, t.Resources, t.Use, t.Arguments = 200, "200", 180, "180"
	}
	w.generation++
	w.note("repair %+v", *t)
}

// Random changes, accidents, crashes and old views never break an invariant, and the nodes always end at the target.
func TestHistories(t *testing.T) {
	for seed := range *seeds {
		if err := history(seed); err != "" {
			t.Fatalf("seed %d: %s", seed, err)
		}
	}
}

// Without an answer of any parent, a new template and a new size still come, and what waits says for whom.
func TestParentsThatCannotBeAsked(t *testing.T) {
	for seed := range *seeds {
		w := newWorld(seed)
		d := &decider{w: w, answers: map[int]answer{}, view: w.see()}
		ticks := func(what string, until func(Plan) bool) {
			for range 800 {
				if p := d.reconcile(); until(p) {
					return
				}
				w.tick()
			}
			t.Fatalf("seed %d, %s: %+v\n%s", seed, what, d.plan(), strings.Join(w.log, "\n"))
		}
		done := func(Plan) bool { return w.missing() == 0 && w.atTarget() }
		ticks("start", done)
		w.silent, w.generation = true, w.generation+1
		w.target.Arguments = "65"
		ticks("other arguments", func(p Plan) bool {
			return p.Waits == WaitAnswer && strings.HasSuffix(p.Words, " does not answer: no route")
		})
		w.target.Template, w.generation = "9", w.generation+1
		w.resize(w.size + 1)
		if len(w.copies) == 1 {
			ticks("another template", done)
		}
		ticks("another size", func(Plan) bool { return w.copies[0][w.size-1] != nil && w.copies[0][w.size-1].ready() })
	}
}

func history(seed uint64) string {
	w := newWorld(seed)
	w.quiet = seed%2 == 0
	deciders := []*decider{{w: w, answers: map[int]answer{}}, {w: w, answers: map[int]answer{}}}
	for _, d := range deciders {
		d.view = w.see()
	}
	run := func(ticks int) (ended bool) {
		for range ticks {
			before := w.missing()
			p := deciders[w.r.IntN(2)].reconcile()
			if after := w.missing(); after > max(before, w.budget) {
				w.fault("%d nodes are missing, and the budget is %d", after, w.budget)
			}
			if len(w.faults) > 0 {
				return false
			}
			if p.Pending == 0 && w.missing() == 0 && w.atTarget() {
				return true
			}
			if w.tick(); w.quiet && w.missing() > w.budget {
				w.fault("%d nodes are missing without an accident, and the budget is %d", w.missing(), w.budget)
			}
		}
		return false
	}
	fail := func(what string) string {
		return what + "\n" + strings.Join(append(w.log, w.faults...), "\n") + fmt.Sprintf("\n%+v", deciders[0].plan())
	}
	if !run(400) {
		return fail("does not start")
	}
	for range 6 {
		for range 1 + w.r.IntN(3) {
			w.change()
			run(w.r.IntN(40))
		}
		w.repair()
		if ended := run(1500); len(w.faults) > 0 || !ended {
			return fail("does not end")
		}
	}
	return ""
}

// atTarget reports whether every pod is what the spec asks for.
func (w *world) atTarget() bool {
	at := true
	w.each(func(_, _ int, p *pod) {
		at = at && p != nil && p.ready() && p.asked.Template == w.target.Template && p.image == w.target.Image &&
			p.resources == w.target.Resources && p.arguments == w.target.Arguments && p.credentials == w.target.Credentials
	})
	return at
}
