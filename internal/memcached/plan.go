// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/rollout"
)

// Plan is the desired state of a Memcached, as desired.For decides it in a reconcile.
type Plan struct {
	// Objects are all objects that must exist. All other children are deleted.
	Objects []client.Object
	// Problem is why the spec cannot be carried out, or nil. With a problem, no workload is created, and only the size of existing
	// workloads is written, so that running pods stay as they are. All other objects are written as usual.
	Problem *Problem
	// Rollout is what the nodes of a StatefulSet do next, and Target is what the spec asks of them. Each is empty with a Deployment.
	Rollout rollout.Plan
	Target  rollout.Target
	// Steps are the changes of pods to make now, after the Objects. Arguments reports that the ConfigMap of arguments among the Objects also
	// has a step.
	Steps     []PodStep
	Arguments bool
	// Ask are the pods whose parents must be asked before the next step can be decided.
	Ask []*corev1.Pod
	// Routes are the routes of the proxies, nil if there are none or they are unknown. Announcing reports that the existing ConfigMap has
	// other ones.
	Routes     *protocol.Routes
	Announcing bool
	// Effect is the greatest effect of the change on a node that is not what the spec asks for.
	Effect Effect
	// ResizeRestarts reports that memcached restarts to get other resources.
	ResizeRestarts bool
	// Refused is what nodes have refused, or nil. All objects are written nevertheless, unlike with Problem.
	Refused *Problem
	// Fills says which nodes may lack items.
	Fills Fills
	// NextStep is the time until a pod may count as lost, be available or try again, 0 if no such time is known.
	NextStep time.Duration
	// Absent is since when pods are missing, by their names.
	Absent map[string]time.Time
	// Older is how many pods run an older helper, rendering or default, which the next pods get.
	Older int
	// Record says what a Deployment is rendered from. While the Deployment has another record, its pods run an earlier spec.
	Record Record
	// StaleDefaults describes the newer defaults of a Deployment that its pods do not have yet. The next rollout adopts them.
	StaleDefaults string
	// MaxUnavailable is how many nodes may be missing during a rollout: a number, or a percentage of the size.
	MaxUnavailable intstr.IntOrString
}

// Workload returns the workload of the first copy that the spec asks for, or nil.
func (p Plan) Workload() client.Object {
	for _, object := range p.Objects {
		if PodTemplate(object) != nil {
			return object
		}
	}
	return nil
}

// Effect is what a change does to a node. A greater effect costs more.
type Effect int

// Effects on a node.
const (
	// NoEffect means that the node stays as it is.
	NoEffect Effect = iota
	// GrowsInPlace means that memcached gets more memory while it runs.
	GrowsInPlace
	// KeepsPod means that the pod changes while memcached runs.
	KeepsPod
	// KeepsItems means that memcached restarts in its pod and keeps its items.
	KeepsItems
	// KeepsItemsOfVersion means that memcached restarts with another image, and keeps its items only with the same version.
	KeepsItemsOfVersion
	// LosesItems means that memcached restarts in its pod without its items.
	LosesItems
	// ReplacesPod means that a new pod starts without items.
	ReplacesPod
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

// Written is the result of writing a Plan.
type Written struct {
	// Objects are the desired objects as they exist after the write. An object that could not be written may be missing. The View has
	// the objects from before the write.
	Objects []client.Object
	// Problem combines the problem of the Plan with the reasons why objects could not be written. It is nil if there are none.
	Problem *Problem
	// Waiting says which deletion must end before an object can be created: the deletion of an older object with the same name, or the
	// deletion of the namespace. It is empty if no creation waits.
	Waiting string
	// Pending are the Kinds of objects that spec.paused keeps from being written or deleted.
	Pending []string
	// TemplatePending reports that the workload lacks the desired pod template, because the write was held back or refused. The template
	// hash on the workload does not always show this: if somebody else changes the template, the hash stays the same.
	TemplatePending bool

	// Created reports that an object was created. Changed reports that one was created, changed or deleted.
	Created, Changed bool
	// Kept is why the API server does not let a pod be evicted now, or empty.
	Kept string
	// Err is the error to return from the reconcile, or nil. A terminal error is not retried, because the same spec would fail again.
	Err error
	// Transient reports that the API server could not decide about some objects, or that they have changed since they were read. A
	// retry may succeed soon.
	Transient bool
	// RetryAfter is how long to wait before the next reconcile if no event comes first. With 0, only an event causes one.
	RetryAfter time.Duration
}

// HeldBack reports whether the write may have left out some of the desired objects.
func (w Written) HeldBack(v View) bool {
	return w.Problem != nil || w.Waiting != "" || v.Memcached.Spec.Paused || v.Memcached.DeletionTimestamp != nil
}

// Over returns the children as they exist after the write: the written objects take the place of those with the same names.
func (w Written) Over(children []client.Object) []client.Object {
	children = slices.Clone(children)
	for _, object := range w.Objects {
		same := func(child client.Object) bool {
			return reflect.TypeOf(child) == reflect.TypeOf(object) && child.GetName() == object.GetName()
		}
		if i := slices.IndexFunc(children, same); i >= 0 {
			children[i] = object
		} else {
			children = append(children, object)
		}
	}
	return children
}

// Sooner returns the shorter of two waiting times, where 0 means never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
