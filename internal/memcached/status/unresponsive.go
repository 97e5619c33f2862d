// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// How long memcached may stay silent until the silence is reported. silencePatience applies to a pod that was ready. It is not
// zero: a restarted kubelet reports a pod as not ready until it has probed the containers again, which takes some seconds.
// startPatience applies after a start of memcached or of its agent.
const (
	silencePatience = 10 * time.Second
	startPatience   = time.Minute
)

// unresponsive returns a check of a pod. The check returns a problem if memcached runs but has not answered its agent for too long.
func unresponsive(now time.Time) func(*corev1.Pod) *memcached.Problem {
	return func(pod *corev1.Pod) *memcached.Problem {
		reportAt, silent := silentUntil(pod)
		if !silent || now.Before(reportAt) {
			return nil
		}
		return &memcached.Problem{
			Reason: cachev1alpha1.ReasonNodesUnresponsive,
			Message: fmt.Sprintf("The agent of pod %s gets no answer from memcached. The node serves again when memcached answers; "+
				"to replace it by an empty one: kubectl delete pod %s -n %s", pod.Name, pod.Name, pod.Namespace),
		}
	}
}

// SilentFor returns the time until the silence of the next pod becomes a problem, or 0 if there is no such pod. No event reports that this
// time has passed.
func SilentFor(pods []*corev1.Pod, now time.Time) (after time.Duration) {
	for _, pod := range pods {
		reportAt, silent := silentUntil(pod)
		if silent {
			after = memcached.Sooner(after, max(reportAt.Sub(now), 0))
		}
	}
	return after
}

// silentUntil reports whether memcached and its agent run but the agent gets no answer. reportAt is when this silence becomes a
// problem.
func silentUntil(pod *corev1.Pod) (reportAt time.Time, silent bool) {
	server, agent := memcached.StatusOf(pod, memcached.ContainerName), memcached.StatusOf(pod, memcached.AgentContainerName)
	ready := memcached.PodCondition(pod, corev1.PodReady)
	if server == nil || server.State.Running == nil || agent == nil || agent.State.Running == nil || agent.Ready ||
		ready == nil || ready.Status == corev1.ConditionTrue {
		return time.Time{}, false
	}
	started := memcached.Later(server.State.Running.StartedAt.Time, agent.State.Running.StartedAt.Time)
	if since := ready.LastTransitionTime.Time; since.After(started) { // the pod was ready after both had started
		return since.Add(silencePatience), true
	}
	return started.Add(startPatience), true
}
