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

// rolloutOf returns the progress of a first start, of scaling or of a rollout. before is the workload before the write.
func rolloutOf(before *memcached.Workload, v memcached.View, plan memcached.Plan) rolloutState {
	if v.Workload != nil && v.Workload.Kind == cachev1alpha1.WorkloadStatefulSet {
		return rolloutOfStatefulSet(v, plan)
	}
	state := rolloutOfDeployment(v.Workload, v.Memcached.Spec.Size, templateObserved(before, v))
	if state.reason == cachev1alpha1.ReasonRollingOut {
		_, doing := costOf(v, plan, memcached.ReplacesPod)
		state.message = doing + ": " + state.message
	}
	return state
}

func rolloutOfStatefulSet(v memcached.View, plan memcached.Plan) rolloutState {
	w, size, last := v.Workload, v.Memcached.Spec.Size, v.LastReason(cachev1alpha1.ConditionProgressing)
	first := last == "" || last == cachev1alpha1.ReasonCreating || last == cachev1alpha1.ReasonStuck && plan.Rollout.Outdated == 0
	rolling := plan.Rollout.Outdated > 0 || plan.Rollout.Pending > 0 && last == cachev1alpha1.ReasonRollingOut
	switch ready := min(readyNodes(w.Nodes(v.Pods)), w.Ready); {
	case w.ObservedGeneration == 0:
		return rolloutState{reason: cachev1alpha1.ReasonCreating, message: "Starting " + countNodes(size)}
	case first && ready < w.Size:
		return rolloutState{reason: cachev1alpha1.ReasonCreating, message: fmt.Sprintf("%d of %d nodes are started", w.Ready, size)}
	case rolling && v.Memcached.Spec.Paused:
		return rolloutState{reason: cachev1alpha1.ReasonRollingOut}
	case rolling:
		_, doing := costOf(v, plan, plan.Effect)
		return rolloutState{reason: cachev1alpha1.ReasonRollingOut, message: doing + ": " + plan.Rollout.Message()}
	case w.Replicas != size:
		return rolloutState{reason: cachev1alpha1.ReasonScaling, message: fmt.Sprintf("Scaling from %d to %d nodes", w.Replicas, size)}
	default:
		return rolloutState{}
	}
}

// costOf says what a change does to the nodes and their items: will is for a change that is held back, doing for one in progress.
func costOf(v memcached.View, plan memcached.Plan, effect memcached.Effect) (will, doing string) {
	switch effect {
	case memcached.ReplacesPod:
		items := itemsLeft(v, plan)
		return "the nodes will be replaced, " + items, "Replacing nodes, " + items
	case memcached.LosesItems:
		items := itemsLeft(v, plan)
		return "the nodes will restart in place, " + items, "Restarting in place, " + items
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
		return "", "Updating nodes"
	}
}

// itemsLeft says what becomes of the items of nodes that start empty.
func itemsLeft(v memcached.View, plan memcached.Plan) string {
	source := v.Source()
	if source != nil && source.DeletionTimestamp == nil && source.Spec.Size >= v.Memcached.Spec.Size && plan.Twins.Problem == nil {
		return "while their copies keep the items"
	}
	return "without their items"
}

func rolloutOfDeployment(w *memcached.Workload, size int32, templateObserved bool) rolloutState {
	if w == nil || w.ObservedGeneration == 0 {
		return rolloutState{reason: cachev1alpha1.ReasonCreating, message: "Starting " + countNodes(size)}
	}
	// w.Complete can also be true when a rollout has just begun. Then some nodes are outdated.
	settled := !templateObserved || w.Complete && w.Replicas == w.Updated
	switch {
	case settled && w.Replicas != size:
		return rolloutState{
			reason:             cachev1alpha1.ReasonScaling,
			message:            fmt.Sprintf("Scaling from %d to %d nodes", w.Replicas, size),
			templateUnobserved: !templateObserved,
		}
	case !templateObserved:
		return rolloutState{
			reason: cachev1alpha1.ReasonRollingOut, message: fmt.Sprintf("0 of %d nodes are updated", size), templateUnobserved: true,
		}
	case settled:
		return rolloutState{}
	case w.First && !w.Complete:
		return rolloutState{
			reason:          cachev1alpha1.ReasonCreating,
			message:         fmt.Sprintf("%d of %d nodes are started", w.Ready, size),
			deadlineMessage: w.Overdue,
		}
	default:
		return rolloutState{
			reason:          cachev1alpha1.ReasonRollingOut,
			message:         fmt.Sprintf("%d of %d nodes are updated", w.Updated, size),
			deadlineMessage: w.Overdue,
		}
	}
}
