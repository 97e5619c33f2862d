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
		ArgumentsTaken: Yes, Limit: 200, AskedLimit: 200, Use: 100, Serves: Yes, PeersWhole: Yes,
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
	starting     = node(func(n *Node) { n.Started, n.Ready, n.Stopped, n.Serves = false, false, true, Unknown })
	retrying     = node(func(n *Node) { n.Refused = refusal(SetImage, "i2", true) })
	unpullable   = Failure{Action: SetImage, Words: "not found"}
)

func refusal(action Action, value string, due bool) Refusal {
	return Refusal{Failure: Failure{Action: action, Words: "refused"}, Value: value, Tries: 1, Due: due}
}

// Each case is a rule. The nodes are called 0, 1 and so on. want is the plan in short: steps, whether the StatefulSet gets the
// template, and what is waited for.
func TestNext(t *testing.T) {
	type nodes = []Node
	special := map[string]Rules{
		"from the last ordinal down": {Budget: 2, TemplateReady: true},
		"paused":                     {Budget: 1, Paused: true, TemplateReady: true},
		"no pod leaves before its successor is sure": {TemplateReady: false, Budget: 1},
	}
	for _, c := range []struct {
		name   string
		nodes  nodes
		target Target
		want   string
	}{
		{"nothing to do", nodes{steady, steady}, target(func(*Target) {}), "template"},
		{"from the last ordinal down", nodes{steady, steady, steady}, newTemplate, "2:Replace 1:Replace template; 0 Budget"},
		{"in place, arguments", nodes{steady, steady}, newArguments, "1:Assign; 0 Budget"},
		{"more memory before arguments", nodes{steady}, moreMemory, "0:Resize"},
		{
			"then the arguments",
			nodes{node(func(n *Node) { n.Asked.Resources, n.Limit, n.AskedLimit = "400", 400, 400 })},
			moreMemory, "0:Assign",
		},
		{"less memory after arguments", nodes{steady}, lessMemory, "0:Assign"},
		{
			"only once they are in effect",
			nodes{node(func(n *Node) { n.Asked.Arguments, n.Assigned, n.ArgumentsTaken = "a2", true, No })},
			lessMemory, "; 0 InEffect",
		},
		{"then less memory", nodes{node(func(n *Node) { n.Asked.Arguments, n.Use = "a2", 50 })}, lessMemory, "0:Resize"},
		{"image after memory", nodes{steady}, target(func(t *Target) { t.Image, t.Resources, t.Limit = "i2", "400", 400 }), "0:Resize"},
		{
			"a new pod gets all at once",
			nodes{steady},
			target(func(t *Target) { t.Template, t.Image, t.Arguments = "t2", "i2", "a2" }), "0:Replace template",
		},
		{"not in place", nodes{steady}, target(func(t *Target) { t.Image, t.InPlace = "i2", false }), "0:Replace template"},
		{"arguments alone never replace", nodes{steady}, target(func(t *Target) { t.Arguments, t.InPlace = "a2", false }), "0:Assign"},
		{"credentials restart", nodes{steady}, target(func(t *Target) { t.Credentials = "c2" }), "0:Assign"},
		{"paused", nodes{steady}, newTemplate, "; 0 Paused"},

		// What others do to pods. (Only what was asked counts, so mirrors, digests and autoscalers do not appear in a Node at all.)
		{
			"a pod that bears the target is not asked again",
			nodes{node(func(n *Node) { n.Asked, n.ImageTaken = newImage.Asked, No })},
			newImage, "; 0 InEffect",
		},
		{
			"a webhook that lowers the limit gets no larger arguments",
			nodes{node(func(n *Node) { n.Asked.Resources, n.AskedLimit = "400", 400 })},
			moreMemory, "; 0 Memory",
		},
		{
			"a limit below what runs is not asked for",
			nodes{node(func(n *Node) { n.Asked.Arguments, n.Use = "a2", 150 })},
			lessMemory, "; 0 Memory",
		},
		{
			"unless only its parent knows what runs",
			nodes{node(func(n *Node) { n.Asked.Arguments, n.Use, n.Assigned, n.ArgumentsTaken = "a2", 150, true, Unknown })},
			lessMemory, "0:Ask; 0 Answer",
		},

		// The budget.
		{"a node that is away goes first", nodes{unready, steady}, newArguments, "0:Assign; 1 Budget"},
		{
			"a node that is about to restart counts",
			nodes{node(func(n *Node) { n.ImageTaken = No }), steady},
			newTemplate, "0:Replace template; 1 Budget",
		},
		{
			"a node that has just come counts",
			nodes{steady, node(func(n *Node) { n.Available, n.Asked = false, newTemplate.Asked })},
			newTemplate, "template; 1 InEffect",
		},
		{"a missing node counts", nodes{steady, absent}, newTemplate, "template; 1 StatefulSet"},
		{"no pod comes", nodes{steady, node(func(n *Node) { n.Pod, n.Slow = Leaving, "why" })}, newTemplate, "template; 1 StatefulSet (why)"},
		{"a node that never was does not", nodes{steady, {}}, newTemplate, "0:Replace template; 1 StatefulSet"},
		{
			"what does not run is free, and goes first",
			nodes{node(func(n *Node) { n.Ready, n.Stopped = false, true }), steady},
			newTemplate, "0:Replace template; 1 Budget",
		},
		{
			"what the parent calls empty is free",
			nodes{node(func(n *Node) { n.Ready, n.Serves, n.PeersWhole = false, No, No }), unready},
			newTemplate, "0:Replace 1:Replace template",
		},
		{"unready nodes may be warm: one at a time", nodes{unready, unready, unready}, newTemplate, "2:Replace template; 1 Budget"},
		{
			"the next when the first is back",
			nodes{unready, unready, node(func(n *Node) { n.Asked = newTemplate.Asked })},
			newTemplate, "1:Replace template; 0 Budget",
		},
		{
			"a corrected spec repairs without a hand",
			nodes{steady, node(func(n *Node) { n.Ready, n.Stopped, n.Asked.Template = false, true, "bad" })},
			newTemplate, "1:Replace template; 0 Budget",
		},
		{
			"a pod that cannot start is replaced",
			nodes{node(func(n *Node) { n.Started, n.Ready, n.Stopped, n.Failed = false, false, true, unpullable })},
			newArguments, "0:Replace template",
		},
		{"a pod that starts runs once as its neighbours do", nodes{retrying, starting}, newImage, "; 1 InEffect"},
		{
			"a pod that is cut off waits",
			nodes{node(func(n *Node) { n.Ready, n.CutOff = false, true }), steady},
			newTemplate, "template; 0 CutOff",
		},
		{
			"a lost pod is deleted",
			nodes{node(func(n *Node) { n.Pod, n.Ready = Lost, false }), steady},
			newTemplate, "0:ForceDelete template; 1 Budget",
		},
		{"no pod leaves before its successor is sure", nodes{steady}, newTemplate, "template; 0 Template"},

		// Unknown is not good, and freezes nothing.
		{"arguments need an answer of this node", nodes{node(func(n *Node) { n.Serves = Unknown })}, newArguments, "0:Ask; 0 Answer"},
		{
			"and of the others",
			nodes{node(func(n *Node) { n.Assigned, n.ArgumentsTaken = true, Unknown }), steady},
			newArguments, "0:Ask 1:Ask; 1 Answer",
		},
		{"only the parent knows whether an image is in effect", nodes{node(func(n *Node) {
			n.Asked, n.ImageTaken, n.Serves = newImage.Asked, Unknown, Unknown
		})}, newImage, "0:Ask; 0 Answer"},
		{"a silent parent is waited for", nodes{silent}, newArguments, "; 0 Answer (0 does not answer: timeout)"},
		{"a new template needs no parent", nodes{silent, silent}, newTemplate, "1:Replace template; 0 Budget"},
		{
			"arguments of the first start are sure",
			nodes{node(func(n *Node) { n.Asked, n.ArgumentsTaken = newArguments.Asked, Unknown })},
			newArguments, "template",
		},
		{
			"an entry is not sure until it is in use",
			nodes{node(func(n *Node) { n.Asked, n.Assigned, n.ArgumentsTaken = newArguments.Asked, true, Unknown })},
			newArguments, "0:Ask; 0 Answer",
		},

		{
			"an order that nobody was asked about",
			nodes{node(func(n *Node) { n.Asked.Arguments, n.Assigned, n.ArgumentsTaken = "a2", true, Unknown }), steady},
			newTemplate, "0:Ask 1:Ask template; 1 Answer",
		},
		{
			"ready for the kubelet, but not for the parent",
			nodes{steady, node(func(n *Node) { n.Asked, n.Assigned, n.Serves = newArguments.Asked, true, No })},
			newArguments, "; 1 InEffect",
		},
		{
			"the parent runs other arguments than those of its first start",
			nodes{node(func(n *Node) { n.ArgumentsTaken = No })},
			target(func(*Target) {}), "0:Assign",
		},
		{
			"memory that still shrinks holds no more arguments",
			nodes{node(func(n *Node) { n.Asked.Resources, n.AskedLimit, n.ResourcesTaken, n.Use = "100", 100, No, 50 })},
			target(func(t *Target) { t.Resources, t.Limit, t.Arguments, t.Use = "150", 150, "a3", 140 }), "0:Resize",
		},

		// Copies.
		{"a node whose peers lack items stays", nodes{node(func(n *Node) { n.PeersWhole = No })}, newTemplate, "template; 0 Peers"},
		{"peers that nobody asked are unknown", nodes{node(func(n *Node) { n.PeersWhole = Unknown })}, newTemplate, "0:Ask template; 0 Answer"},
		{
			"an unfilled node needs no peers",
			nodes{node(func(n *Node) { n.Serves, n.PeersWhole, n.Ready = No, No, false })},
			newTemplate, "0:Replace template",
		},

		// Refusals.
		{
			"a pull that fails goes back",
			nodes{node(func(n *Node) {
				n.Asked, n.ImageTaken, n.Failed, n.Ready, n.Stopped = newImage.Asked, No, unpullable, false, true
			}), steady},
			newImage, "0:GoBack; 1 Budget",
		},
		{
			"and is not tried before its time",
			nodes{node(func(n *Node) { n.Refused = refusal(SetImage, "i2", false) }), steady},
			newImage, "; 1 Elsewhere (refused)",
		},
		{"then on the same node", nodes{retrying, steady}, newImage, "0:SetImage; 1 Elsewhere (refused)"},
		{"two of them do not wait for each other", nodes{retrying, retrying}, newImage, "1:SetImage; 0 Budget"},
		{
			"another image forgets it",
			nodes{node(func(n *Node) { n.Refused = refusal(SetImage, "i9", false) }), steady},
			newImage, "1:SetImage 0:GoBack",
		},
		{
			"so does success",
			nodes{node(func(n *Node) { n.Asked, n.Refused = newImage.Asked, refusal(SetImage, "i2", true) })},
			newImage, "0:GoBack template",
		},
		{
			"another image at once, without going back",
			nodes{node(func(n *Node) {
				n.Asked.Image, n.ImageTaken, n.Failed, n.Ready, n.Stopped = "i9", No, unpullable, false, true
			})},
			newImage, "0:SetImage",
		},
		{
			"arguments that memcached refuses",
			nodes{node(func(n *Node) {
				n.Asked, n.Assigned, n.ArgumentsTaken, n.Failed = newArguments.Asked, true, No, Failure{Action: Assign}
			})},
			newArguments, "0:GoBack",
		},
		{
			"resources that the node has not",
			nodes{node(func(n *Node) { n.Asked.Resources, n.ResourcesTaken, n.Failed = "400", No, Failure{Action: Resize} })},
			moreMemory, "0:GoBack",
		},
		{
			"resources that no pod can take on",
			nodes{node(func(n *Node) { n.Refused = Refusal{Failure: Failure{Action: Resize}, Value: "400", Forever: true} })},
			moreMemory, "0:Replace template",
		},

		{
			"nothing else is tried meanwhile",
			nodes{node(func(n *Node) { n.Refused = refusal(Resize, "400", false) })},
			target(func(t *Target) { t.Image, t.Resources, t.Limit = "i2", "400", 400 }), "; 0 Refused (refused)",
		},
		{
			"a new pod has nothing to go back to",
			nodes{node(func(n *Node) {
				n.Started, n.Ready, n.Stopped, n.Failed, n.Asked.Image = false, false, true, unpullable, "i2"
			})},
			newImage, "template; 0 InEffect",
		},

		// The template during a change in place.
		{
			"stays until a node runs the target",
			nodes{steady, node(func(n *Node) { n.Asked.Image, n.ImageTaken = "i2", No })},
			newImage, "; 1 InEffect",
		},
		{"follows the first node", nodes{steady, node(func(n *Node) { n.Asked.Image = "i2" })}, newImage, "0:SetImage template"},
		{
			"stays while the only node restarts",
			nodes{node(func(n *Node) { n.Asked.Image, n.ImageTaken, n.Ready, n.Stopped = "i2", No, false, true })},
			newImage, "; 0 InEffect",
		},
		{"does not wait if no node runs", nodes{absent, absent}, newImage, "template; 1 StatefulSet"},
		{
			"does not wait if no pod can be made",
			nodes{steady, {Served: true, Failed: Failure{Action: Replace}}},
			newImage, "template; 1 StatefulSet",
		},
		// A pod with a bad image is evicted in the middle of a change of memory: it comes back as its neighbours are, since no node runs
		// the target, and the record of its refusal is gone with it.
		{
			"an evicted node with a bad image",
			nodes{steady, absent},
			target(func(t *Target) { t.Image, t.Resources, t.Limit = "bad", "400", 400 }), "; 1 StatefulSet",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, ok := special[c.name]
			if !ok {
				rules = Rules{Budget: 1, TemplateReady: true}
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
		if p.Words != "" && p.Waits != WaitInEffect && p.Waits != WaitMemory {
			text += " (" + p.Words + ")"
		}
	}
	return text
}

func TestMessage(t *testing.T) {
	const refused = "no such image"
	for want, p := range map[string]Plan{
		"":                                     {},
		"is replaced":                          {Steps: []Step{{"cache-0", Ask}, {"cache-0", Replace}}, Waits: WaitBudget},
		"gets other resources in place":        {Steps: []Step{{"cache-0", Resize}}},
		"gets other arguments":                 {Steps: []Step{{"cache-0", Assign}}},
		"restarts with another image in place": {Steps: []Step{{"cache-0", SetImage}}},
		"goes back to what it had before":      {Steps: []Step{{"cache-0", GoBack}}},
		"is deleted, because its cluster node is lost":                                                                 {Steps: []Step{{"cache-0", ForceDelete}}},
		"waits until the other nodes are ready":                                                                        {Waits: WaitBudget},
		"waits for an answer on port 9151, which the operator must be able to reach":                                   {Waits: WaitAnswer, Steps: []Step{{"cache-0", Ask}}},
		"waits for an answer on port 9151, which the operator must be able to reach: cache-1 does not answer: timeout": {Waits: WaitAnswer, Words: "cache-1 does not answer: timeout"},
		"waits until its pod is ready: its cluster node has lost contact, or a readiness gate of others is not passed": {Waits: WaitCutOff},
		"is replaced, since a living pod cannot change so: the QoS class":                                              {Steps: []Step{{"cache-0", Replace}}, Refused: Refusal{Failure: Failure{Words: "the QoS class"}, Forever: true}},
		"is waiting until another copy has all its items":                                                              {Waits: WaitPeers},
		"is waiting until the node twin-0 of its twin has all items":                                                   {Waits: WaitPeers, Words: "waiting until the node twin-0 of its twin has all items"},
		"waits until the StatefulSet's controller has seen the new template":                                           {Waits: WaitTemplate},
		"waits until spec.replacedAt replaces the pods: memcached may use 2.0 MiB, and the memory limit is 1.0 MiB":    {Waits: WaitMemory, Words: "memcached may use 2.0 MiB, and the memory limit is 1.0 MiB"},
		"has refused the change: no such image":                                                                        {Waits: WaitRefused, Words: refused},
		"waits, because another node has refused the change: no such image":                                            {Waits: WaitElsewhere, Words: refused},
		"is not ready yet: pulling":                                                                                    {Waits: WaitInEffect, Words: "pulling"},
		"waits for its new pod":                                                                                        {Waits: WaitStatefulSet},
	} {
		p.Done, p.Pending, p.Waiting = 1, 2, "cache-0"
		if want != "" {
			want = "; cache-0 " + want
		}
		if got := p.Message(); got != "1 of 3 nodes are updated"+want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
