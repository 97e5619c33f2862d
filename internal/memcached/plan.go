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

// Plan is the desired state of a Memcached. desired.For computes it once in each reconcile.
type Plan struct {
	// Objects are all objects that must exist. Any other child is deleted.
	Objects []client.Object
	// Former is the old workload while spec.workload changes, or nil. It is one of the Objects; only its metadata and its size are
	// used.
	Former client.Object
	// Problem is why the spec cannot be carried out, or nil. With a problem, running pods stay and no pods of the new spec are
	// created. All other objects are written.
	Problem *Problem
	// Wave is the progress of a change of arguments.
	Wave Wave
	// Twins is the state of the twins.
	Twins Twins
	// InPlace is the progress of a change of images and resources in place.
	InPlace InPlace
	// LostPods are to be deleted without waiting for their cluster nodes.
	LostPods []*corev1.Pod
	// NextLostPod is how long it takes until another pod counts as lost, 0 for never.
	NextLostPod time.Duration
	// Record goes into the status after the workload is written. If the workload's template hash differs, its pods run an earlier spec.
	Record cachev1alpha1.MemcachedRecord
	// StaleDefaults describes the newer defaults that the pods do not have yet. The next rollout adopts them.
	StaleDefaults string
	// Changes lists the differences between the spec and the one last carried out, as far as known.
	Changes []string
	// MaxSurge and MaxUnavailable are the limits of a rollout: numbers, or percentages of the size.
	MaxSurge, MaxUnavailable intstr.IntOrString
}

// Workload returns the object that runs the nodes.
func (p Plan) Workload() client.Object {
	for _, object := range p.Objects {
		if PodTemplate(object) != nil && object != p.Former {
			return object
		}
	}
	return nil
}

// Wave is the change of a StatefulSet's nodes to new arguments. New nodes start with the new arguments. Existing nodes receive them
// in their pods, step by step.
type Wave struct {
	// Arguments is the ConfigMap with the arguments, or nil. It is one of the Objects, and is written before the workload.
	Arguments *corev1.ConfigMap
	// Open reports that some nodes may still run with other arguments.
	Open bool
	// Effect is what the change does to the nodes that still run with other arguments.
	Effect Effect
	// Done is the number of nodes that run with the new arguments.
	Done int32
	// Running are the nodes that have run with the new arguments for minReadySeconds. They need not be asked again.
	Running []types.UID
	// Ask are the nodes whose answers decide the next step.
	Ask []*corev1.Pod
	// Moving is the number of nodes that have the new arguments but have not run with them for minReadySeconds yet.
	Moving int
	// Wake are changes of pods that make the kubelet deliver the ConfigMap at once.
	Wake []PodPatch
	// Blocked names the node that delays the next step, and the cause, if a person may have to act.
	Blocked string
}

// Effect is what a change of arguments does to a node. A greater effect costs more.
type Effect int

// Effects on a node.
const (
	// NoEffect means that the arguments are the same.
	NoEffect Effect = iota
	// GrowsInPlace means that memcached gets more memory while it runs.
	GrowsInPlace
	// KeepsItems means that memcached restarts in its pod and keeps its items.
	KeepsItems
	// LosesItems means that memcached restarts in its pod without its items.
	LosesItems
)

// Problem is something that prevents the desired state.
type Problem struct {
	// Reason is a reason of the Degraded condition.
	Reason string
	// Message describes the problem and, if known, the remedy.
	Message string
}

// And adds another problem, which may be nil. The first problem determines the reason.
func (p *Problem) And(other *Problem) *Problem {
	if p == nil || other == nil {
		return cmp.Or(p, other)
	}
	return &Problem{Reason: p.Reason, Message: p.Message + "; " + other.Message}
}

// ChangesKind reports whether a change of a spec field affects objects of a Kind. A field that is named like a Kind affects that
// Kind; other fields affect the workload.
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
