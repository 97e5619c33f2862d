// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// podStep decides the next step of one pod towards the new template: first its resources, then its images. When the pod serves
// again, the last step sets the label by which the StatefulSet's controller counts updated pods. The pod itself shows which steps
// are done, so another process can continue.
type podStep struct {
	*inPlace

	wave  *memcached.Wave
	pod   *corev1.Pod
	state memcached.InPlaceState
	// begun reports that the pod's annotation marks it for the change to this template.
	begun bool
}

func (s *podStep) decide() {
	s.state, s.begun = memcached.InPlaceStateOf(s.pod)
	if s.state.Template != s.hash() {
		s.state, s.begun = memcached.InPlaceState{Template: s.hash()}, false
	}
	switch {
	case s.state.Refused != "":
		s.goBack()
	case s.refused():
	case s.resize(), s.resizing():
	case s.setImages(), s.restarting():
	default:
		s.finish()
	}
}

// refused patches the pod's annotation to record that an image cannot be pulled, or that the cluster node cannot give the resources.
// It returns false if neither is the case. After a failed pull, the node does not serve, so the patch also restores the old images.
// goBack restores resources later.
func (s *podStep) refused() bool {
	for _, name := range updated {
		former, changed := s.state.Former[name]
		words := memcached.PullFailure(memcached.StatusOf(s.pod, name))
		if container := memcached.ContainerOf(&s.pod.Spec, name); !changed || words == "" || container.Image == former {
			continue
		}
		s.refuse(cachev1alpha1.ReasonImagePullFailed, fmt.Sprintf("the image %s cannot be pulled: %s",
			memcached.ContainerOf(&s.template.Spec, name).Image, words))
		s.Patch.Images = s.state.Former
		return true
	}
	pending := s.pending()
	if !s.begun || pending == nil || pending.Reason != corev1.PodReasonInfeasible || len(s.unsized()) > 0 || !s.unresized() {
		return false
	}
	s.refuse(cachev1alpha1.ReasonInPlaceRefused, "its cluster node cannot give it other resources: "+pending.Message)
	return true
}

// longestWords is the maximum length, in bytes, of the message about a refusal in the pod's annotation.
const longestWords = 512

func (s *podStep) refuse(reason, words string) {
	words = words[:min(len(words), longestWords)]
	refused := memcached.InPlaceState{Template: s.hash(), Reason: reason, Refused: words}
	s.patch(memcached.PodPatch{Annotations: map[string]string{memcached.InPlaceAnnotation: refused.String()}})
}

// goBack sets the resources in the pod's spec back to those that the containers actually have, and reports the refusal.
func (s *podStep) goBack() {
	actual := map[string]corev1.ResourceRequirements{}
	for _, name := range updated {
		container, status := memcached.ContainerOf(&s.pod.Spec, name), memcached.StatusOf(s.pod, name)
		if container != nil && status != nil && status.Resources != nil && !holds(container.Resources, *status.Resources) {
			actual[name] = *status.Resources
		}
	}
	if len(actual) > 0 {
		s.patch(memcached.PodPatch{Resources: actual})
	}
	s.Problem = &memcached.Problem{Reason: s.state.Reason, Message: fmt.Sprintf(
		"Pod %s was not changed in place: %s. It has its former images and resources, and the other pods are left as they are. Correct the "+
			"spec, or try again: kubectl annotate pod %s -n %s %s-",
		s.pod.Name, s.state.Refused, s.pod.Name, s.pod.Namespace, memcached.InPlaceAnnotation)}
}

// pending returns the condition with which the kubelet says that it cannot apply the pod's resources yet, or nil. A condition about
// an earlier change does not count.
func (s *podStep) pending() *corev1.PodCondition {
	pending := memcached.PodCondition(s.pod, corev1.PodResizePending)
	if pending == nil || pending.ObservedGeneration > 0 && pending.ObservedGeneration < s.pod.Generation {
		return nil
	}
	return pending
}

// unsized returns the template's resources for those containers that have other resources in the pod's spec.
func (s *podStep) unsized() map[string]corev1.ResourceRequirements {
	wanted := map[string]corev1.ResourceRequirements{}
	for _, name := range updated {
		is, has := memcached.ContainerOf(&s.template.Spec, name), memcached.ContainerOf(&s.pod.Spec, name)
		if is != nil && has != nil && !holds(has.Resources, is.Resources) {
			wanted[name] = is.Resources
		}
	}
	return wanted
}

// unresized reports whether the kubelet has not applied the resources in the pod's spec yet. CPU limits do not count: a kubelet with
// cpuCFSQuota false never reports a new CPU limit, and any CPU limit fits on a cluster node.
func (s *podStep) unresized() bool {
	for _, name := range updated {
		container, status := memcached.ContainerOf(&s.pod.Spec, name), memcached.StatusOf(s.pod, name)
		if container == nil || status == nil || status.Resources == nil {
			continue
		}
		wanted := container.Resources.DeepCopy()
		delete(wanted.Limits, corev1.ResourceCPU)
		if !holds(*status.Resources, *wanted) {
			return true
		}
	}
	return false
}

// resize gives the pod the resources of the template, or waits until it may do so. It returns false if the pod already has them.
func (s *podStep) resize() bool {
	wanted := s.unsized()
	switch {
	case len(wanted) == 0:
		return false
	case !s.free(s.pod, s.wave):
	case !s.begun:
		s.patch(memcached.PodPatch{Annotations: map[string]string{memcached.InPlaceAnnotation: s.state.String()}})
	default:
		s.patch(memcached.PodPatch{Resources: wanted})
	}
	return true
}

// resizing reports whether the step must wait until the kubelet has applied the resources.
func (s *podStep) resizing() bool {
	if pending := s.pending(); pending != nil {
		s.Blocked = fmt.Sprintf("Pod %s waits for its resources: %s: %s", s.pod.Name, pending.Reason, pending.Message)
		return true
	}
	if progress := memcached.PodCondition(s.pod, corev1.PodResizeInProgress); progress != nil && progress.Message != "" {
		s.Blocked = fmt.Sprintf("Pod %s waits for its resources: %s: %s", s.pod.Name, progress.Reason, progress.Message)
	}
	return s.unresized()
}

// setImages gives the pod the images of the template, if the pod may change now. It returns true while the images have to change,
// even if the pod must wait. It returns false if the images are right, or if they were already sent. It does not send them twice: a
// webhook that has changed them back would do so again.
func (s *podStep) setImages() bool {
	if s.state.Former != nil {
		return false
	}
	images, former, restarts := map[string]string{}, map[string]string{}, map[string]int32{}
	for _, name := range updated {
		is, has := memcached.ContainerOf(&s.template.Spec, name), memcached.ContainerOf(&s.pod.Spec, name)
		if is == nil || has == nil || is.Image == has.Image {
			continue
		}
		images[name], former[name], restarts[name] = is.Image, has.Image, startsOf(s.pod, name)
	}
	switch {
	case len(images) == 0:
		return false
	case s.free(s.pod, s.wave):
		s.state.Former, s.state.Restarts = former, restarts
		s.patch(memcached.PodPatch{Images: images, Annotations: map[string]string{memcached.InPlaceAnnotation: s.state.String()}})
	}
	return true
}

// startsOf returns how often a container has restarted. It returns -1 if the container is not running, so that its next start counts
// as a restart: that start uses the image in the pod's spec.
func startsOf(pod *corev1.Pod, name string) int32 {
	status := memcached.StatusOf(pod, name)
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

// restartPending reports whether a container of the pod still runs with its old image.
func restartPending(pod *corev1.Pod) bool {
	state, _ := memcached.InPlaceStateOf(pod)
	for name, restarts := range restartsOf(pod, state) {
		if starts := startsOf(pod, name); starts >= 0 && starts <= restarts {
			return true
		}
	}
	return false
}

// restartsOf returns the restart counts from before the change. It leaves out containers whose image a webhook has changed back,
// because the kubelet does not restart them.
func restartsOf(pod *corev1.Pod, state memcached.InPlaceState) map[string]int32 {
	restarts := maps.Clone(state.Restarts)
	maps.DeleteFunc(restarts, func(name string, _ int32) bool {
		container := memcached.ContainerOf(&pod.Spec, name)
		return container != nil && container.Image == state.Former[name]
	})
	return restarts
}

// probeSeconds is how long, in seconds, the kubelet may report a restarted container as ready because of earlier probes.
const probeSeconds = 3

// restarting reports whether the step must wait until the pod has served with its new images, for minReadySeconds and at least for
// probeSeconds.
func (s *podStep) restarting() bool {
	for name, restarts := range restartsOf(s.pod, s.state) {
		if startsOf(s.pod, name) <= restarts {
			return true
		}
	}
	if !memcached.PodReady(s.pod) {
		return true
	}
	if len(s.state.Former) == 0 {
		return false // only resources have changed, without a restart
	}
	answer, answered := s.v.Answers[s.pod.UID]
	switch {
	case !answered:
		s.wave.Ask = append(s.wave.Ask, s.pod)
	case answer.Failure != "":
		s.Blocked = fmt.Sprintf("The operator cannot ask the node %s on port %d whether it serves (%s). Let the operator reach that port",
			s.pod.Name, memcached.LauncherPort, answer.Failure)
	default:
		return answer.Restarting != "" || answer.SecondsInEffect < max(probeSeconds, int64(s.v.Memcached.Spec.UpdateStrategy.MinReadySeconds))
	}
	return true
}

// finish makes the StatefulSet's controller count the pod as updated.
func (s *podStep) finish() {
	s.patch(memcached.PodPatch{
		Revision: s.v.Workload.UpdateRevision,
		Annotations: map[string]string{
			memcached.TemplateAnnotation: s.hash(), memcached.InPlaceAnnotation: "",
		},
	})
}

func (s *podStep) patch(patch memcached.PodPatch) {
	patch.Pod = s.pod
	s.Patch = &patch
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
