// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// changedPod is how a pod differs from the template from which it was created. The keys of all maps except annotations are names of
// containers.
type changedPod struct {
	label       string
	annotations map[string]string
	images      map[string]string
	resources   map[string]corev1.ResourceRequirements
	// starting contains the containers that must restart with another image. runs contains the images of running containers if they
	// differ from those in the template. actual contains the old resources of a container whose new resources are not in effect yet.
	// infeasible is why the new resources cannot take effect. count contains the numbers of restarts.
	starting   map[string]bool
	runs       map[string]string
	actual     map[string]corev1.ResourceRequirements
	infeasible string
	count      map[string]int32
}

func (c changedPod) restarts() bool { return len(c.starting) > 0 }

// revision returns the value of the label by which the StatefulSet's controller recognizes updated pods.
func (n *fakeNode) revision() string {
	if n.changed.label != "" {
		return n.changed.label
	}
	return revisionOf(n.template)
}

// change applies the patches of the node to its pod, and sets the status that the kubelet reports.
func (n *fakeNode) change(pod *corev1.Pod) {
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = n.revision()
	for key, value := range n.changed.annotations {
		if value == "" {
			delete(pod.Annotations, key)
		} else {
			pod.Annotations[key] = value
		}
	}
	for name, image := range n.changed.images {
		memcached.ContainerOf(&pod.Spec, name).Image = image
	}
	for name, resources := range n.changed.resources {
		memcached.ContainerOf(&pod.Spec, name).Resources = resources
	}
	if n.unscheduled {
		pod.Status.Phase = corev1.PodPending
		return
	}
	for _, container := range []string{memcached.ContainerName, memcached.AgentContainerName} {
		status := corev1.ContainerStatus{Name: container, RestartCount: n.changed.count[container]}
		if actual, ok := n.changed.actual[container]; ok {
			status.Resources = &actual
		}
		if n.probed == 1 {
			status.Started = ptr.To(false)
		}
		if n.pulling == container {
			status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	if n.changed.infeasible != "" && n.changed.actual != nil {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: n.changed.infeasible,
		})
	}
}

// kubelet lets the kubelet restart containers whose image was changed, and put resources into effect.
func (n *fakeNode) kubelet(now int64, unpullable string) {
	if n.unscheduled || n.cutOff {
		return
	}
	for name := range n.changed.starting {
		image := n.changed.images[name]
		if unpullable != "" && strings.Contains(image, unpullable) {
			n.pulling = name
			continue
		}
		delete(n.changed.starting, name)
		if runs := cmp.Or(n.changed.runs[name], memcached.ContainerOf(&n.template.Spec, name).Image); runs == image && n.pulling == "" {
			continue // the image was changed back before the kubelet saw the change
		}
		n.pulling, n.since, n.changed.runs = "", now, add(n.changed.runs, map[string]string{name: image})
		n.changed.count = maps.Clone(n.changed.count)
		if n.changed.count == nil {
			n.changed.count = map[string]int32{}
		}
		n.changed.count[name]++
		n.probed = 2
	}
	if n.changed.infeasible == "" {
		n.resize()
	}
}

// resize puts the new resources into effect. Without CPU quotas, the kubelet goes on reporting the former limit of CPUs.
func (n *fakeNode) resize() {
	for name, former := range n.changed.actual {
		if !n.noQuota {
			delete(n.changed.actual, name)
			continue
		}
		actual := n.changed.resources[name]
		actual.Limits = maps.Clone(actual.Limits)
		actual.Limits[corev1.ResourceCPU] = former.Limits[corev1.ResourceCPU]
		n.changed.actual[name] = actual
	}
}

// schedule lets the kubelet start the containers with the current images of the pod.
func (n *fakeNode) schedule() {
	n.unscheduled = false
	for name := range n.changed.starting {
		n.changed.runs = add(n.changed.runs, map[string]string{name: n.changed.images[name]})
	}
	n.changed.starting = nil
}

func (f *fleet) slowKubelets() {
	f.t.Helper()
	for range 4 {
		f.act()
		f.report()
		f.reconcile()
	}
}

func (f *fleet) partition() int32 {
	if rolling := f.set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		return *rolling.Partition
	}
	return 0
}

// patchPod applies the operator's patch to a pod, as the API server does. If the patch restarts a container, it checks that no
// other node is unavailable.
func (f *fleet) patchPod(plan memcached.InPlace) {
	f.t.Helper()
	patch := plan.Patch
	if patch == nil {
		return
	}
	ordinal, _ := memcached.Ordinal(patch.Pod)
	node := f.nodes[ordinal]
	if patch.Images != nil {
		f.checkAlone(node)
	}
	text := fmt.Sprintf("pod %d", ordinal)
	was := node.pod(f.mc)
	c := &node.changed
	c.annotations = add(c.annotations, patch.Annotations)
	c.images = add(c.images, patch.Images)
	for name := range patch.Images {
		text += " image"
		if image, pinned := f.pinned[name]; pinned {
			c.images[name] = image
			continue
		}
		c.starting = add(c.starting, map[string]bool{name: true})
	}
	for name, resources := range patch.Resources {
		text += " resources"
		is := memcached.ContainerOf(&was.Spec, name).Resources // a patch removes nothing
		c.resources = add(c.resources, map[string]corev1.ResourceRequirements{
			name: {Limits: add(is.Limits, resources.Limits), Requests: add(is.Requests, resources.Requests)},
		})
		if c.actual != nil { // the patch restores the old resources
			c.infeasible, c.actual = "", nil
			continue
		}
		c.actual = map[string]corev1.ResourceRequirements{name: memcached.ContainerOf(&was.Spec, name).Resources}
	}
	if patch.Revision != "" {
		text, c.label = text+" label", patch.Revision
	}
	f.writes = append(f.writes, text)
	f.log = append(f.log, fmt.Sprintf("%s %v", text, patch.Annotations))
}

func add[K comparable, V any](to, from map[K]V) map[K]V {
	all := maps.Clone(to)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, from)
	return all
}

// checkAlone checks that, if this node is ready, all other nodes exist and serve.
func (f *fleet) checkAlone(node *fakeNode) {
	f.t.Helper()
	for ordinal, other := range f.nodes {
		if other != node && node.ready() && !other.serves() {
			f.fail("%d restarts while %d is away", node.ordinal, ordinal)
		}
	}
	if len(f.nodes) != int(f.mc.Spec.Size) && node.ready() {
		f.fail("%d restarts while one is missing", node.ordinal)
	}
}

// checkMemory checks that the memory limit in effect is above memcached's item memory.
func (f *fleet) checkMemory(node *fakeNode) {
	f.t.Helper()
	pod := node.pod(f.mc)
	limit := memcached.ContainerOf(&pod.Spec, memcached.ContainerName).Resources.Limits.Memory()
	if actual, ok := node.changed.actual[memcached.ContainerName]; ok {
		limit = actual.Limits.Memory()
	}
	if items, err := strconv.ParseInt(node.list.Value("-m"), 10, 64); node.ran && (err != nil || items<<20 >= limit.Value()) {
		f.fail("%d has %d MiB of items in a pod of %s: %v", node.ordinal, items, limit, err)
	}
}

// checkPod checks a pod without a change in progress: its images and resources match the template, and the partition is 0.
func (f *fleet) checkPod(pod *corev1.Pod) {
	f.t.Helper()
	for _, name := range updated {
		is, has := memcached.ContainerOf(&f.updated.Spec, name), memcached.ContainerOf(&pod.Spec, name)
		if is != nil && (has.Image != cmp.Or(f.pinned[name], is.Image) || !holds(has.Resources, is.Resources)) {
			f.fail("%s has %s %v, not %s %v", pod.Name, has.Image, has.Resources, is.Image, is.Resources)
		}
	}
	if _, begun := pod.Annotations[memcached.InPlaceAnnotation]; begun || f.partition() != 0 {
		f.fail("%s has %v, and the partition is %d", pod.Name, pod.Annotations, f.partition())
	}
}

func inPlacePolicy(mc *cachev1alpha1.Memcached) {
	mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}
