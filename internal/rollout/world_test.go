// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// world plays the API server, the StatefulSet's controller, the kubelets and the parents. Ticks are its time.
type world struct {
	r       *rand.Rand
	copies  [][]*pod // by copy and ordinal, nil for no pod
	entries map[string]entry
	served  map[string]bool
	// target is what the spec asks for. former is the template that the StatefulSets have until template is observed.
	target             Target
	generation         int
	template, observed Asked
	size, budget       int
	quiet              bool // no accident happens
	keeps              bool // items survive a restart of memcached in its pod
	pulls              bool // the registry works
	silent             bool // the operator cannot reach the parents
	uid, now           int
	down               map[string]int // ticks until the StatefulSet's controller creates the pod
	// items are the names of all items by ordinal. A test of copies fails if one is in no copy.
	items  map[int]int
	log    []string
	faults []string
}

// entry is what the ConfigMap of arguments has for a node: for one pod only, as the arguments may not fit the limit of the next one.
type entry struct {
	uid, number            int
	arguments, credentials string
}

type pod struct {
	uid, version int
	// asked is the pod's annotation, without what its entry says.
	asked   Asked
	refused Refusal
	tried   int // when it was refused last
	// What runs, according to the kubelet and the parent.
	image, resources, arguments, credentials   string
	stops, leaves, cutOff, sinceReady          int
	lag                                        int // ticks until the kubelet sees that memcached restarts
	started, ran, pullFailed, refusesArguments bool
	has                                        map[int]bool
	filled                                     bool
}

// use and limit read the memory that arguments and resources such as "128" stand for, in any unit.
func amount(text string) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return number
}

func key(c, ordinal int) string { return fmt.Sprintf("%d/%d", c, ordinal) }

// place is the opposite of key.
func place(name string) (number, ordinal int) {
	c, o, _ := strings.Cut(name, "/")
	return int(amount(c)), int(amount(o))
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%4d ", w.now)+fmt.Sprintf(format, args...))
}

func (w *world) each(visit func(c, ordinal int, p *pod)) {
	for c := range w.copies {
		for o := range w.copies[c] {
			visit(c, o, w.copies[c][o])
		}
	}
}

// asks returns what a pod is asked for: its annotation, and the entry if that is for this pod.
func (w *world) asks(k string, p *pod) (_ Asked, assigned bool) {
	asked := p.asked
	if e, ok := w.entries[k]; ok && e.uid == p.uid {
		asked.Arguments, asked.Credentials, assigned = e.arguments, e.credentials, true
	}
	return asked, assigned
}

// infeasible reports whether the cluster node cannot give a running pod its resources.
func (p *pod) infeasible() bool { return p.asked.Resources == "999" && p.resources != "999" }

func (p *pod) running() bool {
	return p.started && p.stops == 0 && p.leaves == 0 && p.asked.Template != "crashes"
}

// seemsReady reports whether the kubelet calls a pod ready because its probe has not seen the restart.
func (p *pod) seemsReady() bool {
	return p.lag > 0 && p.leaves == 0 && p.cutOff == 0 && p.started && !p.pullFailed
}

func (p *pod) ready() bool {
	return p.running() && p.cutOff == 0 && !p.pullFailed && p.filled && p.sinceReady > 0
}

func (w *world) whole(ordinal, except int) bool {
	for c := range w.copies {
		p := w.copies[c][ordinal]
		if c != except && p != nil && p.running() && p.filled && len(p.has) == w.items[ordinal] {
			return true
		}
	}
	return false
}

// tick lets everybody but the operator act once.
func (w *world) tick() {
	w.now++
	w.observed = w.template
	w.each(func(c, o int, p *pod) {
		k := key(c, o)
		switch {
		case p == nil && w.down[k] > 0:
			w.down[k]--
		case p == nil:
			w.copies[c][o] = w.newPod()
		case p.cutOff > 0:
			p.cutOff--
			p.sinceReady = 0
			p.version++
		case p.leaves > 0:
			if p.leaves--; p.leaves == 0 {
				w.copies[c][o], w.down[k] = nil, w.r.IntN(3)
			}
		default:
			w.kubelet(k, p)
			w.fill(c, o, p)
		}
	})
	w.write()
}

func (w *world) next() int {
	w.uid++
	return w.uid
}

func (w *world) newPod() *pod {
	a := w.observed
	return &pod{
		uid: w.next(), asked: a, resources: a.Resources, arguments: a.Arguments, credentials: a.Credentials, stops: 2, has: map[int]bool{},
	}
}

// kubelet lets the kubelet and the parent of a pod act once.
func (w *world) kubelet(k string, p *pod) {
	before := *p
	restart := func(keeps bool) {
		p.stops, p.sinceReady = 1+w.r.IntN(2), 0
		if !keeps {
			p.has, p.filled = map[int]bool{}, false
		}
	}
	e, entered := w.entries[k]
	entered = entered && e.uid == p.uid && (e.arguments != p.arguments || e.credentials != p.credentials)
	switch {
	case !p.started && p.resources == "999" && p.asked.Resources == "999": // no cluster node has room
	case p.image != p.asked.Image && (p.asked.Image == "missing" || !w.pulls):
		if p.image != "" {
			restart(w.keeps)
		}
		p.pullFailed, p.started, p.image = true, false, ""
		p.resources = p.asked.Resources // those of its next start
	case p.image != p.asked.Image:
		if p.image != "" {
			restart(w.keeps)
		}
		p.image, p.started, p.pullFailed = p.asked.Image, true, false
	case p.resources != p.asked.Resources && p.asked.Resources != "999" && w.r.IntN(2) == 0:
		if amount(p.asked.Resources) < amount(p.arguments) {
			w.fault("%s: limit %s below %s", k, p.asked.Resources, p.arguments)
		}
		p.resources = p.asked.Resources
	case entered && e.arguments == "13":
		p.refusesArguments = true
	case entered && w.r.IntN(3) == 0:
		if amount(p.resources) < amount(e.arguments) {
			w.fault("%s: arguments %s above the limit %s", k, e.arguments, p.resources)
		}
		p.arguments, p.credentials, p.refusesArguments, p.lag = e.arguments, e.credentials, false, min(p.sinceReady, 3)
		restart(w.keeps)
	case !entered && p.refusesArguments:
		p.refusesArguments = false
	case p.stops > 0:
		p.stops--
	case p.running() && p.filled:
		p.sinceReady++
	}
	if p.refused.Action != Nothing && !p.refused.Due && p.refused.Tries < 3 && w.now-p.tried > 30 {
		p.refused.Due = true
	}
	p.ran, p.lag = p.ran || p.running(), max(0, p.lag-1)
	p.version = before.version + 1
}

// fill fills a node from another copy, which takes a moment. With no other copy that has items, the node is what it can be.
func (w *world) fill(own, ordinal int, p *pod) {
	if p.filled || !p.running() {
		return
	}
	for c := range w.copies {
		source := w.copies[c][ordinal]
		if c != own && source != nil && source.running() && (source.filled || source.uid < p.uid) {
			if w.r.IntN(3) > 0 {
				return
			}
			maps.Copy(p.has, source.has)
		}
	}
	p.filled = true
}

// write lets clients write an item to each ordinal, and checks that none is lost.
func (w *world) write() {
	for ordinal := range w.size {
		stored := false
		for c := range w.copies {
			if p := w.copies[c][ordinal]; p != nil && p.running() {
				p.has[w.items[ordinal]], stored = true, true
			}
		}
		if stored {
			w.items[ordinal]++
		}
		if len(w.copies) == 1 {
			continue
		}
		for item := range w.items[ordinal] {
			if !slices.ContainsFunc(w.copies, func(nodes []*pod) bool {
				p := nodes[ordinal]
				return p != nil && p.leaves == 0 && p.has[item]
			}) {
				w.fault("item %d of ordinal %d is lost", item, ordinal)
				return
			}
		}
	}
}

// missing returns how many nodes that were ready once are not ready now.
func (w *world) missing() (count int) {
	w.each(func(c, o int, p *pod) {
		switch {
		case p != nil && p.ready():
			w.served[key(c, o)] = true
		case w.served[key(c, o)]:
			count++
		}
	})
	return count
}

// resize sets the number of nodes.
func (w *world) resize(size int) {
	for c := range w.copies {
		for o := len(w.copies[c]); o < size; o++ {
			w.copies[c] = append(w.copies[c], nil)
		}
		for o := size; o < len(w.copies[c]); o++ {
			delete(w.served, key(c, o))
			delete(w.entries, key(c, o))
		}
		w.copies[c] = w.copies[c][:size]
	}
	for o := range w.items {
		if o >= size {
			delete(w.items, o)
		}
	}
	w.size = size
}
