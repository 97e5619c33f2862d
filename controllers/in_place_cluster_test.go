// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// fromTemplate creates the pods of a StatefulSet again, with the spec and the annotations of its template.
func fromTemplate(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	set := live(ctx, mc, &appsv1.StatefulSet{})
	for _, old := range pods(ctx, mc.Namespace, mc.Name) {
		Expect(user.Delete(ctx, &old, client.GracePeriodSeconds(0))).To(Succeed())
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: old.Namespace, Name: old.Name, Labels: old.Labels, OwnerReferences: old.OwnerReferences,
			Annotations: set.Spec.Template.Annotations,
		}, Spec: *set.Spec.Template.Spec.DeepCopy()}
		Expect(user.Create(ctx, pod)).To(Succeed())
		class := pod.Status.QOSClass
		pod.Status = *old.Status.DeepCopy()
		pod.Status.QOSClass = class
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "memcached", Ready: true, Resources: &pod.Spec.Containers[0].Resources,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
	}
}

// observeSet imitates the StatefulSet controller while the partition keeps it from replacing pods: it only counts the updated pods.
func observeSet(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	set := live(ctx, mc, &appsv1.StatefulSet{})
	status := set.Status
	status.ObservedGeneration, status.UpdateRevision, status.UpdatedReplicas = set.Generation, "next", 0
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == "next" {
			status.UpdatedReplicas++
		}
	}
	if status.UpdatedReplicas == status.Replicas {
		status.CurrentRevision = "next"
	}
	if !equalStatus(status, set.Status) {
		set.Status = status
		Expect(user.Status().Update(ctx, set)).To(Succeed())
	}
}

func equalStatus(a, b appsv1.StatefulSetStatus) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// restart imitates the kubelet, which restarts memcached with the image of the pod.
func restart(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	status := &pod.Status.ContainerStatuses[0]
	status.RestartCount++
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod.Status.Conditions[0].Status = corev1.ConditionTrue
	Expect(user.Status().Update(ctx, pod)).To(Succeed())
}

func uidsOf(ctx context.Context, mc *cachev1alpha1.Memcached) []string {
	GinkgoHelper()
	var uids []string
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		uids = append(uids, string(pod.UID)+" "+strconv.Itoa(len(pod.Name)))
	}
	slices.Sort(uids)
	return uids
}
