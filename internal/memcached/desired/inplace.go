// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// inPlace changes the images and the resources of pods so that they become like the template, one pod after the other. Each step follows
// from what is observed alone. See ADR-0017.
type inPlace struct {
	memcached.InPlace

	v        memcached.View
	template *corev1.PodTemplateSpec
	nodes    []*corev1.Pod
	// grows and shrinks say that pods get more memory, or less.
	grows, shrinks bool
}

// newInPlace finds out whether the pods change in place to be like a template.
func newInPlace(v memcached.View, template *corev1.PodTemplateSpec) *inPlace {
	p := &inPlace{v: v, template: template, nodes: v.Workload.Nodes(v.Pods)}
	p.Open = p.possible() && slices.ContainsFunc(p.nodes, p.outdated)
	if !p.Open {
		return p
	}
	for _, pod := range p.nodes {
		if !p.outdated(pod) {
			p.Done++
			continue
		}
		order := memoryLimit(template.Spec).Cmp(*memoryLimit(pod.Spec))
		p.grows, p.shrinks = p.grows || order > 0, p.shrinks || order < 0
	}
	return p
}

// possible reports whether pods that are not like the template can become so in place. Without a change of ours, others have changed the
// template, and with it replace the pods.
func (p *inPlace) possible() bool {
	live := p.v.Workload
	policy := p.v.Memcached.Spec.UpdateStrategy.PodUpdatePolicy
	if policy != cachev1alpha1.PodUpdateInPlaceIfPossible || live == nil || p.v.Former != nil || p.v.Unchangeable == p.hash() ||
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

func (p *inPlace) hash() string { return p.template.Annotations[memcached.TemplateAnnotation] }

// sameBase reports whether something with these annotations differs from the template in images and resources at most.
func (p *inPlace) sameBase(annotations map[string]string) bool {
	return annotations[memcached.BaseAnnotation] == p.template.Annotations[memcached.BaseAnnotation]
}

// outdated reports whether a pod is not known to be like the template.
func (p *inPlace) outdated(pod *corev1.Pod) bool {
	_, begun := pod.Annotations[memcached.InPlaceAnnotation]
	return begun || pod.Annotations[memcached.TemplateAnnotation] != p.hash()
}

// changeable reports whether a pod can become like the template in place. One that somebody wants to be replaced cannot.
func (p *inPlace) changeable(pod *corev1.Pod) bool {
	return p.sameBase(pod.Annotations) && memcached.ContainerOf(&pod.Spec, memcached.ContainerName) != nil &&
		pod.Annotations[kubectlRestartedAt] == p.v.Workload.Template.Annotations[kubectlRestartedAt]
}

// brakes reports whether the controller of the StatefulSet knows the template, and that it is to replace no pod.
func (p *inPlace) brakes() bool {
	live := p.v.Workload
	return live.Template.Annotations[memcached.TemplateAnnotation] == p.hash() && live.Partition > 0 && !live.Unobserved()
}

// decide takes the next step. It asks by way of the wave, whose steps and these exclude each other.
func (p *inPlace) decide(w *memcached.Wave) {
	if !p.Open || p.v.Memcached.Spec.Paused || !p.brakes() {
		return
	}
	if pod := p.next(); pod != nil {
		step := podStep{inPlace: p, wave: w, pod: pod}
		step.decide()
	}
}

// next returns the pod to change: one in the middle of it, so that there is at most one; else one that does not serve, for the change may
// be what helps it; else the last one.
func (p *inPlace) next() (next *corev1.Pod) {
	for _, pod := range slices.Backward(p.nodes) {
		switch {
		case !p.outdated(pod):
		case p.changing(pod):
			return pod
		case next == nil, memcached.PodReady(next) && !memcached.PodReady(pod):
			next = pod
		}
	}
	return next
}

// changing reports whether a pod is in the middle of the change, or was refused it. One that only says that it is to change, and serves,
// may wait for another one.
func (p *inPlace) changing(pod *corev1.Pod) bool {
	state, _ := memcached.InPlaceStateOf(pod)
	return state.Template == p.hash() && (len(state.Former) > 0 || state.Refused != "" || !memcached.PodReady(pod))
}

// free reports whether a pod may leave for a moment: no disruption budget protects the cache from that.
func (p *inPlace) free(pod *corev1.Pod, w *memcached.Wave) bool {
	if !memcached.PodReady(pod) {
		return true
	}
	return len(p.nodes) == int(p.v.Memcached.Spec.Size) && w.Moving == 0 && (!p.shrinks || !w.Open) &&
		!slices.ContainsFunc(p.nodes, func(other *corev1.Pod) bool { return !memcached.PodReady(other) })
}

// updated are the containers whose images and resources change in place. The launcher has done its work.
var updated = []string{memcached.AgentContainerName, memcached.ContainerName}

// memoryLimit is that of memcached.
func memoryLimit(spec corev1.PodSpec) *resource.Quantity {
	container := memcached.ContainerOf(&spec, memcached.ContainerName)
	return container.Resources.Limits.Memory()
}

// resizable reports whether the kubelet can give pods other resources: other numbers of CPUs and memory. Requests and limits cannot go,
// and pods stay in their class of quality of service. What else a cluster cannot do, its API server says.
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

// keepsKinds reports whether no kind of resource goes, and only CPUs and memory change.
func keepsKinds(from, to corev1.ResourceList) bool {
	for name, was := range from {
		is, stays := to[name]
		if !stays || name != corev1.ResourceCPU && name != corev1.ResourceMemory && was.Cmp(is) != 0 {
			return false
		}
	}
	return true
}

// guaranteed reports whether pods are in that class of quality of service: all requests are limits.
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
