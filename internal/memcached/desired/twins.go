// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// twinOf returns the Memcached in spec.fillFrom in the form that parents read, or nil if its nodes cannot be used as a source.
func twinOf(v memcached.View) *protocol.Twin {
	source := v.Source()
	if source == nil || unusable(source) != "" {
		return nil
	}
	return &protocol.Twin{Name: source.Name, Namespace: source.Namespace, Size: int(source.Spec.Size)}
}

// unusable returns why twin cannot fill the nodes of the Memcached whose spec.fillFrom names it, or "". The API server checks the same
// rules, but only for the Memcached that has spec.fillFrom.
func unusable(twin *cachev1alpha1.Memcached) string {
	spec := twin.Spec
	switch {
	case !memcached.IsStatefulSet(twin):
		return "must have spec.workload StatefulSet, whose nodes have numbers: create another Memcached"
	case keepsItems(twin):
		return "must have spec.storage.type Memory, since nodes that keep items keep what clients have overwritten elsewhere"
	case !ptr.Deref(spec.Config.Dump, false):
		return "must have spec.config.dump true, with which nodes tell each other their keys"
	case spec.Auth != nil:
		return "must not have spec.auth, since nodes do not log in to each other"
	case !memcached.HasPlaintext(twin):
		return "must have spec.tls.plaintext Enabled, since nodes use port 11211 of each other"
	default:
		return ""
	}
}

// twinsOf returns which nodes have the items of their twin's nodes.
func twinsOf(v memcached.View) memcached.Twins {
	var twins memcached.Twins
	name := memcached.FillsFrom(v.Memcached)
	if name == "" || v.Workload == nil { // a twin that was created at the same moment may not be in the cache yet
		return twins
	}
	source := v.Source()
	if source == nil {
		twins.Problem = twinUnusable(fmt.Sprintf("there is no Memcached %s in the namespace: create it, or correct the name", name))
		return twins
	}
	if words := unusable(source); words != "" {
		twins.Problem = twinUnusable(fmt.Sprintf("the Memcached %s %s", name, words))
		return twins
	}
	findFilled(v, &twins)
	return twins
}

func twinUnusable(words string) *memcached.Problem {
	return &memcached.Problem{
		Reason:  cachev1alpha1.ReasonInvalidReference,
		Message: "spec.fillFrom.name: " + words + ". Nodes that start meanwhile stay empty: restart them after the correction",
	}
}

// findFilled finds the nodes that have the items of their twin's nodes. It asks each ready node until the node has them.
func findFilled(v memcached.View, twins *memcached.Twins) {
	twins.Filled = map[types.UID]bool{}
	for _, node := range v.Workload.Nodes(v.Pods) {
		answer, answered := v.Answers[node.UID]
		switch fill := answer.Fill; {
		case !memcached.PodReady(node):
		case !answered && v.Filled[node.UID]:
			twins.Filled[node.UID] = true
		case !answered:
			twins.Asking = true
			if node.Status.PodIP != "" {
				twins.Ask = append(twins.Ask, node)
			}
		case answer.Failure != "" || fill.Open():
			twins.Asking = true
		case fill == nil || fill.State != protocol.FillFailed:
			twins.Filled[node.UID] = true
		default:
			twins.Asking = true
			twins.Problem = cmp.Or(twins.Problem, nodeUnfilled(node, fill))
		}
	}
}

func nodeUnfilled(node *corev1.Pod, fill *protocol.Fill) *memcached.Problem {
	return &memcached.Problem{Reason: cachev1alpha1.ReasonNodesUnfilled, Message: fmt.Sprintf(
		"the node %s serves without the items of its twin, and tries again to get them from %s: %s", node.Name, fill.From, fill.Reason)}
}
