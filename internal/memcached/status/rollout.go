// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

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

// rolloutOf returns the progress of a first start, scaling, a rollout, a wave or a change in place. before is the workload before
// the write.
func rolloutOf(before *memcached.Workload, v memcached.View, plan memcached.Plan) rolloutState {
	mc, w := v.Memcached, v.Workload
	nodes := w.Nodes(v.Pods)
	state := rolloutStateOf(w, nodes, mc.Spec.Size, templateObserved(before, v), starting(v, nodes))
	wave := plan.Wave
	_, doing := costOf(v, plan, state.reason == cachev1alpha1.ReasonRollingOut)
	if plan.InPlace.Open && !mc.Spec.Paused && state.reason != cachev1alpha1.ReasonCreating {
		state.reason = cachev1alpha1.ReasonUpdatingInPlace
		state.message = cmp.Or(plan.InPlace.Blocked, wave.Blocked,
			fmt.Sprintf("%s: %d of %d nodes are updated", doing, plan.InPlace.Done, mc.Spec.Size))
	} else if state.reason == cachev1alpha1.ReasonRollingOut {
		state.message = doing + ": " + state.message
	}
	if state.reason == "" && wave.Open && !mc.Spec.Paused {
		state.reason = cachev1alpha1.ReasonRollingOut
		state.message = cmp.Or(wave.Blocked,
			fmt.Sprintf("%s: %d of %d nodes run the new configuration", doing, wave.Done, mc.Spec.Size))
	}
	return state
}

// costOf says what a change does to the nodes and their items: will is for a change that is held back, doing for one in progress. replaced
// reports that the pods are replaced, unless they can change in place.
func costOf(v memcached.View, plan memcached.Plan, replaced bool) (will, doing string) {
	effect := plan.Wave.Effect
	switch {
	case plan.InPlace.Open:
		return costInPlace(v, plan)
	case replaced:
		items := itemsLeft(v, plan)
		return "the nodes will be replaced, " + items, "Replacing nodes, " + items
	case effect == memcached.LosesItems:
		items := itemsLeft(v, plan)
		return "the nodes will restart in place, " + items, "Restarting in place, " + items
	case effect == memcached.GrowsInPlace:
		return "the nodes will get more memory in place and keep their items", "Giving nodes more memory in place, with their items"
	case effect == memcached.KeepsItems:
		return "the nodes will restart in place and keep their items", "Restarting in place, with their items"
	default: // the former arguments are unknown
		return "", "Restarting in place"
	}
}

func costInPlace(v memcached.View, plan memcached.Plan) (will, doing string) {
	inFile := v.Memcached.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile
	switch {
	case plan.InPlace.OtherImage && !inFile, plan.Wave.Effect == memcached.LosesItems:
		return "the pods will stay, but the nodes will restart without their items",
			"Updating in place, no pod is replaced, but the nodes restart without their items"
	case plan.InPlace.OtherImage:
		return "the pods will stay; items are kept only with the same version of memcached",
			"Updating in place, no pod is replaced; items are kept only with the same version of memcached"
	default:
		return "the pods will stay, and change in place", "Updating in place, no pod is replaced"
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

// starting reports whether the nodes are starting for the first time. For a StatefulSet, only the last status shows that.
func starting(v memcached.View, nodes []*corev1.Pod) bool {
	w := v.Workload
	switch {
	case w == nil:
		return true
	case w.Kind == cachev1alpha1.WorkloadDeployment:
		return w.First && !w.Complete
	}
	last := meta.FindStatusCondition(v.Last.Conditions, cachev1alpha1.ConditionProgressing)
	takenBack := v.Last.Applied != nil && v.Last.Applied.Former != nil
	firstStuck := last != nil && last.Reason == cachev1alpha1.ReasonStuck && !takenBack && w.Complete && w.Outdated(nodes) == 0
	first := last == nil || last.Reason == cachev1alpha1.ReasonCreating || firstStuck
	return first && min(readyNodes(nodes), w.Ready) < w.Size
}

func rolloutStateOf(w *memcached.Workload, nodes []*corev1.Pod, size int32, templateObserved, starting bool) rolloutState {
	if w == nil || w.ObservedGeneration == 0 {
		return rolloutState{reason: cachev1alpha1.ReasonCreating, message: "Starting " + countNodes(size)}
	}
	// w.Complete can also be true when a rollout has just begun. Then some nodes are outdated.
	settled := !templateObserved || w.Complete && w.Outdated(nodes) == 0 && !starting
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
	case starting:
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
