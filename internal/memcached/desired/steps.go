// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// change turns the rollout's plan for a fleet into changes of pods and entries.
type change struct {
	*fleet

	// list has the arguments that the spec asks for, and templates are the rendered pod templates of the copies.
	list      protocol.List
	templates []corev1.PodTemplateSpec
	plan      *memcached.Plan
}

// decide asks the rollout for the next steps.
func (c *change) decide(held bool) {
	rules := rollout.Rules{Budget: maxAway(c.v), Paused: held, TemplateReady: c.templateReady()}
	var nodes []rollout.Node
	for _, n := range c.nodes {
		nodes = append(nodes, n.Node)
	}
	c.plan.Target, c.plan.Rollout = c.target, rollout.Next(nodes, c.target, rules)
	for _, step := range c.plan.Rollout.Steps {
		i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == step.Node })
		c.take(c.nodes[i], step.Action)
	}
	if c.v.Memcached.DeletionTimestamp == nil && !c.v.Memcached.Spec.Paused {
		c.deleteLost()
	}
	for _, n := range c.nodes {
		c.plan.Effect = max(c.plan.Effect, c.effect(n))
		c.note(n)
		if n.Pod == rollout.Present && !held {
			c.follow(n)
		}
	}
	c.plan.NextStep, c.plan.Absent = c.next, c.absent
}

// templateReady reports whether each pod that is created now is what the spec asks for.
func (c *change) templateReady() bool {
	return !slices.ContainsFunc(c.v.Workloads, func(live *memcached.Workload) bool {
		if live == nil || live.Unobserved() {
			return true
		}
		asked, _ := memcached.AskedOf(live.Template.Annotations)
		return asked.Asked != c.target.Asked
	})
}

// take turns a step into changes.
func (c *change) take(n *node, action rollout.Action) {
	asked := n.asked
	step := memcached.PodStep{Action: action, Pod: n.pod, Asked: &asked}
	switch action {
	case rollout.Ask:
		c.ask(n)
		return
	case rollout.Assign:
		c.assign(n)
		return
	case rollout.GoBack:
		if !c.goBack(n, &step) {
			return
		}
	case rollout.Resize:
		c.resize(n, &step)
	case rollout.SetImage:
		c.setImage(n, &step)
	default:
		step.Asked = nil
	}
	c.plan.Steps = append(c.plan.Steps, step)
}

// container returns memcached's container as rendered. Only its flags differ between the copies.
func (c *change) container() *corev1.Container {
	return memcached.ContainerOf(&c.templates[0].Spec, memcached.ContainerName)
}

// fresh returns what a pod of the rendered template of the node's copy would be asked for.
func (c *change) fresh(n *node) memcached.Asked {
	asked, _ := memcached.AskedOf(c.templates[n.copy].Annotations)
	return asked
}

// inEffect returns what is in effect instead of earlier steps that are not yet: what a pod goes back to is never a value that it only was
// asked for.
func inEffect(n *node) memcached.FormerPod {
	var former memcached.FormerPod
	if earlier := n.asked.Former; earlier != nil {
		former = *earlier
		if n.ImageTaken != rollout.No {
			former.Image, former.PodImage, former.Restarts = "", "", 0
		}
		if n.ResourcesTaken != rollout.No {
			former.Resources, former.DefaultLimit, former.PodResources = "", 0, ""
		}
	}
	return former
}

// setImage gives a pod the image that the spec asks for, unless it has it. If the kubelet has not begun to change an earlier image, and the
// pod gets that image back, it restarts nothing.
func (c *change) setImage(n *node, step *memcached.PodStep) {
	asked, wanted := step.Asked, c.container().Image
	if wanted != image(n.pod) {
		step.Image = wanted
		former, starts := inEffect(n), startsOf(n.pod, memcached.StatusOf(n.pod, memcached.ContainerName))
		switch {
		case former.PodImage == "" || former.PodImage == wanted && (starts < 0 || starts > former.Restarts):
			former.Image, former.PodImage = asked.Image, image(n.pod)
		case former.PodImage == wanted:
			former.Image, former.PodImage, starts = "", "", 0
		}
		former.Restarts = starts
		asked.Former = &former
	}
	asked.Image, asked.DefaultImage = c.target.Image, c.fresh(n).DefaultImage
}

// ask adds the pods that have to be asked about a node: those of its number in all copies.
func (c *change) ask(n *node) {
	for _, other := range c.nodes {
		if pod := other.pod; other.ordinal == n.ordinal && pod != nil && pod.Status.PodIP != "" {
			if _, answered := c.v.Answers[pod.UID]; !answered {
				c.plan.Ask = append(c.plan.Ask, pod)
			}
		}
	}
}

// assign writes an entry with the arguments that the spec asks for.
func (c *change) assign(n *node) {
	entry := protocol.Entry{Pod: string(n.pod.UID), Number: 1, List: c.list}
	if n.entry != nil {
		entry.Number, entry.Former, entry.Refused = nextNumber(n), n.entry.Former, n.entry.Refused
	}
	if n.ArgumentsTaken != rollout.No {
		entry.Former = &n.list
	}
	entry.Forget = c.v.Agents.Restart(n.pod)
	c.enter(n, entry)
}

// nextNumber returns a number that the parent does not know yet, even if an earlier entry was restored.
func nextNumber(n *node) int64 {
	last := n.entry.Number
	if n.answer != nil {
		last = max(last, n.answer.Number)
		if n.answer.Refused != nil {
			last = max(last, n.answer.Refused.Number)
		}
	}
	return last + 1
}

// unassign writes the entry from before a failure, with a record of it. Without a failure, it removes the record.
func (c *change) unassign(n *node, failed rollout.Action) {
	entry := *n.entry
	if failed == rollout.Nothing {
		entry.Refused = nil
		c.enter(n, entry)
		return
	}
	entry.Number = nextNumber(n)
	if entry.Former != nil {
		entry.List, entry.Former = *entry.Former, nil
	} else if n.answer != nil && n.answer.List.Target != "" {
		entry.List = n.answer.List // what it runs
	}
	entry.Refused = c.refused(n, entry.Refused)
	c.enter(n, entry)
}

func (c *change) enter(n *node, entry protocol.Entry) {
	c.entries[n.Name], n.entry, c.plan.Arguments = entry, &entry, true
}

// refused returns the record of the node's failure, after an earlier record or nil.
func (c *change) refused(n *node, before *protocol.Refused) *protocol.Refused {
	const longest = 512 // bytes of the words
	refused := protocol.Refused{Value: c.target.Value(n.Failed.Action), Tries: 1, At: c.v.Now.UTC()}
	refused.Words = n.Failed.Words[:min(len(n.Failed.Words), longest)]
	if before != nil && before.Value == refused.Value {
		refused.Tries += before.Tries
	}
	return &refused
}

// resize gives a pod the target's resources. The record of what it was asked for is written first: follow sends the resize if a crash came
// between the two.
func (c *change) resize(n *node, step *memcached.PodStep) {
	asked, former := step.Asked, inEffect(n)
	if former.Resources == "" {
		former.Resources, former.DefaultLimit = asked.Resources, asked.DefaultLimit
	}
	asked.Former, asked.Resources, asked.DefaultLimit = &former, c.target.Resources, c.fresh(n).DefaultLimit
	former.PodResources = ""
	if has := memcached.ContainerOf(&n.pod.Spec, memcached.ContainerName); has != nil && !holds(has.Resources, c.container().Resources) {
		former.PodResources, step.Resources = hashOf(has.Resources), &c.container().Resources
	}
}

// goBack gives a pod what it had before a failure, and records the failure in the same patch. Without a failure, it removes the record.
// Resources follow in the next patch: see follow. It returns false if the pod itself stays as it is.
func (c *change) goBack(n *node, step *memcached.PodStep) bool {
	failed, asked := n.Failed.Action, step.Asked
	if n.Asked.Value(failed) != c.target.Value(failed) {
		failed = rollout.Nothing // only the record of a refusal goes
	}
	switch {
	case failed == rollout.Assign || failed == rollout.Nothing && n.Refused.Action == rollout.Assign:
		c.unassign(n, failed)
		return false
	case failed == rollout.Nothing && c.target.InPlace && n.keepsRefused():
		return false // the record stays until the resources are taken back: see follow
	case failed == rollout.Nothing:
		asked.Refused = nil
	default:
		c.giveBack(n, failed, step)
	}
	return true
}

func (c *change) giveBack(n *node, failed rollout.Action, step *memcached.PodStep) {
	asked := step.Asked
	var before *protocol.Refused
	if asked.Refused != nil {
		before = &asked.Refused.Refused
	}
	asked.Refused = &memcached.RefusedStep{Action: failed, Refused: *c.refused(n, before)}
	if former := asked.Former; former != nil && failed == rollout.SetImage {
		asked.Image, step.Image = former.Image, former.PodImage
	} else if former != nil {
		asked.Resources, asked.DefaultLimit = former.Resources, former.DefaultLimit
	}
	asked.Former = nil
}

// follow completes earlier steps of a pod. It sends a resize that was not sent, and takes back resources that the pod has refused. It wakes
// the kubelet, so that it delivers an entry at once. When the pod is done, it sets the label by which Kubernetes and others count updated
// pods.
func (c *change) follow(n *node) {
	status := memcached.StatusOf(n.pod, memcached.ContainerName)
	moves := slices.ContainsFunc(c.plan.Steps, func(s memcached.PodStep) bool { return s.Pod == n.pod })
	revision := n.set.UpdateRevision
	step := memcached.PodStep{Pod: n.pod}
	switch {
	case moves || !c.target.InPlace:
		return
	case n.unsent && n.asked.Resources == c.target.Resources:
		step.Action, step.Resources = rollout.Resize, &c.container().Resources
	case n.keepsRefused():
		step.Action, step.Resources = rollout.GoBack, status.Resources
	case c.asleep(n):
		step.Action, step.Entry = memcached.Wake, strconv.FormatInt(n.entry.Number, 10)
	case n.Done(c.target) && c.templateReady() && (n.pod.Labels[appsv1.ControllerRevisionHashLabelKey] != revision || n.unfinished()):
		asked := n.asked
		asked.Image, asked.Resources, asked.Former = n.Asked.Image, n.Asked.Resources, nil
		step.Action, step.Asked, step.Revision = memcached.Finish, &asked, revision
	default:
		return
	}
	c.plan.Steps = append(c.plan.Steps, step)
}

// unfinished reports whether the record of what the pod was asked for still has what is over.
func (n *node) unfinished() bool {
	return n.asked.Former != nil || n.asked.Image != n.Asked.Image || n.asked.Resources != n.Asked.Resources
}

// keepsRefused reports whether the pod's spec still has the resources that it has refused, and may be without them.
func (n *node) keepsRefused() bool {
	refused := n.asked.Refused
	return refused != nil && refused.Action == rollout.Resize && !refused.Kept && !n.resized && n.asked.Former == nil
}

// asleep reports whether the kubelet may deliver the node's entry only after a while.
func (c *change) asleep(n *node) bool {
	return n.entry != nil && (n.ArgumentsTaken == rollout.No || c.plan.Arguments && n.entry.Target == c.target.Arguments) &&
		n.pod.Annotations[memcached.WakeAnnotation] != strconv.FormatInt(n.entry.Number, 10)
}

// deleteLost deletes lost pods, also of nodes that the spec no longer asks for, and while the spec has a problem.
func (c *change) deleteLost() {
	for i := range c.v.Pods {
		pod := &c.v.Pods[i]
		deleted := slices.ContainsFunc(c.plan.Steps, func(s memcached.PodStep) bool { return s.Pod == pod })
		if c.v.Owns(pod) && !deleted && c.presence(pod) == rollout.Lost {
			c.plan.Steps = append(c.plan.Steps, memcached.PodStep{Action: rollout.ForceDelete, Pod: pod})
		}
	}
}

// effect returns what the change does to a node.
func (c *change) effect(n *node) memcached.Effect {
	effect := memcached.NoEffect
	switch {
	case n.Pod != rollout.Present || n.Updated(c.target):
		return effect
	case n.Replaces(c.target):
		return memcached.ReplacesPod
	case n.Asked.Image != c.target.Image && keepsItems(c.v.Memcached):
		effect = memcached.KeepsItemsOfVersion
	case n.Asked.Image != c.target.Image:
		effect = memcached.LosesItems
	case n.Asked.Resources != c.target.Resources:
		effect = c.resizeEffect(n.pod)
	}
	switch {
	case n.Asked.Credentials != c.target.Credentials && n.list.Keeps(c.list):
		return max(effect, memcached.KeepsItems)
	case n.Asked.Credentials != c.target.Credentials:
		return max(effect, memcached.LosesItems)
	case n.Asked.Arguments == c.target.Arguments:
		return effect
	}
	return max(effect, effectOf(n.list, c.list))
}

// resizeEffect returns what other resources do to a node. Only others, such as a webhook, make the kubelet restart memcached for them.
func (c *change) resizeEffect(pod *corev1.Pod) memcached.Effect {
	container := memcached.ContainerOf(&pod.Spec, memcached.ContainerName)
	if container == nil || !slices.ContainsFunc(container.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		return policy.RestartPolicy == corev1.RestartContainer
	}) {
		return memcached.KeepsPod
	}
	c.plan.ResizeRestarts = true
	if keepsItems(c.v.Memcached) {
		return memcached.KeepsItems
	}
	return memcached.LosesItems
}

// note counts pods of an older operator, and reports what nodes have refused.
func (c *change) note(n *node) {
	was, now := n.asked, c.fresh(n)
	image := was.DefaultImage != now.DefaultImage && was.DefaultImage != "" && now.DefaultImage != ""
	limit := now.DefaultLimit > 0 && was.DefaultLimit < c.target.Use
	if n.Updated(c.target) && (was.Rendering != now.Rendering || image || limit) {
		c.plan.Older++
	}
	action := n.Refused.Action
	if c.plan.Refused == nil && action != rollout.Nothing && !n.Refused.Forever && n.Refused.Value == c.target.Value(action) {
		c.plan.Refused = refusalOf(n, action)
	}
}

// maxAway returns how many nodes may be unavailable at the same time. Like for a Deployment, a percentage is rounded down.
func maxAway(v memcached.View) int {
	if memcached.Copies(v.Memcached) > 1 {
		return 1
	}
	_, unavailable := updateLimits(v.Memcached)
	count, err := intstr.GetScaledValueFromIntOrPercent(&unavailable, int(v.Memcached.Spec.Size), false)
	if err != nil {
		return 1
	}
	return max(count, 1)
}

// refusalOf returns what a user has to know about a node's refusal.
func refusalOf(n *node, action rollout.Action) *memcached.Problem {
	words := strings.TrimSuffix(n.Refused.Words, ".")
	if action == rollout.Assign {
		return &memcached.Problem{Reason: cachev1alpha1.ReasonChangeRefused, Message: fmt.Sprintf(
			"the node %s has refused the configuration and keeps its former one: %s; change spec.config", n.Name, words)}
	}
	what, reason, remedy := "resources", cachev1alpha1.ReasonChangeRefused, "Correct spec.resources"
	if action == rollout.SetImage {
		what, reason, remedy = "image", cachev1alpha1.ReasonImagePullFailed, "Correct spec.image"
	}
	if _, last := n.asked.Refused.RetryIn(n.asked.Refused.At); !last {
		remedy += ", or wait: the operator tries again after 1, 5 and 30 minutes"
	}
	return &memcached.Problem{Reason: reason, Message: fmt.Sprintf(
		"Pod %s was not changed in place: %s. It keeps its former %s, and the other pods keep theirs. This was try %d. %s",
		n.Name, words, what, n.Refused.Tries, remedy)}
}
