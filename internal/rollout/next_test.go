// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"testing"
)

// former and wanted are what the nodes of most cases have, and what the spec asks for.
var (
	former = Asked{Template: "t1", Image: "i1", Resources: "200", Arguments: "a1", Credentials: "c1"}
	steady = Node{
		Pod: Present, Served: true, Ready: true, Available: true, Started: true, Asked: former, ImageTaken: Yes, ResourcesTaken: Yes,
		ArgumentsTaken: Yes, Limit: 200, Use: 100, Serves: Yes, PeersWhole: Yes,
	}
)

// target returns the target of steady nodes after a change, in place unless the change says otherwise.
func target(change func(*Target)) Target {
	t := Target{Asked: former, Limit: 200, Use: 100, InPlace: true}
	change(&t)
	return t
}

func node(change func(*Node)) Node {
	n := steady
	change(&n)
	return n
}

var (
	newTemplate  = target(func(t *Target) { t.Template = "t2" })
	newImage     = target(func(t *Target) { t.Image = "i2" })
	newArguments = target(func(t *Target) { t.Arguments = "a2" })
	moreMemory   = target(func(t *Target) { t.Resources, t.Limit, t.Arguments, t.Use = "400", 400, "a2", 300 })
	lessMemory   = target(func(t *Target) { t.Resources, t.Limit, t.Arguments, t.Use = "100", 100, "a2", 50 })
	unready      = node(func(n *Node) { n.Ready, n.Available = false, false })
	silent       = node(func(n *Node) { n.Silent, n.Serves, n.ArgumentsTaken, n.Assigned = "timeout", Unknown, Unknown, true })
	absent       = Node{Served: true, PeersWhole: Yes}
	retrying     = node(func(n *Node) { n.Refused = refusal(SetImage, "i2", true) })
	unpullable   = Failure{Action: SetImage, Words: "not found"}
)

func refusal(action Action, value string, due bool) Refusal {
	return Refusal{Failure: Failure{Action: action, Words: "refused"}, Value: value, Tries: 1, Due: due}
}

// Each case is a rule. The nodes are called 0, 1 and so on. want is the plan in short: steps, whether the StatefulSet gets the
// template, and what is waited for.
func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		nodes  []Node
		target Target
		budget int
		rules  Rules
		want   string
	}{
		"nothing to do": {nodes: []Node{steady, steady}, target: target(func(*Target) {}), want: "template"},
		"from the last ordinal down": {
			nodes:  []Node{steady, steady, steady},
			target: newTemplate, budget: 2, want: "2:Replace 1:Replace template; 0 Budget",
		},
		"in place, arguments":          {nodes: []Node{steady, steady}, target: newArguments, want: "1:Assign; 0 Budget"},
		"more memory before arguments": {nodes: []Node{steady}, target: moreMemory, want: "0:Resize"},
		"then the arguments": {
			nodes:  []Node{node(func(n *Node) { n.Asked.Resources, n.Limit = "400", 400 })},
			target: moreMemory, want: "0:Assign",
		},
		"less memory after arguments": {nodes: []Node{steady}, target: lessMemory, want: "0:Assign"},
		"only once they are in effect": {
			nodes:  []Node{node(func(n *Node) { n.Asked.Arguments, n.Assigned, n.ArgumentsTaken = "a2", true, No })},
			target: lessMemory, want: "; 0 InEffect",
		},
		"then less memory": {
			nodes:  []Node{node(func(n *Node) { n.Asked.Arguments, n.Use = "a2", 50 })},
			target: lessMemory, want: "0:Resize",
		},
		"image after memory": {
			nodes:  []Node{steady},
			target: target(func(t *Target) { t.Image, t.Resources, t.Limit = "i2", "400", 400 }), want: "0:Resize",
		},
		"a new pod gets all at once": {
			nodes:  []Node{steady},
			target: target(func(t *Target) { t.Template, t.Image, t.Arguments = "t2", "i2", "a2" }), want: "0:Replace template",
		},
		"not in place": {
			nodes:  []Node{steady},
			target: target(func(t *Target) { t.Image, t.InPlace = "i2", false }), want: "0:Replace template",
		},
		"arguments alone never replace": {
			nodes:  []Node{steady},
			target: target(func(t *Target) { t.Arguments, t.InPlace = "a2", false }), want: "0:Assign",
		},
		"credentials restart": {
			nodes:  []Node{steady},
			target: target(func(t *Target) { t.Credentials = "c2" }), want: "0:Assign",
		},
		"paused": {
			nodes:  []Node{steady},
			target: newTemplate, rules: Rules{Paused: true}, want: "template; 0 Paused",
		},

		// What others do to pods. (Only what was asked counts, so mirrors, digests and autoscalers do not appear in a Node at all.)
		"a pod that bears the target is not asked again": {
			nodes:  []Node{node(func(n *Node) { n.Asked, n.ImageTaken = newImage.Asked, No })},
			target: newImage, want: "; 0 InEffect",
		},
		"a webhook that lowers the limit gets no larger arguments": {
			nodes: []Node{node(func(n *Node) { n.Asked.Resources, n.Limit = "400", 200 })}, target: moreMemory, want: "; 0 Memory",
		},
		"a limit below what runs is not asked for": {
			nodes:  []Node{node(func(n *Node) { n.Asked.Arguments, n.Use = "a2", 150 })},
			target: lessMemory, want: "; 0 Memory",
		},

		// The budget.
		"a node that is away goes first": {
			nodes:  []Node{unready, steady},
			target: newArguments, want: "0:Assign; 1 Budget",
		},
		"a node that is about to restart counts": {
			nodes:  []Node{node(func(n *Node) { n.ImageTaken = No }), steady},
			target: newTemplate, want: "0:Replace template; 1 Budget",
		},
		"a node that has just come counts": {
			nodes:  []Node{steady, node(func(n *Node) { n.Available, n.Asked = false, newTemplate.Asked })},
			target: newTemplate, want: "template; 1 InEffect",
		},
		"a missing node counts": {
			nodes:  []Node{steady, absent},
			target: newTemplate, want: "template; 1 StatefulSet",
		},
		"a node that never was does not": {
			nodes:  []Node{steady, {}},
			target: newTemplate, want: "0:Replace template; 1 StatefulSet",
		},
		"what does not run is free, and goes first": {
			nodes:  []Node{node(func(n *Node) { n.Ready, n.Stopped = false, true }), steady},
			target: newTemplate, want: "0:Replace template; 1 Budget",
		},
		"what the parent calls empty is free": {
			nodes:  []Node{node(func(n *Node) { n.Ready, n.Serves, n.PeersWhole = false, No, No }), unready},
			target: newTemplate, budget: 1, want: "0:Replace 1:Replace template",
		},
		"unready nodes may be warm: one at a time": {
			nodes:  []Node{unready, unready, unready},
			target: newTemplate, want: "2:Replace template; 1 Budget",
		},
		"the next when the first is back": {
			nodes:  []Node{unready, unready, node(func(n *Node) { n.Asked = newTemplate.Asked })},
			target: newTemplate, want: "1:Replace template; 0 Budget",
		},
		"a corrected spec repairs without a hand": {
			nodes:  []Node{steady, node(func(n *Node) { n.Ready, n.Stopped, n.Asked.Template = false, true, "bad" })},
			target: newTemplate, want: "1:Replace template; 0 Budget",
		},
		"a pod that never ran is replaced": {
			nodes:  []Node{node(func(n *Node) { n.Started, n.Ready, n.Stopped = false, false, true })},
			target: newArguments, want: "0:Replace template",
		},
		"a pod that is cut off waits": {
			nodes:  []Node{node(func(n *Node) { n.Ready, n.CutOff = false, true }), steady},
			target: newTemplate, want: "template; 0 CutOff",
		},
		"a lost pod is deleted": {
			nodes:  []Node{node(func(n *Node) { n.Pod, n.Ready = Lost, false }), steady},
			target: newTemplate, want: "0:ForceDelete template; 1 Budget",
		},
		"no pod leaves before its successor is sure": {
			nodes:  []Node{steady},
			target: newTemplate, rules: Rules{TemplateReady: false, Budget: 1}, want: "template; 0 Template",
		},

		// Unknown is not good, and freezes nothing.
		"arguments need an answer of this node": {
			nodes:  []Node{node(func(n *Node) { n.Serves = Unknown })},
			target: newArguments, want: "0:Ask; 0 Answer",
		},
		"and of the others": {
			nodes:  []Node{node(func(n *Node) { n.Assigned, n.ArgumentsTaken = true, Unknown }), steady},
			target: newArguments, want: "0:Ask 1:Ask; 1 Answer",
		},
		"a silent parent is waited for": {nodes: []Node{silent}, target: newArguments, want: "; 0 Answer (timeout)"},
		"a new template needs no parent": {
			nodes:  []Node{silent, silent},
			target: newTemplate, want: "1:Replace template; 0 Budget",
		},
		"arguments of the first start are sure": {
			nodes:  []Node{node(func(n *Node) { n.Asked, n.ArgumentsTaken = newArguments.Asked, Unknown })},
			target: newArguments, want: "template",
		},
		"an entry is not sure until it is in use": {
			nodes:  []Node{node(func(n *Node) { n.Asked, n.Assigned, n.ArgumentsTaken = newArguments.Asked, true, Unknown })},
			target: newArguments, want: "0:Ask; 0 Answer",
		},

		// Copies.
		"a node whose peers lack items stays": {
			nodes:  []Node{node(func(n *Node) { n.PeersWhole = No })},
			target: newTemplate, want: "template; 0 Peers",
		},
		"peers that nobody asked are unknown": {
			nodes:  []Node{node(func(n *Node) { n.PeersWhole = Unknown })},
			target: newTemplate, want: "0:Ask template; 0 Answer",
		},
		"an unfilled node needs no peers": {
			nodes:  []Node{node(func(n *Node) { n.Serves, n.PeersWhole, n.Ready = No, No, false })},
			target: newTemplate, want: "0:Replace template",
		},

		// Refusals.
		"a pull that fails goes back": {nodes: []Node{node(func(n *Node) {
			n.Asked, n.ImageTaken, n.Failed, n.Ready, n.Stopped = newImage.Asked, No, unpullable, false, true
		}), steady}, target: newImage, want: "0:GoBack; 1 Budget"},
		"and is not tried before its time": {
			nodes:  []Node{node(func(n *Node) { n.Refused = refusal(SetImage, "i2", false) }), steady},
			target: newImage, want: "; 1 Elsewhere (refused)",
		},
		"then on the same node": {
			nodes:  []Node{retrying, steady},
			target: newImage, want: "0:SetImage; 1 Elsewhere (refused)",
		},
		"two of them do not wait for each other": {
			nodes: []Node{retrying, retrying}, target: newImage, want: "1:SetImage; 0 Budget",
		},
		"another image forgets it": {
			nodes:  []Node{node(func(n *Node) { n.Refused = refusal(SetImage, "i9", false) }), steady},
			target: newImage, want: "1:SetImage 0:GoBack",
		},
		"so does success": {
			nodes:  []Node{node(func(n *Node) { n.Asked, n.Refused = newImage.Asked, refusal(SetImage, "i2", true) })},
			target: newImage, want: "0:GoBack template",
		},
		"another image at once, without going back": {nodes: []Node{node(func(n *Node) {
			n.Asked.Image, n.ImageTaken, n.Failed, n.Ready, n.Stopped = "i9", No, unpullable, false, true
		})}, target: newImage, want: "0:SetImage template"},
		"arguments that memcached refuses": {nodes: []Node{node(func(n *Node) {
			n.Asked, n.Assigned, n.ArgumentsTaken, n.Failed = newArguments.Asked, true, No, Failure{Action: Assign}
		})}, target: newArguments, want: "0:GoBack"},
		"resources that the node has not": {
			nodes:  []Node{node(func(n *Node) { n.Asked.Resources, n.ResourcesTaken, n.Failed = "400", No, Failure{Action: Resize} })},
			target: moreMemory, want: "0:GoBack",
		},
		"resources that no pod can take on": {
			nodes:  []Node{node(func(n *Node) { n.Refused = Refusal{Failure: Failure{Action: Resize}, Value: "400", Forever: true} })},
			target: moreMemory, want: "0:Replace template",
		},

		// The template during a change in place.
		"stays until a node runs the target": {
			nodes:  []Node{steady, node(func(n *Node) { n.Asked.Image, n.ImageTaken = "i2", No })},
			target: newImage, want: "; 1 InEffect",
		},
		"follows the first node": {
			nodes:  []Node{steady, node(func(n *Node) { n.Asked.Image = "i2" })},
			target: newImage, want: "0:SetImage template",
		},
		"does not wait if no node runs": {nodes: []Node{absent, absent}, target: newImage, want: "template; 1 StatefulSet"},
		"does not wait if no pod can be made": {
			nodes: []Node{steady, {Served: true, Failed: Failure{Action: Replace}}}, target: newImage, want: "template; 1 StatefulSet",
		},
		// A pod with a bad image is evicted in the middle of a change of memory: it comes back as its neighbours are, since no node runs
		// the target, and the record of its refusal is gone with it.
		"an evicted node with a bad image": {
			nodes:  []Node{steady, absent},
			target: target(func(t *Target) { t.Image, t.Resources, t.Limit = "bad", "400", 400 }), want: "; 1 StatefulSet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := c.rules
			if rules == (Rules{}) || rules.Paused {
				rules.Budget, rules.TemplateReady = max(1, c.budget), true
			}
			for i := range c.nodes {
				c.nodes[i].Name = fmt.Sprint(i)
			}
			if got := short(Next(c.nodes, c.target, rules)); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}

// short returns a plan as "1:Assign template; 0 Budget (words)".
func short(p Plan) string {
	var steps []string
	for _, step := range p.Steps {
		steps = append(steps, step.Node+":"+string(step.Action))
	}
	if p.Template {
		steps = append(steps, "template")
	}
	text := strings.Join(steps, " ")
	if p.Waits != NoWait {
		text += fmt.Sprintf("; %s %s", p.Waiting, p.Waits)
		if p.Words != "" && p.Waits != WaitInEffect {
			text += " (" + p.Words + ")"
		}
	}
	return text
}

func TestMessage(t *testing.T) {
	waits := Plan{Done: 1, Pending: 2, Waits: WaitBudget, Waiting: "cache-0"}
	steps := waits
	steps.Steps = []Step{{"cache-1", Ask}, {"cache-1", Replace}}
	for want, p := range map[string]Plan{
		"3 of 3 nodes are updated":                                                {Done: 3},
		"1 of 3 nodes are updated; cache-1 is replaced":                           steps,
		"1 of 3 nodes are updated; cache-0 waits until the other nodes are ready": waits,
		"0 of 1 nodes are updated; cache-0 is not ready yet: pulling":             {Pending: 1, Waits: WaitInEffect, Waiting: "cache-0", Words: "pulling"},
	} {
		if got := p.Message(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
