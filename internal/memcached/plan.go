// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Plan is the desired state of a Memcached. desired.For computes it once in each reconcile; its objects are written, and the status
// is compared with the rest.
type Plan struct {
	// Objects must exist. Other objects that exist are to be deleted.
	Objects []client.Object
	// Former is the object among Objects that nodes leave during a move, or nil. Only its metadata and its size matter.
	Former client.Object
	// Problem is why the spec cannot be carried out, or nil. With a problem, no pods of the new spec are made, and running ones
	// stay. All other objects are written.
	Problem *Problem
	// Wave is the progress of a change of arguments.
	Wave Wave
	// Twins is what the twins have an influence on.
	Twins Twins
	// InPlace is the progress of a change of images and resources in place.
	InPlace InPlace
	// LostPods are to be deleted without waiting for their cluster nodes.
	LostPods []*corev1.Pod
	// NextLostPod is how long it takes until another pod counts as lost, 0 for never.
	NextLostPod time.Duration
	// Record is what the status records once the workload has been written. A workload with another template hash runs pods of an
	// earlier spec.
	Record cachev1alpha1.MemcachedRecord
	// StaleDefaults lists, in words, defaults of the pods that are older than the operator's and that the next rollout replaces.
	StaleDefaults string
	// Changes lists how the spec differs from the last one that was carried out, if that is known.
	Changes []string
	// MaxSurge and MaxUnavailable are the limits of a rollout: numbers, or percentages of the size.
	MaxSurge, MaxUnavailable intstr.IntOrString
}

// Workload is the one of the objects that runs the nodes.
func (p Plan) Workload() client.Object {
	for _, object := range p.Objects {
		if PodTemplate(object) != nil && object != p.Former {
			return object
		}
	}
	return nil
}

// Wave is the progress of the nodes of a StatefulSet towards the arguments that the spec asks for. New nodes start with them; the others
// get them in their pods, step by step.
type Wave struct {
	// Arguments is the ConfigMap with the arguments, one of the objects; nil if there is none. It is written before the workload.
	Arguments *corev1.ConfigMap
	// Open reports that not all nodes are known to run with them.
	Open bool
	// Effect is what happens to the nodes that do not run with them yet.
	Effect Effect
	// Done is how many nodes run with them.
	Done int32
	// Running are the nodes that have run with them for minReadySeconds, so that they need not be asked again.
	Running []types.UID
	// Ask are the nodes whose answers the next step depends on.
	Ask []*corev1.Pod
	// Moving is how many nodes are to run with them, and are not known to do so yet.
	Moving int
	// Wake are changes of pods that make the kubelet bring the ConfigMap at once.
	Wake []PodPatch
	// Blocked names the node that the next step waits for, and the cause, if somebody may have to help.
	Blocked string
}

// Effect is what other arguments do to a node: the greater one costs more.
type Effect int

// Effects on a node.
const (
	// NoEffect means that the arguments are the same.
	NoEffect Effect = iota
	// GrowsInPlace means that memcached gets more memory while it runs.
	GrowsInPlace
	// KeepsItems means that memcached restarts in its pod and finds its items again.
	KeepsItems
	// LosesItems means that it restarts in its pod without them.
	LosesItems
)

// Problem is something that prevents the desired state.
type Problem struct {
	// Reason is a reason of the Degraded condition.
	Reason string
	// Message says in words what is wrong and, where it is known, what helps.
	Message string
}

// And adds another problem, nil for none. The first one gives the reason.
func (p *Problem) And(other *Problem) *Problem {
	if p == nil || other == nil {
		return cmp.Or(p, other)
	}
	return &Problem{Reason: p.Reason, Message: p.Message + "; " + other.Message}
}

// ChangesKind reports whether a change of a spec field affects objects of a Kind: the Kind named like the field, or else the
// workload.
func ChangesKind(change, kind string) bool {
	field, _, _ := strings.Cut(change, " ")
	field, _, _ = strings.Cut(field, ".")
	for _, child := range Children {
		if strings.EqualFold(child.Kind.Kind, field) {
			return child.Kind.Kind == kind
		}
	}
	return IsWorkload(kind)
}
