// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/memcached"
)

// statefulSet is one pass of a simulated StatefulSet controller and of the kubelets of its pods. It follows podManagementPolicy Parallel
// and the update strategy OnDelete.
type statefulSet struct {
	*cluster
	*appsv1.StatefulSet

	// revision is the name of the current template's revision. pods are the existing pods by ordinal.
	revision string
	pods     map[int]corev1.Pod
	// late reports that some pod has a new image, but kubeletDelay has not passed yet.
	late bool
}

// runStatefulSet creates missing pods and deletes surplus ones. A terminating pod keeps its ordinal. If there is no StatefulSet, set is
// empty.
func (c *cluster) runStatefulSet(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	own, err := c.owned(ctx, set, "StatefulSet", pods)
	if err != nil || set.UID == "" {
		return err
	}
	s := &statefulSet{
		cluster: c, StatefulSet: set, pods: map[int]corev1.Pod{}, revision: set.Name + "-" + templateHash(&set.Spec.Template),
	}
	for _, pod := range own {
		if ordinal, ok := memcached.Ordinal(&pod); ok {
			s.pods[ordinal] = pod
		}
	}
	for _, step := range []func(context.Context) error{s.report, s.fill, s.shrink, s.report} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if s.late {
		return errLate
	}
	return nil
}

func (s *statefulSet) size() int { return int(ptr.Deref(s.Spec.Replicas, 1)) }

// fill replaces missing and failed pods by pods of the current template, and lets the kubelets act on all.
func (s *statefulSet) fill(ctx context.Context) error {
	for i := range s.size() {
		pod, exists := s.pods[i]
		if exists && (pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil && !disrupted(&pod)) {
			if err := s.remove(ctx, []corev1.Pod{pod}); err != nil {
				return err
			}
			exists = false
		}
		if !exists {
			pod = *s.newPod(i)
			if err := s.client.Create(ctx, &pod); err != nil {
				return err
			}
		}
		if pod.DeletionTimestamp == nil {
			if err := s.sync(ctx, &pod); err != nil {
				return err
			}
		}
		s.pods[i] = pod
	}
	return nil
}

func (s *statefulSet) newPod(ordinal int) *corev1.Pod {
	name := fmt.Sprintf("%s-%d", s.Name, ordinal)
	labels := map[string]string{appsv1.StatefulSetRevisionLabel: s.revision, appsv1.StatefulSetPodNameLabel: name}
	maps.Copy(labels, s.Spec.Selector.MatchLabels)
	pod := newPod(s.StatefulSet, metav1.OwnerReference{Kind: "StatefulSet", Name: s.Name}, name, labels)
	pod.Annotations = maps.Clone(s.Spec.Template.Annotations)
	container := s.Spec.Template.Spec.Containers[0]
	pod.Spec.Containers = []corev1.Container{{
		Name: container.Name, Image: container.Image, Args: container.Args, Resources: container.Resources,
	}}
	pod.Spec.NodeName = "node" // the API server deletes a pod without a node at once, even with a grace period
	return pod
}

// shrink deletes surplus pods at once, unless they are already terminating.
func (s *statefulSet) shrink(ctx context.Context) error {
	var surplus []corev1.Pod
	for _, i := range slices.Sorted(maps.Keys(s.pods)) {
		if pod := s.pods[i]; i >= s.size() && pod.DeletionTimestamp == nil {
			surplus = append(surplus, pod)
			delete(s.pods, i)
		}
	}
	return s.remove(ctx, surplus)
}

// report writes the status as the StatefulSet controller would. With OnDelete, the current revision stays the first one.
func (s *statefulSet) report(ctx context.Context) error {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: int32(len(s.pods)), CollisionCount: ptr.To(int32(0)),
		CurrentRevision: s.Status.CurrentRevision, UpdateRevision: s.revision,
	}
	if status.CurrentRevision == "" {
		status.CurrentRevision = s.revision
	}
	for _, pod := range s.pods {
		revision := pod.Labels[appsv1.StatefulSetRevisionLabel]
		for number, counts := range map[*int32]bool{
			&status.ReadyReplicas:   podReady(&pod),
			&status.CurrentReplicas: revision == status.CurrentRevision && pod.DeletionTimestamp == nil,
			&status.UpdatedReplicas: revision == s.revision && pod.DeletionTimestamp == nil,
		} {
			if counts {
				*number++
			}
		}
	}
	status.AvailableReplicas = status.ReadyReplicas
	return report(ctx, s.cluster, s.StatefulSet, &s.Status, status)
}

// The simulated kubelet cannot pull missingImage. A pod with unreadyImage runs, but never becomes ready.
const (
	missingImage = "memcached:missing"
	unreadyImage = "memcached:unready"
)

// kubeletDelay is how long the kubelet takes to restart a container after its image has changed. Until then, the pod's status is
// unchanged. The delay is so long that the operator sees the unchanged status after its own patch of the pod.
const kubeletDelay = 1500 * time.Millisecond

// errLate means that a pod has a new image, but kubeletDelay has not passed yet.
var errLate = errors.New("a kubelet is late")

// noticed maps the UID and generation of a pod to the time when the kubelet first saw the new image of this generation.
var noticed sync.Map

// sync does what the kubelet and memcached's parent do for a pod. The kubelet starts memcached, applies changed resources, and restarts
// memcached if the image has changed. The parent follows its entry.
func (s *statefulSet) sync(ctx context.Context, pod *corev1.Pod) error {
	container, found := pod.Spec.Containers[0], memcached.StatusOf(pod, memcached.ContainerName)
	status := corev1.ContainerStatus{
		Name: memcached.ContainerName, Image: container.Image, Resources: &container.Resources, Ready: container.Image != unreadyImage,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
	if found != nil {
		status.RestartCount, status.LastTerminationState = found.RestartCount, found.LastTerminationState
	}
	if found != nil && status.Image != found.Image {
		since, _ := noticed.LoadOrStore(fmt.Sprint(pod.UID, pod.Generation), time.Now())
		if time.Since(since.(time.Time)) < kubeletDelay {
			s.late = true
			return nil
		}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		if status.Image != missingImage {
			status.RestartCount++
		}
	}
	if status.Image == missingImage {
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}}
		status.Ready = false
	}
	if found == nil || !equality.Semantic.DeepEqual(*found, status) {
		ready := corev1.ConditionFalse
		if status.Ready {
			ready = corev1.ConditionTrue
		}
		pod.Status.Phase, pod.Status.PodIP, pod.Status.ContainerStatuses = corev1.PodRunning, "192.0.2.1", []corev1.ContainerStatus{status}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		if err := s.client.Status().Update(ctx, pod); err != nil {
			return err
		}
	}
	_, err := allParents.follow(ctx, pod)
	return err
}
