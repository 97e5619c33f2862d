// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
)

// Message says how far the rollout is, what happens now, and what the next node waits for.
func (p Plan) Message() string {
	parts := []string{fmt.Sprintf("%d of %d nodes are updated", p.Done, p.Done+p.Pending)}
	for _, step := range p.Steps {
		if words := actionWords[step.Action]; words != "" {
			parts = append(parts, step.Node+" "+words)
			break
		}
	}
	if words := waitWords[p.Waits]; words != "" && len(parts) == 1 {
		text := p.Waiting + " " + words
		if p.Words != "" {
			text += ": " + p.Words
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
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
	WaitAnswer:      "waits for an answer on its port 9151, which the operator must be able to reach",
	WaitCutOff:      "waits for its cluster node, which has lost contact",
	WaitPeers:       "waits until another copy has all its items",
	WaitTemplate:    "waits for the StatefulSet's controller",
	WaitMemory:      "waits for its memory limit, which does not hold what memcached may use",
	WaitRefused:     "cannot be updated",
	WaitElsewhere:   "waits, because another node cannot be updated",
	WaitInEffect:    "is not ready yet",
	WaitPaused:      "waits until the pause ends",
	WaitStatefulSet: "is being created",
}
