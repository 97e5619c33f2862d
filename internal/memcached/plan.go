// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Plan is the desired state of a Memcached, as desired.For decides it in a reconcile.
type Plan struct {
	// Objects are all objects that must exist. All other children are deleted.
	Objects []client.Object
	// Problem is why the spec cannot be carried out, or nil. With a problem, no workload is created, and only the size of existing
	// workloads is written, so that running pods stay as they are. All other objects are written as usual.
	Problem *Problem
	// Wave is the progress of a change of memcached's arguments in running pods.
	Wave Wave
	// Twins says what a rollout or wave waits for because of twins, and which nodes may lack items.
	Twins Twins
	// InPlace is the progress of a change of images and resources in existing pods.
	InPlace InPlace
	// LostPods are the pods to delete by force: see View.LostPods.
	LostPods []*corev1.Pod
	// NextLostPod is the time until another pod counts as lost, or 0 if none will.
	NextLostPod time.Duration
	// Record says what the workload is rendered from. For a StatefulSet, it becomes status.lastApplied once it has been written. While the
	// workload has another template hash than Record, the pods run an earlier spec.
	Record cachev1alpha1.MemcachedRecord
	// StaleDefaults describes the newer defaults that the pods do not have yet. The next rollout adopts them.
	StaleDefaults string
	// MaxUnavailable is how many nodes may be missing during a rollout: a number, or a percentage of the size.
	MaxUnavailable intstr.IntOrString
}

// Workload returns the workload that the spec asks for, or nil.
func (p Plan) Workload() client.Object {
	for _, object := range p.Objects {
		if PodTemplate(object) != nil {
			return object
		}
	}
	return nil
}

// Wave is a change of memcached's arguments in the running pods of a StatefulSet, step by step. A node that is created meanwhile starts
// with the new arguments. If memcached cannot run with them, the node starts with the old ones.
type Wave struct {
	// Arguments is the ConfigMap with the arguments, or nil. It is one of the Objects, and is written before the workload.
	Arguments *corev1.ConfigMap
	// Open reports that some nodes may still run with other arguments.
	Open bool
	// Effect is the greatest effect of the change on a node that does not run with the new arguments yet.
	Effect Effect
	// Done is the number of nodes that run with the new arguments.
	Done int32
	// Running are the UIDs of pods that have run with the new arguments for minReadySeconds. Their launchers need not be asked
	// again.
	Running []types.UID
	// Ask are the pods whose launchers must be asked before the next step can be decided.
	Ask []*corev1.Pod
	// Moving is the number of nodes to which the new arguments were assigned, but which have not run with them for minReadySeconds
	// yet.
	Moving int
	// Wake are patches of pods that make the kubelet deliver the ConfigMap at once.
	Wake []PodPatch
	// Blocked names the node that delays the next step, and the cause. It is set only if a person may have to act.
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

// And combines two problems, each of which may be nil. If neither is nil, the result has the reason of p.
func (p *Problem) And(other *Problem) *Problem {
	if p == nil || other == nil {
		return cmp.Or(p, other)
	}
	return &Problem{Reason: p.Reason, Message: p.Message + "; " + other.Message}
}
