// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/memcached"
)

// missingImage is an image that the simulated kubelet cannot pull.
const missingImage = "memcached:missing"

// kubeletDelay is how long the kubelet takes to restart a container after its image has changed. Until then, the pod's status is
// unchanged. The delay is so long that the operator sees the unchanged status after its own patch of the pod.
const kubeletDelay = 1500 * time.Millisecond

// errLate means that a pod has a new image, but kubeletDelay has not passed yet.
var errLate = errors.New("a kubelet is late")

// noticed maps the UID and generation of a pod to the time when the kubelet first saw the new image of this generation.
var noticed sync.Map

func justStarted(pod *corev1.Pod) corev1.ContainerStatus {
	container := pod.Spec.Containers[0]
	return corev1.ContainerStatus{
		Name: memcached.ContainerName, Image: container.Image, Resources: &container.Resources, Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
}

// sync does what the kubelet does for a running pod: it restarts memcached if the image has changed, and applies changed resources. It
// skips a pod whose container status contains no image, because a test has set that status.
func (s *statefulSet) sync(ctx context.Context, pod *corev1.Pod) error {
	found := memcached.StatusOf(pod, memcached.ContainerName)
	if found == nil || found.Image == "" || pod.DeletionTimestamp != nil {
		return nil
	}
	allLaunchers.start(ctx, pod)
	status, ready := justStarted(pod), corev1.ConditionTrue
	status.RestartCount = found.RestartCount
	if status.Image != found.Image {
		since, _ := noticed.LoadOrStore(fmt.Sprint(pod.UID, pod.Generation), time.Now())
		if time.Since(since.(time.Time)) < kubeletDelay {
			s.late = true
			return nil
		}
		status.RestartCount++
	}
	if status.Image == missingImage {
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}}
		status.Ready, ready, status.RestartCount = false, corev1.ConditionFalse, found.RestartCount
	}
	if equality.Semantic.DeepEqual(*found, status) {
		return nil
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return s.client.Status().Update(ctx, pod)
}

func podUIDs(now objects) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range now.pods() {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// inPlaceViolations checks two rules for changes of a pod's image or resources in place, and returns the first violation. The change
// of a ready pod must not begin while another pod is unready or being changed. A change must not end before the kubelet has applied
// it.
func inPlaceViolations(entries []entry) []string {
	now := objects{}
	for _, e := range entries {
		before, _ := now[e.key()].(*corev1.Pod)
		now.add(e)
		pod, ok := e.object.(*corev1.Pod)
		if !ok || before == nil || before.UID != pod.UID {
			continue
		}
		if before.Annotations[memcached.InPlaceAnnotation] != "" && pod.Annotations[memcached.InPlaceAnnotation] == "" && beingChanged(pod) {
			return []string{fmt.Sprintf("version %d: the change of %s ends before it has restarted", e.version, pod.Name)}
		}
		if !podReady(before) || equality.Semantic.DeepEqual(before.Spec, pod.Spec) {
			continue
		}
		for _, other := range now.pods() {
			if other.UID != pod.UID && (!podReady(other) || beingChanged(other)) {
				return []string{fmt.Sprintf("version %d: %s is changed while %s is", e.version, pod.Name, other.Name)}
			}
		}
	}
	return nil
}

// beingChanged reports whether a change of a pod's image or resources has begun, but the kubelet has not applied it yet.
func beingChanged(pod *corev1.Pod) bool {
	state, _ := memcached.InPlaceStateOf(pod)
	status, container := memcached.StatusOf(pod, memcached.ContainerName), pod.Spec.Containers[0]
	return len(state.Former) > 0 || status != nil && status.Image != "" &&
		(status.Image != container.Image || !equality.Semantic.DeepEqual(*status.Resources, container.Resources))
}
