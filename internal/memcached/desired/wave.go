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

// wave moves the entries of nodes to the list that the spec asks for: from the last node on, and as many at a time as a rollout may
// replace. Each step follows from what is observed alone. See ADR-0016.
type wave struct {
	memcached.Wave

	v    memcached.View
	want string
	// entries are which list each node runs, and def is which one a node without an entry starts with.
	entries map[int]string
	def     string
	nodes   []waveNode
}

// waveNode is a node that the arguments of the present template are for.
type waveNode struct {
	pod     *corev1.Pod
	ordinal int
	// entry is the hash of its list, empty if it has none.
	entry    string
	answer   memcached.Answer
	answered bool
}

func newWave(v memcached.View, want wanted, live memcached.Arguments) *wave {
	hash := want.list.Hash()
	w := &wave{v: v, want: hash, entries: map[int]string{}, def: hash}
	for ordinal := range int(v.Memcached.Spec.Size) {
		w.entries[ordinal] = hash // a node that does not exist yet starts with it
	}
	section := live.Sections[want.section]
	w.find(want.section, section)
	if !w.Open {
		return w
	}
	if _, known := live.Lists[section.Default]; known {
		w.def = section.Default // until all nodes have shown that the other one can be used
		w.Effect = effectOf(live.Lists[w.def], want.list)
	}
	for _, node := range w.nodes {
		w.keep(node, live)
		if former, known := live.Lists[w.entries[node.ordinal]]; known {
			w.Effect = max(w.Effect, effectOf(former, want.list)) // some have moved, and are to move back or on
		}
	}
	return w
}

// effectOf is what becomes of a node that gets another list.
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

// find finds the nodes of a template, and out whether all of them are known to run with the list. At rest, another entry is lost: it was
// somebody else who has changed it.
func (w *wave) find(template string, section protocol.Section) {
	last := w.v.Last.Applied
	atRest := last != nil && last.ArgumentsHash == w.want
	for _, pod := range w.v.Workload.Nodes(w.v.Pods) {
		ordinal, ok := memcached.Ordinal(pod)
		if !ok || pod.Annotations[memcached.TemplateAnnotation] != template || w.entries[ordinal] == "" {
			continue // it is about to be replaced, or to leave
		}
		node := waveNode{pod: pod, ordinal: ordinal, entry: section.Nodes[ordinal]}
		node.answer, node.answered = w.v.Answers[pod.UID]
		if atRest && node.entry != w.want {
			node.entry = ""
		}
		w.Open = w.Open || !atRest || node.entry == ""
		w.nodes = append(w.nodes, node)
	}
}

// keep gives a node the entry that it has. If that was lost, it is what the node runs, or none, which means the same.
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

// decide takes the next step.
func (w *wave) decide() {
	if !w.Open || w.v.Memcached.Spec.Paused {
		return
	}
	free, next := w.look()
	for _, node := range next[:min(max(free, 0), len(next))] {
		if w.replacing() {
			break
		}
		w.begin(node)
	}
	if int(w.Done) == len(w.nodes) {
		w.Open, w.def = false, w.want
	}
}

// look returns how many nodes may begin, and which ones are to, in order. The others run with the list, or are away, and then get it at
// once.
func (w *wave) look() (free int, next []waveNode) {
	free = w.atOnce() + len(w.nodes) - int(w.v.Memcached.Spec.Size) // without those that are missing
	for _, node := range slices.Backward(w.nodes) {
		switch {
		case w.runs(node):
			w.Done++
			if w.settled(node) {
				w.Running = append(w.Running, node.pod.UID)
			} else {
				free--
			}
		case w.busy(node):
			free--
			if !memcached.PodReady(node.pod) || w.changing(node) {
				w.entries[node.ordinal] = w.want
			}
			w.ask(node)
		default:
			next = append(next, node)
		}
	}
	return free, next
}

// begin moves the entry of a node that serves.
func (w *wave) begin(node waveNode) {
	switch {
	case !node.answered:
		w.ask(node)
	case node.answer.Failure != "":
		w.block(node)
	case w.Blocked == "":
		w.entries[node.ordinal] = w.want
	}
}

// runs reports whether a node runs with the list.
func (w *wave) runs(node waveNode) bool {
	return w.entries[node.ordinal] == w.want && node.answer.Hash == w.want && node.answer.Restarting == "" && memcached.PodReady(node.pod)
}

// settled reports whether it has done so for minReadySeconds.
func (w *wave) settled(node waveNode) bool {
	return node.answer.SecondsInEffect >= int64(w.v.Memcached.Spec.UpdateStrategy.MinReadySeconds)
}

// busy reports whether a node does not serve, or may not for a moment: its entry has moved, and nothing is known of it since.
func (w *wave) busy(node waveNode) bool {
	entry := w.entries[node.ordinal]
	return !memcached.PodReady(node.pod) || w.changing(node) || entry == w.want || entry != w.def && !node.answered
}

// changing reports whether a node has been given another list than it runs with.
func (w *wave) changing(node waveNode) bool {
	entry := w.entries[node.ordinal]
	return node.answered && node.answer.Failure == "" &&
		(node.answer.Restarting != "" || entry != "" && node.answer.Hash != entry)
}

// ask asks a node that has not been asked, and else tells why it does not answer.
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

// replacing reports whether nodes are being replaced: they take the list with them.
func (w *wave) replacing() bool {
	return w.v.Former != nil || w.v.Workload.RollingOut() || w.v.Workload.Outdated(w.v.Workload.Nodes(w.v.Pods)) > 0
}

// atOnce is how many nodes may be away at the same time.
func (w *wave) atOnce() int {
	_, unavailable := updateLimits(w.v.Memcached)
	count, err := intstr.GetScaledValueFromIntOrPercent(&unavailable, int(w.v.Memcached.Spec.Size), false)
	if err != nil {
		return 1
	}
	return max(count, 1)
}

// refusal is that a node keeps its former list, nil if none does.
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
