// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// wave gives running nodes the argument list that the spec asks for, from the last node to the first. It gives the list to as many
// nodes at a time as a rollout may replace. Each step depends only on the observed state: see ADR-0016.
type wave struct {
	memcached.Wave

	v       memcached.View
	guard   *twinGuard
	inPlace *inPlace
	// want is the hash of the new argument list.
	want string
	// entries maps a node's number to the hash of its assigned list. def is the hash of the list with which a node without an entry
	// starts for the first time.
	entries map[int]string
	def     string
	nodes   []waveNode
}

// waveNode is a node that can get the new list in its existing pod.
type waveNode struct {
	pod     *corev1.Pod
	ordinal int
	// section is the key of the section that the node's launcher reads: the hash of a pod template. After a change in place, it is the hash
	// of an earlier template.
	section string
	// entry is the hash of the list that the ConfigMap assigns to the node, or empty.
	entry string
	// answered reports that the launcher was asked. answer.Failure says whether it really answered.
	answer   memcached.Answer
	answered bool
}

// known reports whether the node has said which list it runs.
func (n *waveNode) known() bool { return n.answered && n.answer.Failure == "" }

func newWave(v memcached.View, want wanted, live memcached.Arguments, guard *twinGuard) *wave {
	hash := want.list.Hash()
	w := &wave{v: v, guard: guard, inPlace: want.inPlace, want: hash, entries: map[int]string{}, def: hash}
	for ordinal := range int(v.Memcached.Spec.Size) {
		w.entries[ordinal] = hash // for nodes that do not exist yet
	}
	section, found := live.Sections[want.section]
	if !found && want.inPlace.Open { // a pod that is created now has the old template
		section = live.Sections[v.Workload.Template.Annotations[memcached.TemplateAnnotation]]
	}
	w.find(want.section, live)
	if !w.Open {
		return w
	}
	if _, known := live.Lists[section.Default]; known {
		w.def = section.Default // until all nodes run the new list, a node that has lost its entry starts with the former one
		w.Effect = effectOf(live.Lists[w.def], want.list)
	}
	for _, node := range w.nodes {
		w.keep(node, live)
		if former, known := live.Lists[w.entries[node.ordinal]]; known {
			w.Effect = max(w.Effect, effectOf(former, want.list)) // an earlier change may be unfinished
		}
	}
	return w
}

// effectOf returns what a change from one argument list to another does to a node.
func effectOf(former, next protocol.List) memcached.Effect {
	switch {
	case former.Hash() == next.Hash():
		return memcached.NoEffect
	case former.Grows(next):
		return memcached.GrowsInPlace
	case former.Keeps(next):
		return memcached.KeepsItems
	default:
		return memcached.LosesItems
	}
}

// find collects the nodes that can get the new list. If the last record has another list or none, any such node opens the wave. Otherwise,
// only a node without an entry does. An entry with another list then comes from somebody else, so find treats it as lost.
func (w *wave) find(template string, live memcached.Arguments) {
	last := w.v.Last.Applied
	atRest := last != nil && last.ArgumentsHash == w.want
	for _, pod := range w.v.NumberedNodes() {
		ordinal, ok := memcached.Ordinal(pod)
		stays := w.inPlace.Open || pod.Annotations[memcached.TemplateAnnotation] == template
		if !ok || !stays || w.entries[ordinal] == "" {
			continue // the pod will be replaced or removed
		}
		section := memcached.SectionOf(pod)
		node := waveNode{pod: pod, ordinal: ordinal, section: section, entry: live.Sections[section].Nodes[ordinal]}
		node.answer, node.answered = w.v.Answers[pod.UID]
		if atRest && node.entry != w.want {
			node.entry = ""
		}
		w.Open = w.Open || !atRest || node.entry == ""
		w.nodes = append(w.nodes, node)
	}
}

// keep leaves the assigned list of a node as it is. If the entry was lost, the node's answer restores it. Without an answer, the node gets
// no entry, so that it keeps running its list.
func (w *wave) keep(node waveNode, live memcached.Arguments) {
	hash := node.entry
	if list, err := protocol.ParseList(node.answer.List); hash == "" && err == nil {
		hash = list.Hash()
		live.Lists[hash] = list
	}
	if hash == "" {
		delete(w.entries, node.ordinal)
		return
	}
	w.entries[node.ordinal] = hash
}

// decide assigns the new list to as many nodes as may restart now, and closes the wave once all nodes run with it.
func (w *wave) decide() {
	if !w.Open || w.v.Memcached.Spec.Paused {
		return
	}
	free, next := w.candidates()
	for _, node := range next[:min(max(free, 0), len(next))] {
		if w.replacing() || !w.guard.allows(node.ordinal) {
			break
		}
		w.begin(node)
	}
	if int(w.Done) == len(w.nodes) {
		w.Open, w.def = false, w.want
	}
	w.wake()
}

// wake adds a patch for each node to which the new list was assigned but which does not run with it yet. The patch makes the kubelet
// deliver the ConfigMap at once. wake adds patches only if the spec allows changes in place.
func (w *wave) wake() {
	if !w.Open || w.v.Memcached.Spec.UpdateStrategy.PodUpdatePolicy != cachev1alpha1.PodUpdateInPlaceOrRecreate {
		return
	}
	for _, node := range w.nodes {
		if w.entries[node.ordinal] == w.want && !w.runs(node) && node.pod.Annotations[memcached.WakeAnnotation] != w.want {
			w.Wake = append(w.Wake, memcached.PodPatch{
				Pod: node.pod, Annotations: map[string]string{memcached.WakeAnnotation: w.want},
			})
		}
	}
}

// candidates returns how many nodes may restart now, and the nodes that have yet to get the new list, in order. The other nodes
// already run with the new list or are busy. Some busy nodes get the new list at once, unless their pods need more memory first.
func (w *wave) candidates() (free int, next []waveNode) {
	free = maxAway(w.v) + len(w.nodes) - int(w.v.Memcached.Spec.Size) // missing nodes count as unavailable
	for _, node := range slices.Backward(w.nodes) {
		switch {
		case w.runs(node):
			w.Done++
			if w.settled(node) {
				w.Running = append(w.Running, node.pod.UID)
			} else {
				free--
				w.Moving++
			}
		case w.busy(node):
			free--
			if w.urgent(node) && !w.waits(node) {
				w.entries[node.ordinal] = w.want
			}
			if w.entries[node.ordinal] == w.want {
				w.Moving++
			}
			w.ask(node)
		default:
			next = append(next, node)
		}
	}
	return free, next
}

// begin assigns the new list to a serving node, provided that its launcher answers and nothing blocks the wave.
func (w *wave) begin(node waveNode) {
	switch {
	case w.waits(node):
	case !node.answered:
		w.ask(node)
	case node.answer.Failure != "":
		w.block(node)
	case w.Blocked == "":
		w.entries[node.ordinal] = w.want
	}
}

// runs reports whether a node runs with the new list, serves, and is not being filled.
func (w *wave) runs(node waveNode) bool {
	return w.entries[node.ordinal] == w.want && node.answer.Hash == w.want && node.answer.Restarting == "" && !node.answer.Fill.Open() &&
		memcached.PodReady(node.pod)
}

// settled reports whether a node has run with its list for minReadySeconds.
func (w *wave) settled(node waveNode) bool {
	return node.answer.SecondsInEffect >= int64(w.v.Memcached.Spec.UpdateStrategy.MinReadySeconds)
}

// busy reports whether a node is away, or may soon be: it is not ready, is restarting, or runs another list than the assigned one. A node
// to which the new list is assigned counts as busy, too. So does a node that has not said which list it runs, unless its entry is def.
func (w *wave) busy(node waveNode) bool {
	entry := w.entries[node.ordinal]
	return !memcached.PodReady(node.pod) || w.changing(node) || entry == w.want || entry != w.def && !node.known()
}

// urgent reports whether a busy node gets the new list at once, because this makes no further node unavailable: the node is restarting,
// runs another list than the assigned one, or is not ready (but not cut off). But an unready node that is known to run memcached may still
// serve its twins, so the guard must allow it to stop.
func (w *wave) urgent(node waveNode) bool {
	switch {
	case w.changing(node):
		return true
	case memcached.PodReady(node.pod), memcached.CutOff(node.pod):
		return false
	default:
		runs := node.known() && node.answer.Hash != ""
		return len(w.v.Copies()) == 0 || !runs || w.guard.allows(node.ordinal)
	}
}

// changing reports whether a node is restarting, or runs with another list than the assigned one.
func (w *wave) changing(node waveNode) bool {
	entry := w.entries[node.ordinal]
	return node.known() && (node.answer.Restarting != "" || entry != "" && node.answer.Hash != entry)
}

// ask requests the status of a node. A node that is ready but does not answer blocks the wave.
func (w *wave) ask(node waveNode) {
	switch {
	case node.answer.Failure != "" && memcached.PodReady(node.pod):
		w.block(node)
	case !node.answered && node.pod.Status.PodIP != "":
		w.Ask = append(w.Ask, node.pod)
	}
}

func (w *wave) block(node waveNode) {
	mc := w.v.Memcached
	w.Blocked = fmt.Sprintf("The operator cannot ask the node %s on port %d which configuration it runs (%s). Let the operator reach that "+
		"port, or replace the nodes: kubectl rollout restart statefulset/%s -n %s",
		node.pod.Name, memcached.LauncherPort, node.answer.Failure, mc.Name, mc.Namespace)
}

// waits reports whether a node needs more memory in its pod before it can run with the new list.
func (w *wave) waits(node waveNode) bool {
	return w.inPlace.Open && w.inPlace.grows(node.pod)
}

// replacing reports whether the wave must wait, because pods are being replaced or changed in place. If memory limits fall, the wave
// goes before the change in place: memcached must use less memory before the limit of its pod falls.
func (w *wave) replacing() bool {
	if w.inPlace.Open {
		return !w.inPlace.shrinks || !w.inPlace.stopsReplacements()
	}
	return w.v.Workload == nil || w.v.Workload.RollingOut() || w.v.Workload.Outdated(w.v.Workload.Nodes(w.v.Pods)) > 0
}

// maxAway returns how many nodes may be unavailable at the same time.
func maxAway(v memcached.View) int {
	if len(v.Copies()) > 0 {
		return 1
	}
	_, unavailable := updateLimits(v.Memcached)
	count, err := intstr.GetScaledValueFromIntOrPercent(&unavailable, int(v.Memcached.Spec.Size), false)
	if err != nil {
		return 1
	}
	return max(count, 1)
}

// refusal returns a problem if a node refuses the new list, or nil.
func (w *wave) refusal() *memcached.Problem {
	for _, node := range w.nodes {
		if refused := node.answer.Refused; w.Open && refused != nil && refused.Hash == w.want {
			return &memcached.Problem{Reason: cachev1alpha1.ReasonConfigurationRefused, Message: fmt.Sprintf(
				"the node %s has refused the configuration and keeps its former one: %s; change spec.config",
				node.pod.Name, strings.TrimSuffix(refused.Reason, "."))}
		}
	}
	return nil
}
