// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// monitoringScenarios are the scenarios of spec.monitoring, which adds an agent to each node.
var monitoringScenarios = []scenario{
	{name: "monitoring", faults: unknownFaults, act: func(r *scenarioRun) {
		r.createCache(2, monitored(true))
		r.await("nodes with agents", settled)
		r.changeSpec(monitored(false))
		r.await("nodes without agents", settled)
		r.changeSpec(monitored(true))
	}, done: rolledOut(3, 1)},
	{name: "unresponsive-node", faults: distinctFaults, setup: running(2, monitored(true)), act: func(r *scenarioRun) {
		pod := latest(history.of(r.namespace)).pods()[0]
		r.report(pod, notAnswering())
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNodesUnresponsive)
		r.report(pod, pod.Status)
	}, done: rolledOut(1, 1)},
}

func monitored(enabled bool) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Monitoring.Enabled = enabled }
}

// rolledOut checks that the Deployment has had this many templates, and that its current template has this many agents.
func rolledOut(templates, agents int) func(objects) string {
	return func(now objects) string {
		d := get[*appsv1.Deployment](now, "deployments")
		if d == nil {
			return "there is no Deployment"
		}
		want := fmt.Sprintf("template %d with %d agents", templates, agents)
		got := fmt.Sprintf("template %s with %d agents", d.Annotations[revisionAnnotation], len(d.Spec.Template.Spec.InitContainers))
		if got != want {
			return fmt.Sprintf("the Deployment has %s, want %s", got, want)
		}
		return ""
	}
}

// notAnswering returns the status of a pod in which memcached does not answer: the containers run, but the pod has been unready for half
// a minute. The operator tolerates this for less than half a minute, so it reports the problem at once.
func notAnswering() corev1.PodStatus {
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-d)) }
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ago(time.Hour)}}
	return corev1.PodStatus{
		Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: ago(30 * time.Second)},
		},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: memcached.AgentContainerName, State: running}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: memcached.ContainerName, State: running, Ready: true}},
	}
}

func (r *scenarioRun) report(reported *corev1.Pod, status corev1.PodStatus) {
	r.Helper()
	pod := &corev1.Pod{}
	r.must(user.Get(r.ctx, client.ObjectKeyFromObject(reported), pod))
	status.DeepCopyInto(&pod.Status)
	r.must(user.Status().Update(r.ctx, pod))
	r.awaitWrite(pod)
}
