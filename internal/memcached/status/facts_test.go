// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// The functions below make the objects of the rows: a Deployment as the API server and the Deployment controller store it, and pods
// as the kubelet reports them. The functions apply changes in order.

func inDeletion(mc *cachev1alpha1.Memcached) {
	mc.DeletionTimestamp = ptr.To(metav1.Now())
}

// An annotation and reasons that the Deployment controller sets (k8s.io/kubernetes/pkg/controller/deployment/util).
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	rolloutComplete    = "NewReplicaSetAvailable"
	rolloutOverdue     = "ProgressDeadlineExceeded"
	replicaSetRefused  = "ReplicaSetCreateError"
)

// makeDeployment returns the live Deployment of a Memcached. It has a status only if changes set one.
func makeDeployment(
	t testing.TB, mc *cachev1alpha1.Memcached, changes ...func(*appsv1.Deployment),
) *appsv1.Deployment {
	t.Helper()
	plan := desired.For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
	rendered := plan.Workload()
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	deployment := memcachedtest.Live(t, mc, rendered.(*appsv1.Deployment))
	deployment.Annotations[memcached.AppliedHashAnnotation] = "hash"
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

// counts sets the status that the Deployment controller writes when it has observed this generation.
func counts(observed int64, replicas, updated, ready int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.ObservedGeneration = observed
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas = replicas, updated, ready
	}
}

func specGeneration(generation int64) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Generation = generation }
}

func revision(number int) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, revisionAnnotation, strconv.Itoa(number))
	}
}

// progress adds the Deployment's own condition Progressing.
func progress(reason string) func(*appsv1.Deployment) {
	return deploymentSays(appsv1.DeploymentProgressing, reason, `ReplicaSet "cache-5d4f" says `+reason)
}

func deploymentSays(condition appsv1.DeploymentConditionType, reason, message string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: condition, Status: corev1.ConditionTrue, Reason: reason, Message: message,
		})
	}
}

// refused adds the condition with which a Deployment reports that the API server refused a pod.
func refused(message string) func(*appsv1.Deployment) {
	return deploymentSays(appsv1.DeploymentReplicaFailure, "FailedCreate", message)
}

// settled sets the status of a Deployment whose first rollout is complete.
func settled(d *appsv1.Deployment) {
	revision(1)(d)
	counts(d.Generation, *d.Spec.Replicas, *d.Spec.Replicas, *d.Spec.Replicas)(d)
	progress(rolloutComplete)(d)
}

// makePods returns pods of the ReplicaSet "cache-5d4f", named cache-5d4f-00 and so on. They are ready unless changes say otherwise.
func makePods(count int, changes ...func(*corev1.Pod)) []corev1.Pod {
	var pods []corev1.Pod
	for i := range count {
		pods = append(pods, makePod(fmt.Sprintf("cache-5d4f-%02d", i), changes...))
	}
	return pods
}

func makePod(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(name)}}
	ofReplicaSet("cache", "5d4f")(&pod)
	scheduled(corev1.ConditionTrue, "", "")(&pod)
	readiness(corev1.ConditionTrue)(&pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: memcached.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func ofReplicaSet(deployment, hash string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{memcached.NameLabel: "memcached", memcached.InstanceLabel: "cache", appsv1.DefaultDeploymentUniqueLabelKey: hash}
		pod.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("ReplicaSet", deployment+"-"+hash, "replicaset-uid")}
	}
}

func podSays(condition corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		if old := memcached.PodCondition(pod, condition); old != nil {
			old.Status, old.Reason, old.Message = status, reason, message
			return
		}
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: condition, Status: status, Reason: reason, Message: message,
		})
	}
}

func scheduled(status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return podSays(corev1.PodScheduled, status, reason, message)
}

func readiness(status corev1.ConditionStatus) func(*corev1.Pod) {
	return podSays(corev1.PodReady, status, "", "")
}

func notReady(pod *corev1.Pod) { readiness(corev1.ConditionFalse)(pod) }

func terminating(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.Now()) }

// waiting lets the memcached container wait, so that the pod is not ready.
func waiting(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		notReady(pod)
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}
	}
}

// exited adds an earlier exit of the memcached container. The container may have been started again since.
func exited(code int32, reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message},
		}
	}
}

// complete returns the row with defaults for the fields that it does not set.
func (c statusCase) complete(t *testing.T) statusCase {
	t.Helper()
	if c.mc == nil {
		c.mc = memcachedtest.Cache(3)
	}
	if c.deployment == nil && c.others == nil && c.pods != nil {
		c.deployment = makeDeployment(t, c.mc, settled)
	}
	switch {
	case c.changing != "":
		c.ready, c.progressing = "False "+c.changing, "True "+c.changing
	case c.trouble != "":
		c.ready, c.degraded = "False "+c.trouble, "True "+c.trouble
	case c.stuck != "":
		c.ready, c.progressing, c.degraded = "False "+c.stuck, seeDegraded, "True "+c.stuck
	}
	c.ready, c.available = cmp.Or(c.ready, allThreeReady), cmp.Or(c.available, available3)
	if reason, words, told := strings.Cut(strings.TrimPrefix(c.attention, "True "), ": "); told && c.ready == allThreeReady {
		c.ready = "True " + reason + ": 3 of 3 nodes are ready. " + words
	}
	c.progressing, c.degraded = cmp.Or(c.progressing, complete), cmp.Or(c.degraded, asExpected)
	c.ready, c.degraded = leadToRunbook(c.ready), leadToRunbook(c.degraded)
	return c
}

// leadToRunbook adds the link to the runbook to a condition that must have this link. So the rows can leave the link out.
func leadToRunbook(condition string) string {
	_, reason, _ := strings.Cut(condition, " ")
	reason, _, _ = strings.Cut(reason, ":")
	switch reason {
	case "ImagePullFailed", "NodesFailing", "Unschedulable", "AdmissionDenied", "QuotaExceeded":
		return strings.TrimSuffix(condition, ".") + ". See docs/operations/runbook.md#" + strings.ToLower(reason)
	}
	return condition
}

// statusOf returns the status after a write. If no Service was observed, it adds the desired Service.
func statusOf(mc *cachev1alpha1.Memcached, observed memcached.Observed, written memcached.Written, now time.Time) cachev1alpha1.MemcachedStatus {
	view := memcached.NewView(mc, withService(mc, observed), now)
	return For(view, desired.For(view, memcachedtest.Options), written)
}

func withService(mc *cachev1alpha1.Memcached, observed memcached.Observed) memcached.Observed {
	if !slices.ContainsFunc(observed.Children, func(child client.Object) bool {
		_, found := child.(*corev1.Service)
		return found
	}) {
		observed.Children = append(slices.Clone(observed.Children), desired.Service(mc))
	}
	return observed
}
