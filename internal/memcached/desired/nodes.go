// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// fleet is what was observed of the nodes of a StatefulSet.
type fleet struct {
	v      memcached.View
	target rollout.Target
	// entries are the entries by the names of the nodes.
	entries map[string]protocol.Entry
	nodes   []*node
	// next is the time until a pod may count as lost, be available or try again, 0 if no such time is known.
	next time.Duration
	// absent is since when pods are missing, by the names of their nodes.
	absent map[string]time.Time
}

// node is one node: what the rollout has to know, and what its steps need.
type node struct {
	rollout.Node

	// copy is the number of the node's copy, and ordinal is its number in there. set is its StatefulSet, or nil.
	copy, ordinal int
	set           *memcached.Workload
	// pod is the node's pod, or nil.
	pod   *corev1.Pod
	asked memcached.Asked
	// entry is the pod's entry in the ConfigMap, or nil. list is what memcached runs or was assigned.
	entry *protocol.Entry
	list  protocol.List
	// answer is its parent's answer, nil without one.
	answer *protocol.Status
	// resized reports that the kubelet has applied the resources in the pod's spec, and unsent that the pod's spec does not have what the
	// pod was asked for, because the operator has crashed or the API server has refused it.
	resized, unsent bool
}

// fleetOf observes the nodes that the spec asks for.
func fleetOf(v memcached.View, target rollout.Target) *fleet {
	f := &fleet{v: v, target: target, entries: v.Entries(), absent: map[string]time.Time{}}
	servers := len(v.Servers())
	for copy, set := range v.Workloads {
		pods := podsOf(v, set)
		for ordinal := range int(v.Memcached.Spec.Size) {
			n := &node{copy: copy, ordinal: ordinal, set: set}
			n.Name, n.Served = fmt.Sprintf("%s-%d", memcached.CopyName(v.Memcached, copy), ordinal), ordinal < servers
			n.pod = pods[n.Name]
			f.observe(n)
			f.nodes = append(f.nodes, n)
		}
	}
	f.observePeers()
	return f
}

// podsOf returns the pods of a StatefulSet by their names.
func podsOf(v memcached.View, set *memcached.Workload) map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	for i := range v.Pods {
		pod := &v.Pods[i]
		if set != nil && set.Owns(pod) {
			if other := pods[pod.Name]; other == nil || !present(other) {
				pods[pod.Name] = pod
			}
		}
	}
	return pods
}

func present(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed
}

func (f *fleet) observe(n *node) {
	if n.pod == nil {
		f.observeAbsent(n)
		return
	}
	if n.Pod = f.presence(n.pod); n.Pod != rollout.Present {
		return
	}
	n.Ready, n.CutOff = memcached.PodReady(n.pod), memcached.CutOff(n.pod)
	status := memcached.StatusOf(n.pod, memcached.ContainerName)
	running := status != nil && status.State.Running != nil
	n.Started, n.Stopped = running || status != nil && memcached.LastExit(*status) != nil, !running
	n.Available = n.Ready && f.wait(f.v.UntilAvailable(n.pod)) == 0
	f.observeAsked(n)
	f.observeAnswer(n)
	f.observeArguments(n)
	f.observeResourcesAsked(n)
	f.observeImage(n, status)
	f.observeResources(n, status)
	if !n.Started {
		f.observeFailedStart(n)
	}
	f.observeRefusal(n)
}

// absentTooLong is how long a pod may be missing until the StatefulSet's controller counts as unable to create it.
const absentTooLong = time.Minute

// observeAbsent notes since when a pod is missing. The StatefulSet's controller does not say that the API server refuses it, for example
// because of a quota.
func (f *fleet) observeAbsent(n *node) {
	since := cmp.Or(f.v.Absent[n.Name], f.v.Now)
	f.absent[n.Name] = since
	if f.wait(max(0, since.Add(absentTooLong).Sub(f.v.Now))) == 0 {
		n.Failed.Action = rollout.Replace
		n.Slow = "there has been none for a minute: look for events of the StatefulSet, and for finalizers of the former one"
	}
}

// wait notes that something happens after this time, and returns the time.
func (f *fleet) wait(d time.Duration) time.Duration {
	f.next = memcached.Sooner(f.next, d)
	return d
}

func (f *fleet) presence(pod *corev1.Pod) rollout.Presence {
	if present(pod) {
		return rollout.Present
	}
	if wait, may := memcached.LostIn(pod, f.v.Now); may && f.wait(wait) == 0 {
		return rollout.Lost
	}
	return rollout.Leaving
}

// observeAsked reads what the pod was asked for. Without its annotation, it was asked for what the template says, if it is of that template
// or the rollout was complete.
func (f *fleet) observeAsked(n *node) {
	var found bool
	live, revision := n.set, n.pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	if n.asked, found = memcached.AskedOf(n.pod.Annotations); !found &&
		(!live.Unobserved() && revision == live.UpdateRevision || f.v.Last.Complete(f.v.Memcached.Generation)) {
		n.asked, _ = memcached.AskedOf(live.Template.Annotations)
	}
	n.Asked = n.asked.Asked
	// A spec that names what the pod has anyway, such as the default image, asks for nothing.
	if f.target.Image != "" && image(n.pod) == f.target.Image {
		n.Asked.Image = f.target.Image
	}
}

// outgrown is asked of no pod.
const outgrown = "outgrown"

// observeResourcesAsked corrects the resources that the pod was asked for. A spec that names what the pod has anyway asks for nothing,
// unless the pod has refused it. Arguments that the default limit does not hold ask for another limit. That is the limit that was asked
// for, because others may have changed that of the pod.
func (f *fleet) observeResourcesAsked(n *node) {
	container := memcached.ContainerOf(&n.pod.Spec, memcached.ContainerName)
	_, given := givenLimit(f.v.Memcached.Spec.Resources)
	wanted, refused := resourcesOf(f.v.Memcached.Spec.Resources, ""), n.asked.Refused
	switch {
	case !given && n.asked.DefaultLimit < f.target.Use && n.Asked.Arguments != f.target.Arguments:
		n.Asked.Resources = outgrown
	case given && container != nil && holds(container.Resources, wanted) && holds(wanted, container.Resources) &&
		(refused == nil || refused.Action != rollout.Resize):
		n.Asked.Resources = f.target.Resources
	}
}

// observeAnswer reads the parent's answer. Without an address, there is nobody to ask.
func (f *fleet) observeAnswer(n *node) {
	answer, answered := f.v.Answers[n.pod.UID]
	switch {
	case answered && answer.Failure == "":
		n.answer = &answer.Status
		filling := answer.Fill.Open() && !answer.Fill.Ready
		n.Serves = known(answer.List.Target != "" && !answer.Restarting && !filling)
		minimum := int64(f.v.Memcached.Spec.UpdateStrategy.MinReadySeconds)
		// The owner of the pod can make it send any number.
		if left := minimum - max(answer.SecondsInEffect, 0); n.Available && left > 0 {
			n.Available = f.wait(time.Duration(left)*time.Second) == 0
		}
	case answered:
		n.Silent = answer.Failure
	case n.pod.Status.PodIP == "":
		n.Silent = "it has no address yet"
	}
}

func known(yes bool) rollout.Known {
	if yes {
		return rollout.Yes
	}
	return rollout.No
}

// observeArguments finds out which arguments the pod was asked for, and whether they are in effect. If the entry was lost, the parent's
// answer restores it.
func (f *fleet) observeArguments(n *node) {
	n.list = memcached.FirstList(n.pod)
	n.Asked.Arguments = cmp.Or(n.list.Target, n.Asked.Arguments)
	if entry, found := f.entries[n.Name]; found && entry.Pod == string(n.pod.UID) {
		n.entry = &entry
	} else if n.answer != nil && n.answer.Number > 0 {
		n.entry = &protocol.Entry{Pod: string(n.pod.UID), Number: n.answer.Number, List: n.answer.List}
		f.entries[n.Name] = *n.entry
	}
	switch {
	case n.entry != nil:
		f.observeEntry(n)
	case n.answer != nil:
		n.ArgumentsTaken = rollout.Yes
	}
	n.Use = max(n.Use, memoryOf(n.list))
	if process := f.v.Agents.Restart(n.pod); process != n.list.Forget && process != 0 {
		n.Asked.Credentials = strconv.Itoa(process)
	}
}

// observeEntry finds out whether the node's entry is in effect, and what memcached may use meanwhile.
func (f *fleet) observeEntry(n *node) {
	n.list, n.Assigned, n.Asked.Arguments = n.entry.List, true, n.entry.Target
	switch {
	case n.answer != nil:
		n.Use = memoryOf(n.answer.List)
		n.ArgumentsTaken = known(n.answer.Number == n.entry.Number && n.answer.List.Target == n.entry.Target && !n.answer.Restarting)
		if refused := n.answer.Refused; refused != nil && refused.Number == n.entry.Number {
			n.Failed = rollout.Failure{Action: rollout.Assign, Words: refused.Reason}
		}
	case f.v.Last.Complete(f.v.Memcached.Generation) && n.Asked.Arguments == f.target.Arguments && f.v.Agents.Restart(n.pod) == 0 &&
		(n.list.Forget == 0 || !f.v.Agents.Pending): // a former leader may not have written that it ordered a restart
		n.ArgumentsTaken = rollout.Yes // the last status says so
	case n.entry.Former != nil:
		n.Use = memoryOf(*n.entry.Former)
	}
}

// ProbeSeconds is how long, in seconds, the kubelet may report a restarted container as ready because of earlier probes.
const ProbeSeconds = 3

// observeImage finds out whether the last image that the pod was asked for is in effect. The kubelet may report another name of the same
// image, so only a later start of the container counts, and what its parent says.
func (f *fleet) observeImage(n *node, status *corev1.ContainerStatus) {
	n.ImageTaken = rollout.Yes
	former := n.asked.Former
	if former == nil || former.PodImage == "" || image(n.pod) == former.PodImage { // a webhook has changed it back
		return
	}
	switch {
	case startsOf(n.pod, status) <= former.Restarts:
		n.ImageTaken = rollout.No
	case n.answer != nil:
		n.ImageTaken = known(n.answer.SecondsInEffect >= ProbeSeconds)
	default:
		n.ImageTaken = rollout.Unknown
	}
	if words := memcached.PullFailure(status); words != "" {
		n.ImageTaken = rollout.No
		n.Failed = rollout.Failure{
			Action: rollout.SetImage, Words: fmt.Sprintf("the image %s cannot be pulled: %s", image(n.pod), words),
		}
	}
}

func image(pod *corev1.Pod) string {
	if container := memcached.ContainerOf(&pod.Spec, memcached.ContainerName); container != nil {
		return container.Image
	}
	return ""
}

// startsOf returns how often the container has restarted. It returns -1 if the container is not running, so that its next start counts as a
// restart: that start uses the image in the pod's spec.
func startsOf(pod *corev1.Pod, status *corev1.ContainerStatus) int32 {
	switch {
	case status == nil && pod.Status.Phase == corev1.PodPending: // no container has started yet
		return -1
	case status == nil: // no status tells of a restart
		return 0
	case status.State.Waiting != nil || status.State.Terminated != nil:
		return -1
	default:
		return status.RestartCount
	}
}

// observeResources compares the resources in the pod's spec with those that the kubelet has applied. CPU limits do not count: a kubelet
// with cpuCFSQuota false never reports a new CPU limit, and any CPU limit fits on a cluster node.
func (f *fleet) observeResources(n *node, status *corev1.ContainerStatus) {
	n.ResourcesTaken, n.resized = rollout.Yes, true
	container := memcached.ContainerOf(&n.pod.Spec, memcached.ContainerName)
	if container == nil {
		return
	}
	n.AskedLimit = container.Resources.Limits.Memory().Value()
	n.Limit = n.AskedLimit
	former := n.asked.Former
	if n.unsent = former != nil && former.PodResources == hashOf(container.Resources); n.unsent {
		n.ResourcesTaken, n.Slow = rollout.No, "its other resources have not been accepted yet"
		return
	}
	if status == nil || status.Resources == nil {
		return
	}
	if applied := status.Resources.Limits.Memory().Value(); applied > 0 {
		n.Limit = applied
	}
	wanted := container.Resources.DeepCopy()
	delete(wanted.Limits, corev1.ResourceCPU)
	n.resized = holds(*status.Resources, *wanted)
	if former == nil || former.Resources == "" {
		return // somebody else has asked for other resources
	}
	if n.ResourcesTaken = known(n.resized); !n.resized {
		n.observePending()
	}
}

// observePending finds out why the kubelet has not applied the resources in the pod's spec.
func (n *node) observePending() {
	pending := memcached.PodCondition(n.pod, corev1.PodResizePending)
	if pending == nil || pending.ObservedGeneration > 0 && pending.ObservedGeneration < n.pod.Generation {
		return
	}
	if pending.Reason == corev1.PodReasonInfeasible {
		n.Failed = rollout.Failure{Action: rollout.Resize, Words: "its cluster node cannot give it other resources: " + pending.Message}
	} else {
		n.Slow = fmt.Sprintf("%s: %s", pending.Reason, pending.Message)
	}
}

// observeFailedStart finds out why memcached has never run in the pod. What a newer operator renders, such as another image of the agent,
// may start.
func (f *fleet) observeFailedStart(n *node) {
	n.Failed = neverStarted(n.pod)
	live, _ := memcached.AskedOf(n.set.Template.Annotations)
	if n.Failed.Action != rollout.Nothing && (n.asked.Rendering != live.Rendering || n.asked.DefaultImage != live.DefaultImage) {
		n.Asked.Template = ""
	}
}

// neverStarted returns why memcached has never run in a pod, if another pod may be better.
func neverStarted(pod *corev1.Pod) rollout.Failure {
	for _, container := range memcached.ContainerStatuses(pod) {
		if words := memcached.PullFailure(&container); words != "" {
			return rollout.Failure{Action: rollout.Replace, Words: words}
		}
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
			return rollout.Failure{Action: rollout.Replace, Words: waiting.Reason + ": " + waiting.Message}
		}
	}
	scheduled := memcached.PodCondition(pod, corev1.PodScheduled)
	if scheduled != nil && scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable {
		return rollout.Failure{Action: rollout.Replace, Words: scheduled.Message}
	}
	return rollout.Failure{}
}

// observeRefusal reads what the node has refused: what the target asks for comes first.
func (f *fleet) observeRefusal(n *node) {
	var steps []memcached.RefusedStep
	if n.asked.Refused != nil {
		steps = append(steps, *n.asked.Refused)
	}
	if n.entry != nil && n.entry.Refused != nil {
		steps = append(steps, memcached.RefusedStep{Action: rollout.Assign, Refused: *n.entry.Refused})
	}
	if f.outgrowsVolume(n.pod) && n.Asked.Resources != f.target.Resources {
		steps = append(steps, memcached.RefusedStep{
			Action: rollout.Resize, Forever: true,
			Refused: protocol.Refused{Value: f.target.Resources, Words: "the volume for the items is too small"},
		})
	}
	for _, step := range steps {
		refusal := rollout.Refusal{
			Failure: rollout.Failure{Action: step.Action, Words: step.Words}, Value: step.Value, Tries: step.Tries, Forever: step.Forever,
		}
		if wait, never := step.RetryIn(f.v.Now); !never {
			refusal.Due = f.wait(wait) == 0
		}
		if n.Refused.Action == rollout.Nothing || refusal.Value == f.target.Value(refusal.Action) {
			n.Refused = refusal
		}
	}
}

// outgrowsVolume reports whether the items need a larger volume, which only a new pod has. A volume is limited by the memory limit with
// which its pod started. If this limit has grown in place, outgrowsVolume compares with the larger limit, and may miss that the volume
// is too small. The parent then refuses the arguments.
func (f *fleet) outgrowsVolume(pod *corev1.Pod) bool {
	return f.target.InPlace && keepsItems(f.v.Memcached) && sizingOf(f.v.Memcached).memory >= memcached.LimitOf(&pod.Spec)
}

// holds reports whether has contains each resource in wanted, with the same quantity. It may contain other resources, too.
func holds(has, wanted corev1.ResourceRequirements) bool {
	for _, lists := range [][2]corev1.ResourceList{{has.Limits, wanted.Limits}, {has.Requests, wanted.Requests}} {
		for name, quantity := range lists[1] {
			if present, ok := lists[0][name]; !ok || present.Cmp(quantity) != 0 {
				return false
			}
		}
	}
	return true
}
