// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// rolloutState is the progress of a change of the nodes.
type rolloutState struct {
	// reason and message are those of the condition Progressing. reason is empty if no change is in progress.
	reason, message string
	// deadlineMessage says that the change has exceeded the progress deadline, or is empty.
	deadlineMessage string
	// templateUnobserved reports that the workload's controller may not have observed the pod template. Its count of updated nodes
	// may then be about an earlier template.
	templateUnobserved bool
}

// templateObserved reports whether the workload's controller has observed the current pod template. If so, the controller's count of
// updated nodes is about that template. A controller that has not observed the current generation may still have observed the template,
// because perhaps only the size has changed. before is the workload before this reconcile wrote it, nil if there was none. The rules:
//   - If the write changed the template or replaced the object, the controller has not observed the template.
//   - Otherwise, it has observed the template if it had observed the generation before the write.
//   - Otherwise, it has observed the template only if the last status is about the same spec, and counts updated nodes or is Ready.
func templateObserved(before *memcached.Workload, v memcached.View) bool {
	present := v.Workload
	if present == nil || !present.Unobserved() {
		return true
	}
	if before != nil {
		if before.GetUID() != present.GetUID() || !equality.Semantic.DeepEqual(before.Template, present.Template) {
			return false
		}
		if !before.Unobserved() {
			return true
		}
	}
	counted := v.Last.Updated > 0 || v.Last.IsTrue(cachev1alpha1.ConditionReady)
	return counted && v.Last.Generation == v.Memcached.Generation
}

// rolloutAfter returns the progress of a first start, of scaling or of a rollout. before is the workload before the write.
func (f facts) rolloutAfter(before *memcached.Workload) rolloutState {
	var state rolloutState
	if f.Workload != nil && memcached.IsStatefulSet(f.Memcached) {
		state = f.rolloutOfStatefulSet()
	} else {
		state = rolloutOfDeployment(f.Workload, f.size, templateObserved(before, f.View))
	}
	if _, doing := f.cost(); doing != "" && state.reason == cachev1alpha1.ReasonRollingOut {
		state.message = doing + ": " + state.message
	}
	return state
}

// unfinished reports whether nodes that do not serve are part of a first start or of a rollout, and not just away. The reason in the last
// status shows that. After a change was stuck, it was the first start if the StatefulSet has never changed.
func (f facts) unfinished() (starts, rolls bool) {
	last := f.LastReason(cachev1alpha1.ConditionProgressing)
	stuck := last == cachev1alpha1.ReasonStuck && f.Problem == nil
	switch {
	case f.plan.Rollout.Pending == 0:
		return false, false
	case last == "", last == cachev1alpha1.ReasonCreating, stuck && f.Workload.GetGeneration() == 1:
		return true, false
	default:
		return false, stuck || last == cachev1alpha1.ReasonRollingOut
	}
}

func (f facts) rolloutOfStatefulSet() rolloutState {
	w, plan := f.Workload, f.plan.Rollout
	starts, rolls := f.unfinished()
	var state rolloutState
	switch {
	case w.ObservedGeneration == 0:
		state.reason, state.message = cachev1alpha1.ReasonCreating, "Starting "+countNodes(f.size)
	case (plan.Outdated > 0 || rolls) && !f.Memcached.Spec.Paused:
		state.reason, state.message = cachev1alpha1.ReasonRollingOut, plan.Message()
	case starts:
		state.reason, state.message = cachev1alpha1.ReasonCreating, fmt.Sprintf("%d of %d nodes are started", plan.Done, f.size)
	case w.Replicas != f.size:
		state.reason, state.message = cachev1alpha1.ReasonScaling, fmt.Sprintf("Scaling from %d to %d nodes", w.Replicas, f.size)
	default:
		return state
	}
	state.deadlineMessage = overdue(f.View, plan)
	return state
}

// cost says what a change does to the nodes and their items: will is for a change that is held back, doing for one in progress.
func (f facts) cost() (will, doing string) {
	switch f.plan.Effect {
	case memcached.ReplacesPod:
		return "the nodes will be replaced, " + f.itemsLeft(), "Replacing nodes, " + f.itemsLeft()
	case memcached.LosesItems:
		return "the nodes will restart in place, " + f.itemsLeft(), "Restarting in place, " + f.itemsLeft()
	case memcached.KeepsItemsOfVersion:
		return "the nodes will restart in place; items are kept only with the same version of memcached",
			"Restarting in place; items are kept only with the same version of memcached"
	case memcached.KeepsItems:
		return "the nodes will restart in place and keep their items", "Restarting in place, with their items"
	case memcached.GrowsInPlace:
		return "the nodes will get more memory in place and keep their items", "Giving nodes more memory in place, with their items"
	case memcached.KeepsPod:
		return "the pods will stay, and change in place", "Updating in place, no pod is replaced"
	default:
		return "", ""
	}
}

// itemsLeft says what becomes of the items of nodes that start empty.
func (f facts) itemsLeft() string {
	source := f.Source()
	if source != nil && source.DeletionTimestamp == nil && source.Spec.Size >= f.size && f.plan.Twins.Problem == nil {
		return "while their copies keep the items"
	}
	return "without their items"
}

func rolloutOfDeployment(w *memcached.Workload, size int32, templateObserved bool) rolloutState {
	if w == nil || w.ObservedGeneration == 0 {
		return rolloutState{reason: cachev1alpha1.ReasonCreating, message: "Starting " + countNodes(size)}
	}
	state := rolloutState{templateUnobserved: !templateObserved}
	// w.Complete can also be true when a rollout has just begun. Then some nodes are outdated.
	settled := !templateObserved || w.Complete && w.Replicas == w.Updated
	switch {
	case settled && w.Replicas != size:
		state.reason, state.message = cachev1alpha1.ReasonScaling, fmt.Sprintf("Scaling from %d to %d nodes", w.Replicas, size)
	case !templateObserved:
		state.reason, state.message = cachev1alpha1.ReasonRollingOut, fmt.Sprintf("0 of %d nodes are updated", size)
	case settled:
	case w.First && !w.Complete:
		state.reason, state.message = cachev1alpha1.ReasonCreating, fmt.Sprintf("%d of %d nodes are started", w.Ready, size)
		state.deadlineMessage = w.Overdue
	default:
		state.reason, state.message = cachev1alpha1.ReasonRollingOut, fmt.Sprintf("%d of %d nodes are updated", w.Updated, size)
		state.deadlineMessage = w.Overdue
	}
	return state
}
