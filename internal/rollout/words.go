// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import "fmt"

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
		if words := actionWords[step.Action]; words != "" {
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
	WaitCutOff:      "waits for its cluster node, which has lost contact",
	WaitPeers:       "is waiting until another copy has all its items",
	WaitTemplate:    "waits until the StatefulSet's controller has seen the new template",
	WaitMemory:      "waits until spec.replacedAt replaces the pods",
	WaitRefused:     "has refused the change",
	WaitElsewhere:   "waits, because another node has refused the change",
	WaitInEffect:    "is not ready yet",
	WaitStatefulSet: "waits for its new pod",
}
