// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// inPlace changes the images and resources of existing pods to those of the template, one pod at a time. Each step depends only on
// the observed state: see ADR-0017.
type inPlace struct {
	memcached.InPlace

	v        memcached.View
	template *corev1.PodTemplateSpec
	nodes    []*corev1.Pod
	// shrinks reports that some pods get a lower memory limit.
	shrinks bool
}

// newInPlace decides whether the existing pods can change in place to match a template.
func newInPlace(v memcached.View, template *corev1.PodTemplateSpec) *inPlace {
	p := &inPlace{v: v, template: template, nodes: v.Workload.Nodes(v.Pods)}
	p.Open = p.possible() && !p.replacesPods() && slices.ContainsFunc(p.nodes, p.outdated)
	if !p.Open {
		p.release()
		return p
	}
	for _, pod := range p.nodes {
		if !p.outdated(pod) {
			p.Done++
			continue
		}
		state, _ := memcached.InPlaceStateOf(pod)
		p.OtherImage = p.OtherImage || state.Former[memcached.ContainerName] != "" ||
			imagesDiffer(&pod.Spec, &template.Spec, memcached.ContainerName)
		p.shrinks = p.shrinks || memoryLimit(template.Spec).Cmp(*memoryLimit(pod.Spec)) < 0
	}
	return p
}

// release handles a pod that has begun to change in place, but cannot change back in place after the spec was taken back. The pod's label
// still names the template that the spec asks for again, so the StatefulSet's controller would keep the pod. release changes the label, so
// that the controller replaces the pod.
func (p *inPlace) release() {
	live := p.v.Workload
	if live == nil || p.v.Memcached.Spec.Paused || live.Partition > 0 || live.Unobserved() ||
		live.Template.Annotations[memcached.TemplateAnnotation] != p.hash() {
		return
	}
	for _, pod := range p.nodes {
		step := podStep{inPlace: p, pod: pod}
		_, begun := pod.Annotations[memcached.InPlaceAnnotation]
		if begun && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == live.UpdateRevision &&
			(imagesDiffer(&pod.Spec, &p.template.Spec, updated...) || len(step.unsized()) > 0) {
			p.Patch = &memcached.PodPatch{Pod: pod, Revision: releasedRevision}
			return
		}
	}
}

// releasedRevision is a revision that no template has.
const releasedRevision = "changed-in-place"

// imagesDiffer reports whether any of the containers with these names has another image. A container that only one of the specs has
// does not count.
func imagesDiffer(from, to *corev1.PodSpec, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		was, is := memcached.ContainerOf(from, name), memcached.ContainerOf(to, name)
		return was != nil && is != nil && was.Image != is.Image
	})
}

// possible reports whether all outdated pods can change in place. They cannot if the StatefulSet already has this template and no
// partition, because its controller then replaces outdated pods.
func (p *inPlace) possible() bool {
	live := p.v.Workload
	policy := p.v.Memcached.Spec.UpdateStrategy.PodUpdatePolicy
	if policy != cachev1alpha1.PodUpdateInPlaceOrRecreate || live == nil || p.v.Unchangeable == p.hash() ||
		len(p.v.Copies()) > 0 {
		return false
	}
	changes := live.Template.Annotations[memcached.TemplateAnnotation] != p.hash()
	if !changes && live.Partition == 0 || changes && !resizable(&live.Template.Spec, &p.template.Spec) {
		return false
	}
	return p.sameBase(live.Template.Annotations) && !slices.ContainsFunc(p.nodes, func(pod *corev1.Pod) bool {
		return p.outdated(pod) && !p.changeable(pod)
	})
}

// outgrowsVolume reports whether the items need a larger volume, which only a new pod has. A volume is limited by the memory limit with
// which its pod started. If this limit has grown in place, outgrowsVolume compares with the larger limit, and may miss that the volume
// is too small. The launcher then refuses the arguments.
func (p *inPlace) outgrowsVolume(pod *corev1.Pod) bool {
	return keepsItems(p.v.Memcached) && sizingOf(p.v.Memcached).memory >= memoryLimit(pod.Spec).Value()
}

// replacesPods reports whether the StatefulSet's controller is replacing pods. No pod then changes in place: a pod that is not
// replaced yet has an older template, which may have a limit that cannot be removed in place.
func (p *inPlace) replacesPods() bool {
	template := p.v.Workload.Template.Annotations[memcached.TemplateAnnotation]
	return p.v.Workload.Partition == 0 && slices.ContainsFunc(p.nodes, func(pod *corev1.Pod) bool {
		return pod.Annotations[memcached.TemplateAnnotation] != template
	})
}

func (p *inPlace) hash() string { return p.template.Annotations[memcached.TemplateAnnotation] }

// sameBase reports whether a pod or template with these annotations differs from the new template only in images and resources.
func (p *inPlace) sameBase(annotations map[string]string) bool {
	return annotations[memcached.BaseAnnotation] == p.template.Annotations[memcached.BaseAnnotation]
}

// outdated reports whether a pod does not match the new template, or has not finished its change.
func (p *inPlace) outdated(pod *corev1.Pod) bool {
	_, begun := pod.Annotations[memcached.InPlaceAnnotation]
	return begun || pod.Annotations[memcached.TemplateAnnotation] != p.hash()
}

// changeable reports whether a pod can change in place to match the new template. After "kubectl rollout restart", pods must be
// replaced instead.
func (p *inPlace) changeable(pod *corev1.Pod) bool {
	return p.sameBase(pod.Annotations) && memcached.ContainerOf(&pod.Spec, memcached.ContainerName) != nil &&
		pod.Annotations[kubectlRestartedAt] == p.v.Workload.Template.Annotations[kubectlRestartedAt] && !p.outgrowsVolume(pod)
}

// stopsReplacements reports whether the StatefulSet's controller has observed the new template and a partition. During a change in
// place, the partition is the size, so the controller replaces no pods.
func (p *inPlace) stopsReplacements() bool {
	live := p.v.Workload
	return live.Template.Annotations[memcached.TemplateAnnotation] == p.hash() && live.Partition > 0 && !live.Unobserved()
}

// decide sets the next step. If it needs the answer of a launcher, it adds the pod to w.Ask.
func (p *inPlace) decide(w *memcached.Wave) {
	if !p.Open || p.v.Memcached.Spec.Paused || !p.stopsReplacements() {
		return
	}
	if pod := p.next(w); pod != nil {
		step := podStep{inPlace: p, wave: w, pod: pod}
		step.decide()
	}
}

// next returns the pod to change. First comes a pod for which the others must wait: see changing. Next comes a pod that does not serve,
// because the change may repair it. Otherwise, it is the pod with the largest number that need not wait for the wave.
func (p *inPlace) next(w *memcached.Wave) (next *corev1.Pod) {
	for _, pod := range slices.Backward(p.nodes) {
		switch {
		case !p.outdated(pod):
		case p.changing(pod):
			return pod
		case memcached.PodReady(pod) && p.comesAfter(w, pod):
		case next == nil, memcached.PodReady(next) && !memcached.PodReady(pod):
			next = pod
		}
	}
	return next
}

// changing reports whether the other pods must wait for this one. They must if its annotation is of this change, and one of these is true:
// the pod has new images, its change was refused, or it does not serve.
func (p *inPlace) changing(pod *corev1.Pod) bool {
	state, _ := memcached.InPlaceStateOf(pod)
	return state.Template == p.hash() && (len(state.Former) > 0 || state.Refused != "" || !memcached.PodReady(pod))
}

// free reports whether a pod may stop serving for a moment. Disruption budgets do not apply to changes in place, so all other nodes must
// exist and serve. A pod with a new image looks ready until it restarts, but does not count as serving. A pod that does not serve is
// free, unless it must still restart with a new image. If it got its old image back before that, it would never restart, and the
// operator would wait for ever.
func (p *inPlace) free(pod *corev1.Pod, w *memcached.Wave) bool {
	if !memcached.PodReady(pod) {
		return !restartPending(pod)
	}
	return len(p.nodes) == int(p.v.Memcached.Spec.Size) && w.Moving == 0 && !p.comesAfter(w, pod) &&
		!slices.ContainsFunc(p.nodes, func(other *corev1.Pod) bool { return !memcached.PodReady(other) || restartPending(other) })
}

// comesAfter reports whether a pod must wait for the wave, which gives running nodes new arguments of memcached. If memory limits
// fall, the wave must first make memcached use less memory. Pods whose limit rises need not wait.
func (p *inPlace) comesAfter(w *memcached.Wave, pod *corev1.Pod) bool {
	return p.shrinks && w.Open && !p.grows(pod)
}

// grows reports whether a pod still has less memory than the new template.
func (p *inPlace) grows(pod *corev1.Pod) bool {
	wanted, status := memoryLimit(p.template.Spec), memcached.StatusOf(pod, memcached.ContainerName)
	return p.outdated(pod) && (wanted.Cmp(*memoryLimit(pod.Spec)) > 0 ||
		status != nil && status.Resources != nil && wanted.Cmp(*status.Resources.Limits.Memory()) > 0)
}

// updated are the names of the containers that change in place. The launcher's init container does not change, because it has
// already exited.
var updated = []string{memcached.AgentContainerName, memcached.ContainerName}

// memoryLimit returns the memory limit of the memcached container.
func memoryLimit(spec corev1.PodSpec) *resource.Quantity {
	container := memcached.ContainerOf(&spec, memcached.ContainerName)
	return container.Resources.Limits.Memory()
}

// resizable reports whether the resources can change in place. Only CPU and memory may change, no request or limit may be removed,
// and the pod must not join or leave the QoS class Guaranteed. If a cluster supports less, its API server refuses the change.
func resizable(from, to *corev1.PodSpec) bool {
	for _, name := range updated {
		was, is := memcached.ContainerOf(from, name), memcached.ContainerOf(to, name)
		if was == nil || is == nil {
			continue
		}
		if !keepsKinds(was.Resources.Limits, is.Resources.Limits) || !keepsKinds(was.Resources.Requests, is.Resources.Requests) {
			return false
		}
	}
	return guaranteed(from) == guaranteed(to)
}

// keepsKinds reports whether the new list has all resources of the old one, and differs from it only in CPU and memory.
func keepsKinds(from, to corev1.ResourceList) bool {
	for name := range from {
		if _, stays := to[name]; !stays {
			return false
		}
	}
	for name, is := range to {
		if was := from[name]; name != corev1.ResourceCPU && name != corev1.ResourceMemory && was.Cmp(is) != 0 {
			return false
		}
	}
	return true
}

// guaranteed reports whether pods are in the QoS class Guaranteed: each container has limits of CPU and memory, and no request
// differs from its limit.
func guaranteed(spec *corev1.PodSpec) bool {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for _, container := range containers {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit, limited := container.Resources.Limits[name]
				request, requested := container.Resources.Requests[name]
				if !limited || requested && limit.Cmp(request) != 0 {
					return false
				}
			}
		}
	}
	return true
}
