// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// change is what happens to the nodes.
type change struct {
	// reason and message are those of the condition Progressing. reason is empty if no change is in progress.
	reason, message string
	// overdue says that the change has exceeded the progress deadline, or is empty.
	overdue string
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

// observeChange finds out about a first start, scaling or a rollout of the nodes, or else of the proxies, or else of their routes. Proxies
// without nodes are never ready.
func (f *facts) observeChange() (found change, changing *facts) {
	if found = f.changeOfNodes(); found.reason != "" || f.front == nil || f.size == 0 {
		return found, f
	}
	if found = f.front.changeOfProxies(); found.reason != "" {
		return found, f.front
	}
	return f.changeOfRoutes(), nil
}

func (f *facts) changeOfNodes() change {
	found := f.changeOfDeployment()
	if f.Workload != nil && memcached.IsStatefulSet(f.Memcached) {
		found = f.changeOfStatefulSet()
	}
	if _, doing := f.cost(); doing != "" && found.reason == cachev1alpha1.ReasonRollingOut {
		found.message = doing + f.restarted() + ": " + found.message
	}
	return found
}

// restarted names the command that asks for younger nodes than there are.
func (f *facts) restarted() string {
	for _, w := range f.Workloads {
		at, err := time.Parse(time.RFC3339, w.Template.Annotations[memcached.KubectlRestartedAt])
		if err == nil && slices.ContainsFunc(f.Nodes(), func(node *corev1.Pod) bool { return node.CreationTimestamp.Time.Before(at) }) {
			return ", as kubectl rollout restart asks"
		}
	}
	return ""
}

// unfinished reports whether nodes that do not serve are part of a first start or of a rollout, and not just away. The reason in the last
// status shows that. After a change was stuck, it was the first start if the StatefulSet has never changed.
func (f *facts) unfinished() (starts, rolls bool) {
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

func (f *facts) changeOfStatefulSet() change {
	plan := f.plan.Rollout
	starts, rolls := f.unfinished()
	late := overdue(f.View, plan)
	switch {
	case slices.ContainsFunc(f.Workloads, func(w *memcached.Workload) bool { return w == nil || w.ObservedGeneration == 0 }):
		return change{cachev1alpha1.ReasonCreating, fmt.Sprintf("Starting %d nodes", f.total), late}
	case (plan.Outdated > 0 || rolls) && !f.Memcached.Spec.Paused:
		return change{cachev1alpha1.ReasonRollingOut, plan.Message(), late}
	case starts:
		return change{cachev1alpha1.ReasonCreating, fmt.Sprintf("%d of %d nodes are started", plan.Done, f.total), late}
	}
	for _, w := range f.Workloads {
		if w.Replicas != f.size {
			return change{cachev1alpha1.ReasonScaling, fmt.Sprintf("Scaling from %d to %d nodes", w.Replicas, f.size), late}
		}
	}
	return change{}
}

// cost says what a change does to the nodes and their items: will is for a change that is held back, doing for one in progress.
func (f *facts) cost() (will, doing string) {
	const ofVersion = "items are kept only with the same version of memcached"
	switch f.plan.Effect {
	case memcached.ReplacesPod:
		will, doing = "be replaced, "+f.itemsLeft(), "Replacing nodes, "+f.itemsLeft()
	case memcached.LosesItems:
		will, doing = "restart in place, "+f.itemsLeft(), "Restarting in place, "+f.itemsLeft()
	case memcached.KeepsItemsOfVersion:
		will, doing = "restart in place; "+ofVersion, "Restarting in place; "+ofVersion
	case memcached.KeepsItems:
		will, doing = "restart in place and keep their items", "Restarting in place, with their items"
	case memcached.GrowsInPlace:
		will, doing = "get more memory in place and keep their items", "Giving nodes more memory in place, with their items"
	case memcached.KeepsPod:
		will, doing = "keep their pods, and change in place", "Updating in place, no pod is replaced"
	default:
		return "", ""
	}
	if f.plan.ResizeRestarts {
		const because = ", because their resizePolicy is RestartContainer"
		will, doing = will+because, doing+because
	}
	return "the nodes will " + will, doing
}

// itemsLeft says what becomes of the items of nodes that start empty.
func (f *facts) itemsLeft() string {
	if len(f.Workloads) > 1 && f.plan.Fills.Problem == nil {
		return "while their copies keep the items"
	}
	return "without their items"
}

func (f *facts) changeOfDeployment() change {
	w, size := f.Workload, f.size
	if w == nil || w.ObservedGeneration == 0 {
		return change{reason: cachev1alpha1.ReasonCreating, message: fmt.Sprintf("Starting %d nodes", size)}
	}
	// w.Complete can also be true when a rollout has just begun. Then some nodes are outdated.
	settled := f.templateUnobserved || w.Complete && w.Replicas == w.Updated
	switch {
	case settled && w.Replicas != size:
		return change{reason: cachev1alpha1.ReasonScaling, message: fmt.Sprintf("Scaling from %d to %d nodes", w.Replicas, size)}
	case f.templateUnobserved:
		return change{reason: cachev1alpha1.ReasonRollingOut, message: fmt.Sprintf("0 of %d nodes are updated", size)}
	case settled:
		return change{}
	case w.First && !w.Complete:
		return change{cachev1alpha1.ReasonCreating, fmt.Sprintf("%d of %d nodes are started", w.Ready, size), w.Overdue}
	default:
		return change{cachev1alpha1.ReasonRollingOut, fmt.Sprintf("%d of %d nodes are updated", w.Updated, size), w.Overdue}
	}
}

// changes returns what happens to the nodes, if it has this reason.
func changes(reason string) func(*facts) string {
	return func(f *facts) string {
		return when(f.change.reason == reason, "%s", f.change.message)
	}
}

func beingDeleted(f *facts) string {
	return when(f.Memcached.DeletionTimestamp != nil, "The Memcached is being deleted")
}

// stoppedByProblem is the message of Progressing if the problem in Degraded stops the change.
const stoppedByProblem = "The change cannot continue: see the condition Degraded"

// stuck says why a change cannot proceed. A problem of the plan or the write stops what it keeps from being written. A problem of the pods,
// or else the deadline, stops what is in progress.
func stuck(f *facts) string {
	changing := f.change.reason != "" && f.Workload != nil
	switch {
	case f.Problem != nil && (!changing || f.changing != f || f.unwritten()), changing && f.changing != nil && f.changing.troubled:
		return stoppedByProblem
	case changing:
		return f.change.overdue
	default:
		return ""
	}
}

// outdated describes what the nodes have that is older than it should be, with the command that changes that.
func outdated(f *facts) string {
	switch words := f.unsupported(); {
	case words != "":
		return words
	case f.plan.StaleDefaults != "":
		return fmt.Sprintf("The operator's defaults are now %s; the next rollout adopts them. To roll out now: %s", f.plan.StaleDefaults,
			restartCommand(f.Memcached))
	case f.plan.Older > 0:
		return fmt.Sprintf("%d of %d nodes have an older agent or defaults of the operator; new pods get the present ones. %s",
			f.plan.Older, f.total, f.toReplace())
	default:
		return ""
	}
}

// toReplace names the command that replaces the nodes of a StatefulSet, and its cost.
func (f *facts) toReplace() string {
	return fmt.Sprintf("To replace the nodes now, %s: %s", f.itemsLeft(), restartCommand(f.Memcached))
}

// heldBack lists what a pause holds back: the children that would be written or deleted, another size, and the rest of a rollout.
func (f *facts) heldBack() []string {
	var held []string
	for _, kind := range f.Pending {
		if text := "the " + kind; !slices.Contains(held, text) {
			held = append(held, text)
		}
	}
	if w := f.Workload; w != nil && w.Size != f.size && slices.Contains(f.Pending, string(w.Kind)) {
		scaling := fmt.Sprintf("scaling from %d to %d nodes", w.Size, f.size)
		switch {
		case f.size == 0:
			scaling += ", which loses all items"
		case w.Size > 0:
			scaling += ", which remaps keys"
		}
		held = append(held, scaling)
	}
	if f.plan.Rollout.Outdated > 0 {
		held = append(held, "a rollout")
	}
	return held
}

func held(f *facts) string {
	return when(len(f.held) > 0, "spec.paused holds back: %s", strings.Join(f.held, ", "))
}

// paused says what a pause holds back, what that will cost, and how to end the pause.
func paused(f *facts) string {
	message := held(f)
	switch will, _ := f.cost(); {
	case !f.Memcached.Spec.Paused:
		return ""
	case message == "":
		return "spec.paused holds changes back; there are none now"
	case will != "" && (f.TemplatePending || f.plan.Rollout.Outdated > 0):
		message += "; " + will
	}
	return message + ". To resume: " + patchCommand(f.Memcached, `"paused":false`)
}

// patchCommand returns the command that sets a field of the spec.
func patchCommand(mc *cachev1alpha1.Memcached, field string) string {
	return fmt.Sprintf(`kubectl patch memcached %s -n %s --type=merge -p '{"spec":{%s}}'`, mc.Name, mc.Namespace, field)
}

// restartCommand returns the command that replaces the nodes, which then get the operator's current defaults.
func restartCommand(mc *cachev1alpha1.Memcached) string {
	field := `"restartedAt"`
	if memcached.IsStatefulSet(mc) { // spec.restartedAt would keep the pods
		field = `"replacedAt"`
	}
	return patchCommand(mc, field+`:"'$(date -u +%FT%TZ)'"`)
}

// overdue returns a message if a change of a StatefulSet has exceeded the progress deadline, else an empty text: Kubernetes applies none.
// These events count as progress: a pod is created or deleted, a pod changes its readiness, or memcached restarts within its pod.
func overdue(v memcached.View, plan rollout.Plan) string {
	workload := v.Workload
	since, began := progressingSince(v)
	if !began {
		return ""
	}
	since = memcached.Later(since, workload.GetCreationTimestamp().Time)
	for i := range v.Pods {
		since = memcached.Later(since, movedAt(&v.Pods[i]))
		since = memcached.Later(since, v.Answers[v.Pods[i].UID].Since) // a restart in place does not change the pod
	}
	deadline := progressDeadline(v.Memcached)
	if v.Now.Sub(since) < deadline {
		return ""
	}
	message := fmt.Sprintf("No node has come, gone or changed for %d minutes", int(deadline.Minutes()))
	if now := plan.Now(); now != "" {
		message += ": " + now
	}
	if plan.Words == "" {
		message += fmt.Sprintf("; to see why: kubectl describe statefulset %s -n %s", workload.GetName(), workload.GetNamespace())
	}
	return message
}

// progressingSince returns when the change in progress began according to the last status, or the zero time if the change was
// already overdue. It returns false if that status is about an earlier spec, or no change was in progress.
func progressingSince(v memcached.View) (time.Time, bool) {
	last := meta.FindStatusCondition(v.Last.Conditions, cachev1alpha1.ConditionProgressing)
	switch {
	case last == nil || last.ObservedGeneration != v.Memcached.Generation || memcached.AboutProxies(*last):
		return time.Time{}, false
	case last.Reason == cachev1alpha1.ReasonStuck:
		// If a problem stopped the change, the deadline begins anew once the problem is gone.
		return time.Time{}, last.Message != stoppedByProblem
	default:
		return last.LastTransitionTime.Time, last.Status == metav1.ConditionTrue
	}
}

// movedAt returns when a pod was created or deleted, or changed its readiness, whichever is latest.
func movedAt(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	if pod.DeletionTimestamp != nil {
		at = memcached.Later(at, pod.DeletionTimestamp.Time)
	}
	if ready := memcached.PodCondition(pod, corev1.PodReady); ready != nil {
		at = memcached.Later(at, ready.LastTransitionTime.Time)
	}
	return at
}

// RequeueAfter returns the time after which to reconcile again even if no event occurs, or 0 for never.
func RequeueAfter(v memcached.View, current cachev1alpha1.MemcachedStatus) time.Duration {
	wait := SilentFor(v.Nodes(), v.Now)
	if memcached.IsStatefulSet(v.Memcached) && meta.IsStatusConditionTrue(current.Conditions, cachev1alpha1.ConditionProgressing) {
		wait = memcached.Sooner(wait, progressDeadline(v.Memcached))
	}
	v.Last.Conditions = current.Conditions
	wait = memcached.Sooner(wait, askProxiesAfter(v))
	switch {
	case lacking(v, 0) == nil:
	case v.Refused == "" && !meta.IsStatusConditionTrue(current.Conditions, degraded):
		wait = memcached.Sooner(wait, refusalInterval)
	default:
		wait = memcached.Sooner(wait, time.Minute)
	}
	return wait
}

func progressDeadline(mc *cachev1alpha1.Memcached) time.Duration {
	return time.Duration(memcached.ProgressDeadlineSeconds(mc.Spec.UpdateStrategy.MinReadySeconds)) * time.Second
}
