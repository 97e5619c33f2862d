// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// TestUnresponsive has pods whose agents get no answer from memcached, or seem to get none. podRows covers the message.
func TestUnresponsive(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*corev1.Pod)
		reported bool
	}{
		"silent for ten seconds":                     {silent(-60, -60, -10), true},
		"silent for a moment":                        {silent(-60, -60, -9), false},
		"never answered in a minute":                 {silent(-60, -61, -61), true},
		"memcached has just been started":            {silent(-59, -61, -61), false},
		"memcached was restarted a minute ago":       {silent(-60, -600, -61), true},
		"the agent has just been started":            {silent(-600, -59, -60), false},
		"ready":                                      {then(silent(-60, -60, -30), readiness(corev1.ConditionTrue)), false},
		"the agent has an answer":                    {then(silent(-60, -60, -30), agentReady), false},
		"the agent does not run":                     {then(silent(-60, -60, -30), agentWaits), false},
		"memcached does not run":                     {then(silent(-60, -60, -30), stoppedAs(0, 1, "Error")), false},
		"memcached refuses connections":              {then(silent(-60, -60, -30), refusing), true},
		"no agent":                                   {then(silent(-60, -60, -30), withoutAgent), false},
		"a container of somebody else has no answer": {then(silent(-60, -60, -30), agentOfOthers), false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := makePod("cache-5d4f-02", c.change)
			problem := unresponsive(noon)(&pod)
			if reported := problem != nil && problem.Reason == cachev1alpha1.ReasonNodesUnresponsive; reported != c.reported {
				t.Errorf("reported: %v", problem)
			}
		})
	}
}

func agentReady(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].Ready = true }

func agentWaits(pod *corev1.Pod) {
	pod.Status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
}

func refusing(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].Ready = false }

func withoutAgent(pod *corev1.Pod) { pod.Status.InitContainerStatuses = nil }

func agentOfOthers(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].Name = "agent" }

// silent returns a change that turns a pod into one whose agent gets no answer from memcached. The arguments are seconds after
// noon: when the two containers started, and when the pod became unready or was created.
func silent(server, agent, unready int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		notReady(pod)
		memcached.PodCondition(pod, corev1.PodReady).LastTransitionTime = at(unready)
		running := func(seconds int) corev1.ContainerState {
			return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(seconds)}}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: memcached.ContainerName, Ready: true, State: running(server)}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: memcached.AgentContainerName, State: running(agent)}}
	}
}

func agentExited(code int32, reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].LastTerminationState = exit(code, reason) }
}
