// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// statefulSet is one pass of a simulated StatefulSet controller. It follows podManagementPolicy Parallel.
type statefulSet struct {
	*cluster
	*appsv1.StatefulSet

	// revision is the name of the current template's revision. pods are the existing pods by ordinal.
	revision string
	pods     map[int]corev1.Pod
	// late reports that some pod has a new image, but kubeletDelay has not passed yet.
	late bool
}

// runStatefulSet creates missing pods and deletes surplus ones. Then it replaces pods of earlier templates one by one, from the
// highest ordinal down. A terminating pod keeps its ordinal. If there is no StatefulSet, set is empty.
func (c *cluster) runStatefulSet(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	own, err := c.owned(ctx, set, "StatefulSet", pods)
	if err != nil || set.UID == "" {
		return err
	}
	s := &statefulSet{
		cluster: c, StatefulSet: set, pods: map[int]corev1.Pod{},
		revision: set.Name + "-" + templateHash(&set.Spec.Template),
	}
	for _, pod := range own {
		index := 0
		if _, err := fmt.Sscanf(pod.Name, set.Name+"-%d", &index); err == nil {
			s.pods[index] = pod
		}
	}
	if s.Status.CurrentRevision == "" {
		s.Status.CurrentRevision = s.revision
	}
	for _, step := range []func(context.Context) error{s.report, s.fill, s.shrink, s.report, s.replace, s.report} {
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

// fill creates missing pods, and makes all pods ready that may become ready.
func (s *statefulSet) fill(ctx context.Context) error {
	for i := range s.size() {
		if err := s.run(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *statefulSet) shrink(ctx context.Context) error {
	for _, i := range slices.Sorted(maps.Keys(s.pods)) {
		if i < s.size() {
			continue
		}
		if err := s.stop(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces the pods of earlier templates, except those below the partition. It stops at the first pod that is not ready.
func (s *statefulSet) replace(ctx context.Context) error {
	for i := s.size() - 1; i >= 0; i-- {
		held := i < int(ptr.Deref(s.Spec.UpdateStrategy.RollingUpdate.Partition, 0))
		if pod := s.pods[i]; !held && pod.Labels[appsv1.StatefulSetRevisionLabel] != s.revision && pod.DeletionTimestamp == nil {
			if err := s.replaceOne(ctx, i); err != nil {
				return err
			}
		}
		if pod := s.pods[i]; !podReady(&pod) {
			return nil
		}
	}
	return nil
}

func (s *statefulSet) replaceOne(ctx context.Context, i int) error {
	if err := s.stop(ctx, i); err != nil {
		return err
	}
	if err := s.report(ctx); err != nil {
		return err
	}
	return s.run(ctx, i)
}

// run creates the pod with ordinal i if it does not exist, and makes it ready.
func (s *statefulSet) run(ctx context.Context, i int) error {
	labels := map[string]string{
		appsv1.StatefulSetRevisionLabel: s.revision, appsv1.StatefulSetPodNameLabel: fmt.Sprintf("%s-%d", s.Name, i),
	}
	maps.Copy(labels, s.Spec.Selector.MatchLabels)
	owner := metav1.OwnerReference{Kind: "StatefulSet", Name: s.Name}
	pod := newPod(s.StatefulSet, owner, fmt.Sprintf("%s-%d", s.Name, i), labels)
	pod.Annotations = maps.Clone(s.Spec.Template.Annotations)
	container := s.Spec.Template.Spec.Containers[0]
	pod.Spec.Containers = []corev1.Container{{
		Name: container.Name, Image: container.Image, Args: container.Args, Resources: container.Resources,
	}}
	pod.Spec.NodeName = "node" // the API server deletes a pod without a node at once, even with a grace period
	if existing, ok := s.pods[i]; ok {
		pod = &existing
	}
	var err error
	if pod.DeletionTimestamp == nil {
		if err = s.start(ctx, pod, justStarted(pod)); err == nil {
			err = s.sync(ctx, pod)
		}
	}
	s.pods[i] = *pod
	return err
}

// stop deletes the pod with ordinal i at once, unless it is already terminating.
func (s *statefulSet) stop(ctx context.Context, i int) error {
	pod := s.pods[i]
	if pod.DeletionTimestamp != nil {
		return nil
	}
	delete(s.pods, i)
	return s.remove(ctx, []corev1.Pod{pod})
}

// report writes the status as the StatefulSet controller would. When all pods have the current template and are ready, the update
// revision becomes the current revision.
func (s *statefulSet) report(ctx context.Context) error {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: int32(len(s.pods)), CollisionCount: ptr.To(int32(0)),
		CurrentRevision: s.Status.CurrentRevision, UpdateRevision: s.revision,
	}
	count := func(number *int32, counts bool) {
		if counts {
			*number++
		}
	}
	for _, pod := range s.pods {
		revision := pod.Labels[appsv1.StatefulSetRevisionLabel]
		count(&status.ReadyReplicas, podReady(&pod))
		count(&status.CurrentReplicas, revision == status.CurrentRevision && pod.DeletionTimestamp == nil)
		count(&status.UpdatedReplicas, revision == s.revision && pod.DeletionTimestamp == nil)
	}
	status.AvailableReplicas = status.ReadyReplicas
	if size := int32(s.size()); status.Replicas == size && status.UpdatedReplicas == size && status.ReadyReplicas == size {
		status.CurrentRevision, status.CurrentReplicas = status.UpdateRevision, status.UpdatedReplicas
	}
	return report(ctx, s.cluster, s.StatefulSet, &s.Status, status)
}
