// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
)

// Rules bound the steps of a rollout.
type Rules struct {
	// Budget is how many nodes may be missed at the same time: updateStrategy.maxUnavailable, or 1 with copies.
	Budget int
	// Paused reports that no node may take a step.
	Paused bool
	// TemplateReady reports that a new pod would be what the target asks for: the StatefulSet has the target's template, and its
	// controller has observed it.
	TemplateReady bool
}

// Step is an action for a node.
type Step struct {
	Node   string
	Action Action
}

// Plan is what to do now, and how far the rollout is.
type Plan struct {
	// Steps are the steps to take now.
	Steps []Step
	// Done is how many nodes are what the target asks for and serve, and Pending is how many are not.
	Done, Pending int
	// Updated is how many pods are what the target asks for, whether they serve or not, and Outdated is how many are not.
	Updated, Outdated int
	// Template reports that the StatefulSet must have the target's template now. During a change in place, it keeps the former one until
	// the first node runs the target, so that a pod that is created meanwhile starts as its neighbours do.
	Template bool
	// Waits is why the next node must wait, or NoWait. Waiting is the name of that node.
	Waits   Wait
	Waiting string
	// Words explain Waits, such as what a parent or a kubelet says. Refused is a refusal that somebody has to resolve, or empty.
	Words   string
	Refused Refusal
}

// Wait is why the next node must wait.
type Wait string

// Reasons to wait.
const (
	NoWait          Wait = ""
	WaitBudget      Wait = "Budget"      // others are missed, or not ready for long enough
	WaitAnswer      Wait = "Answer"      // a parent cannot be asked
	WaitCutOff      Wait = "CutOff"      // its cluster node has lost contact
	WaitPeers       Wait = "Peers"       // no other copy has its items
	WaitTemplate    Wait = "Template"    // the StatefulSet's controller has not observed the template
	WaitMemory      Wait = "Memory"      // its memory limit does not hold what memcached may use
	WaitRefused     Wait = "Refused"     // it has refused the target
	WaitElsewhere   Wait = "Elsewhere"   // another node has refused the target
	WaitInEffect    Wait = "InEffect"    // its last step is not in effect
	WaitPaused      Wait = "Paused"      // spec.paused
	WaitStatefulSet Wait = "StatefulSet" // its pod does not exist
)

// Next returns the plan for the nodes, which are sorted by their numbers. It takes nodes that serve nothing first, then those that are
// away anyway, then the others from the last one down.
func Next(nodes []Node, t Target, rules Rules) Plan {
	d := decision{nodes: nodes, target: t, rules: rules}
	d.plan.Template = !rules.Paused && writesTemplate(nodes, t)
	order := slices.Clone(nodes)
	slices.Reverse(order)
	slices.SortStableFunc(order, func(a, b Node) int { return cmp.Compare(urgency(a), urgency(b)) })
	for _, n := range order {
		switch {
		case n.Updated(t):
			d.plan.Updated++
		case n.Pod == Present:
			d.plan.Outdated++
		}
		if n.Done(t) {
			d.plan.Done++
			continue
		}
		d.plan.Pending++
		d.decide(n)
	}
	return d.plan
}

// urgency orders the nodes: what costs the least goes first.
func urgency(n Node) int {
	switch {
	case !n.serves():
		return 0
	case n.away():
		return 1
	default:
		return 2
	}
}

// writesTemplate reports whether the StatefulSet must have the target's template now: a pod must be replaced, the API server refuses a pod
// of the former template, a node runs the target, or no node runs.
func writesTemplate(nodes []Node, t Target) bool {
	running := false
	for _, n := range nodes {
		switch {
		case n.Pod == Present && n.Replaces(t), n.Pod == Absent && n.Failed.Action == Replace,
			n.Ready && n.Serves != No && n.Asked == t.Asked && n.settled() == Yes:
			return true
		case n.Pod == Present && (n.Ready || n.Started && n.settled() == No): // in the middle of a step, it runs again soon
			running = true
		}
	}
	return !running
}

// decision is a Plan in the making.
type decision struct {
	nodes  []Node
	target Target
	rules  Rules
	plan   Plan
	// asked is for how many nodes parents are asked.
	asked int
}

// askedAtOnce limits for how many nodes parents are asked at once: in a large cache, most nodes have to wait anyway. Nodes whose parents
// are silent do not count.
const askedAtOnce = 8

func (d *decision) decide(n Node) {
	action := n.need(d.target)
	switch wait, words := d.mayStep(n, action); {
	case wait == NoWait:
		d.plan.Steps = append(d.plan.Steps, Step{Node: n.Name, Action: action})
	case wait == WaitAnswer && words == "":
		d.ask(n)
	case d.plan.Waits == NoWait:
		d.plan.Waits, d.plan.Waiting, d.plan.Words = wait, n.Name, words
	}
	if n.Refused.Action != Nothing && n.refused(n.Refused.Action, d.target) && d.plan.Refused.Action == Nothing {
		d.plan.Refused = n.Refused
	}
}

// ask adds the steps that ask the parents on whose answers the next step of this node depends.
func (d *decision) ask(n Node) {
	if d.asked++; d.asked > askedAtOnce {
		return
	}
	for _, other := range d.nodes {
		if other.Silent == "" && (other.Name == n.Name || open(other)) {
			step := Step{Node: other.Name, Action: Ask}
			if !slices.Contains(d.plan.Steps, step) {
				d.plan.Steps = append(d.plan.Steps, step)
			}
		}
	}
	if d.plan.Waits == NoWait {
		d.plan.Waits, d.plan.Waiting = WaitAnswer, n.Name
	}
}

// open reports whether only the parent can tell whether the node is settled.
func open(n Node) bool { return n.Pod == Present && n.settled() == Unknown }

// mayStep returns why the node must wait with this action, or NoWait. WaitAnswer without words means that a parent has not been asked.
func (d *decision) mayStep(n Node, action Action) (_ Wait, words string) {
	switch {
	case d.rules.Paused:
		return WaitPaused, ""
	case action == Nothing:
		return d.idle(n)
	case action == GoBack || action == ForceDelete:
		return NoWait, ""
	case n.CutOff:
		return WaitCutOff, ""
	case action == Replace && !d.rules.TemplateReady:
		return WaitTemplate, ""
	}
	if wait, words := d.withinMemory(n, action); wait != NoWait {
		return wait, words
	}
	if at := d.refusedElsewhere(n, action); at != nil {
		return WaitElsewhere, at.Refused.Words
	}
	if n.free(action) {
		return NoWait, ""
	}
	if wait, words := d.withinBudget(n, action); wait != NoWait {
		return wait, words
	}
	return d.peers(n)
}

// idle returns why nothing can be done with a node that is not what the target asks for.
func (d *decision) idle(n Node) (_ Wait, words string) {
	switch {
	case n.Pod != Present:
		return WaitStatefulSet, n.Slow
	case open(n):
		return WaitAnswer, silence(n)
	case n.Refused.Action != Nothing:
		return WaitRefused, n.Refused.Words
	default:
		return WaitInEffect, cmp.Or(n.Failed.Words, n.Slow)
	}
}

// withinMemory is the invariant of memory: what memcached may use fits the memory limit in effect, before and after the step. A new pod
// gets its limit and its arguments from the same template. Until its parent has answered, a node may still use what it had before.
func (d *decision) withinMemory(n Node, action Action) (_ Wait, words string) {
	use, limit := max(n.Use, d.target.Use), d.target.Limit
	if action == Assign {
		use, limit = d.target.Use, min(n.Limit, n.AskedLimit)
	}
	switch {
	case use <= limit, action != Assign && (action != Resize || limit >= n.Limit):
		return NoWait, ""
	case n.Assigned && n.ArgumentsTaken == Unknown:
		return WaitAnswer, silence(n)
	default:
		const mebibyte = 1 << 20
		return WaitMemory, fmt.Sprintf("memcached may use %.1f MiB, and the memory limit is %.1f MiB",
			float64(use)/mebibyte, float64(limit)/mebibyte)
	}
}

// refusedElsewhere returns another node that has refused what the action sets, or nil. Nodes that have refused it themselves do not wait
// for each other.
func (d *decision) refusedElsewhere(n Node, action Action) *Node {
	if n.refused(action, d.target) {
		return nil
	}
	for i, other := range d.nodes {
		if other.Name != n.Name && other.Pod == Present && other.refused(action, d.target) {
			return &d.nodes[i]
		}
	}
	return nil
}

// withinBudget is the invariant of the budget: with the node, no more nodes are missed or in the middle of a step than the budget allows.
// A node that is away anyway adds nothing to those that are, but it may still have its items: so only as many of them take a step at the
// same time. A parent that does not answer keeps the others from all steps but Replace.
func (d *decision) withinBudget(n Node, action Action) (_ Wait, words string) {
	count := 0
	var doubtful []Node
	for _, other := range d.nodes {
		switch self := other.Name == n.Name; {
		case !self && d.counts(n, other):
			count++
		case open(other), self && n.Serves == Unknown:
			doubtful = append(doubtful, other)
		}
	}
	switch {
	case count >= d.rules.Budget:
		return WaitBudget, ""
	case len(doubtful) == 0, action == Replace && silence(doubtful...) != "":
		return NoWait, ""
	default:
		return WaitAnswer, silence(doubtful...)
	}
}

// counts reports whether another node counts against the budget of a step of n.
func (d *decision) counts(n, other Node) bool {
	return d.stops(other) || other.missed() && (!n.Served || !n.away() || d.moving(other))
}

// silence says which parent did not answer, and why. It is an empty text if one of the parents was not asked.
func silence(nodes ...Node) string {
	n := slices.MinFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Silent, b.Silent) })
	if n.Silent == "" {
		return ""
	}
	return n.Name + " does not answer: " + n.Silent
}

// stops reports whether the plan already has a step that costs the clients this node.
func (d *decision) stops(n Node) bool {
	return slices.ContainsFunc(d.plan.Steps, func(s Step) bool {
		return s.Node == n.Name && s.Action != Ask && s.Action != GoBack && !n.free(s.Action)
	})
}

// moving reports whether a node is in the middle of a step: its pod is new, its last step is not in effect, or it is what the target asks
// for but does not serve yet.
func (d *decision) moving(n Node) bool {
	return n.missed() && (n.Pod != Present || n.settled() == No || n.Asked == d.target.Asked)
}

// peers is the invariant of copies: a node leaves only if another copy has all its items.
func (d *decision) peers(n Node) (_ Wait, words string) {
	switch n.PeersWhole {
	case No:
		return WaitPeers, n.PeerWords
	case Yes:
		return NoWait, ""
	default:
		return WaitAnswer, silence(n)
	}
}

// Message says how far the rollout is, and what happens now or what the next node waits for.
func (p Plan) Message() string {
	text := fmt.Sprintf("%d of %d nodes are updated", p.Done, p.Done+p.Pending)
	if now := p.Now(); now != "" {
		text += "; " + now
	}
	return text
}

// Now says what happens to a node now, or else what the next node waits for. It is empty if there is neither, or if only a pause holds
// nodes back.
func (p Plan) Now() string {
	for _, step := range p.Steps {
		words := actionWords[step.Action]
		if step.Action == Replace && p.Refused.Forever {
			words += ", since a living pod cannot change so: " + p.Refused.Words
		}
		if words != "" {
			return step.Node + " " + words
		}
	}
	words := waitWords[p.Waits]
	switch {
	case words == "":
		return ""
	case p.Words == "":
		return p.Waiting + " " + words
	case p.Waits == WaitPeers:
		return p.Waiting + " is " + p.Words
	default:
		return p.Waiting + " " + words + ": " + p.Words
	}
}

// actionWords say what happens to a node.
var actionWords = map[Action]string{
	Resize:      "gets other resources in place",
	Assign:      "gets other arguments",
	SetImage:    "restarts with another image in place",
	GoBack:      "goes back to what it had before",
	Replace:     "is replaced",
	ForceDelete: "is deleted, because its cluster node is lost",
}

// waitWords say what a node waits for.
var waitWords = map[Wait]string{
	WaitBudget:      "waits until the other nodes are ready",
	WaitAnswer:      "waits for an answer on port 9151, which the operator must be able to reach",
	WaitCutOff:      "waits until its pod is ready: its cluster node has lost contact, or a readiness gate of others is not passed",
	WaitPeers:       "is waiting until another copy has all its items",
	WaitTemplate:    "waits until the StatefulSet's controller has seen the new template",
	WaitMemory:      "waits until spec.replacedAt replaces the pods",
	WaitRefused:     "has refused the change",
	WaitElsewhere:   "waits, because another node has refused the change",
	WaitInEffect:    "is not ready yet",
	WaitStatefulSet: "waits for its new pod",
}
