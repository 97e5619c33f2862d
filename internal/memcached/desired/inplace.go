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

// inPlace changes the images and the resources of pods to those of the template, one pod after the other. Each step follows from the
// observed state alone. See ADR-0017.
type inPlace struct {
	memcached.InPlace

	v        memcached.View
	template *corev1.PodTemplateSpec
	nodes    []*corev1.Pod
	// grows and shrinks report that pods get more memory, or less.
	grows, shrinks bool
}

// newInPlace finds out whether pods change in place to match a template.
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

// possible reports whether all pods can change in place to match the template. If the template is unchanged and nodes may be replaced,
// outdated pods come from somebody else's change of the template, which replaces them.
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

// outdated reports whether a pod is not known to match the template.
func (p *inPlace) outdated(pod *corev1.Pod) bool {
	_, begun := pod.Annotations[memcached.InPlaceAnnotation]
	return begun || pod.Annotations[memcached.TemplateAnnotation] != p.hash()
}

// changeable reports whether a pod can change in place to match the template. A pod that somebody restarts with kubectl is replaced
// instead.
func (p *inPlace) changeable(pod *corev1.Pod) bool {
	return p.sameBase(pod.Annotations) && memcached.ContainerOf(&pod.Spec, memcached.ContainerName) != nil &&
		pod.Annotations[kubectlRestartedAt] == p.v.Workload.Template.Annotations[kubectlRestartedAt]
}

// brakes reports whether the controller of the StatefulSet has seen the template, and that it is not to replace pods.
func (p *inPlace) brakes() bool {
	live := p.v.Workload
	return live.Template.Annotations[memcached.TemplateAnnotation] == p.hash() && live.Partition > 0 && !live.Unobserved()
}

// decide takes the next step. Questions to nodes go through the wave, which takes no step at the same time.
func (p *inPlace) decide(w *memcached.Wave) {
	if !p.Open || p.v.Memcached.Spec.Paused || !p.brakes() {
		return
	}
	if pod := p.next(); pod != nil {
		step := podStep{inPlace: p, wave: w, pod: pod}
		step.decide()
	}
}

// next returns the pod to change: one that is being changed, so that there is never a second one; else one that does not serve, which the
// change may repair; else the last one.
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

// changing reports whether a pod is being changed, or its change was refused. A pod that serves and is only marked for the change can wait
// for another one.
func (p *inPlace) changing(pod *corev1.Pod) bool {
	state, _ := memcached.InPlaceStateOf(pod)
	return state.Template == p.hash() && (len(state.Former) > 0 || state.Refused != "" || !memcached.PodReady(pod))
}

// free reports whether a pod may stop serving for a moment. No disruption budget limits that, so all others must serve. A pod that is yet
// to restart with the image of an earlier template still looks as if it did.
func (p *inPlace) free(pod *corev1.Pod, w *memcached.Wave) bool {
	if !memcached.PodReady(pod) {
		return true
	}
	return len(p.nodes) == int(p.v.Memcached.Spec.Size) && w.Moving == 0 && (!p.shrinks || !w.Open) &&
		!slices.ContainsFunc(p.nodes, func(other *corev1.Pod) bool { return !memcached.PodReady(other) || restartPending(other) })
}

// updated are the containers whose images and resources change in place. The one that installs the launcher has ended.
var updated = []string{memcached.AgentContainerName, memcached.ContainerName}

// memoryLimit is that of memcached.
func memoryLimit(spec corev1.PodSpec) *resource.Quantity {
	container := memcached.ContainerOf(&spec, memcached.ContainerName)
	return container.Resources.Limits.Memory()
}

// resizable reports whether pods can get the resources in place: only CPU and memory change, no request or limit is removed, and the
// quality of service class stays. If a cluster can do less, its API server says so.
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

// keepsKinds reports whether no kind of resource is removed, and only CPU and memory change.
func keepsKinds(from, to corev1.ResourceList) bool {
	for name, was := range from {
		is, stays := to[name]
		if !stays || name != corev1.ResourceCPU && name != corev1.ResourceMemory && was.Cmp(is) != 0 {
			return false
		}
	}
	return true
}

// guaranteed reports whether pods are in that quality of service class: all requests equal the limits.
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
