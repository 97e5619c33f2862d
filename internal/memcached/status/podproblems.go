// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// PodProblem returns why pods of a workload are missing or not ready, or nil. Of several problems, it returns the first in the
// order of the checks. It leaves out parts of the cluster's messages that differ at each retry, because each new message costs a
// write of the status.
func PodProblem(w *memcached.Workload, pods []corev1.Pod, now time.Time) *memcached.Problem {
	if w == nil {
		return nil
	}
	nodes := w.Nodes(pods)
	if w.Refused != "" {
		return &memcached.Problem{Reason: RefusalReason(w.Refused), Message: w.Refused + refusalRemedy(w.Refused)}
	}
	for _, check := range []func(*corev1.Pod) *memcached.Problem{imagePullFailed, secretRefused, crashing, unschedulable, unresponsive(now)} {
		for _, pod := range nodes {
			if problem := check(pod); problem != nil {
				return problem
			}
		}
	}
	return nil
}

func imagePullFailed(pod *corev1.Pod) *memcached.Problem {
	for _, container := range memcached.ContainerStatuses(pod) {
		if words := memcached.PullFailure(&container); words != "" {
			return &memcached.Problem{
				Reason:  cachev1alpha1.ReasonImagePullFailed,
				Message: fmt.Sprintf("The image of pod %s cannot be pulled: %s", pod.Name, words) + pullRemedy(container.Name),
			}
		}
	}
	return nil
}

// crashing returns a problem if a container does not start, or has exited and is not ready again.
func crashing(pod *corev1.Pod) *memcached.Problem {
	for _, container := range memcached.ContainerStatuses(pod) {
		if problem := crashOf(pod, container); problem != nil {
			return problem
		}
	}
	return nil
}

func crashOf(pod *corev1.Pod, container corev1.ContainerStatus) *memcached.Problem {
	if reason, _ := refusalOf(container); reason != "" { // the agent refuses a Secret: see secretRefused
		return nil
	}
	waiting, exit := container.State.Waiting, crashExit(pod, container)
	problem := &memcached.Problem{Reason: cachev1alpha1.ReasonNodesCrashing}
	switch {
	// CreateContainerConfigError is one of the reasons that end with Error. RunContainerError alternates with the exit at each retry,
	// so if there was an exit, only the exit is reported.
	case waiting != nil && strings.HasSuffix(waiting.Reason, "Error") && (exit == nil || waiting.Reason != "RunContainerError"):
		problem.Message = fmt.Sprintf("Pod %s cannot start: %s: %s", pod.Name, waiting.Reason, waiting.Message) +
			startRemedy(container.Name, waiting.Message)
	case exit != nil:
		problem.Message = fmt.Sprintf("%s in pod %s ", container.Name, pod.Name) + wordsFor(container, exit)
	case waiting != nil && waiting.Reason == "CrashLoopBackOff":
		problem.Message = fmt.Sprintf("%s in pod %s exits again and again", container.Name, pod.Name)
	default:
		return nil
	}
	return problem
}

// wordsFor describes how a container exited, and names a remedy if memcached exited.
func wordsFor(container corev1.ContainerStatus, exit *corev1.ContainerStateTerminated) string {
	words := fmt.Sprintf("exited with code %d (%s)", exit.ExitCode, exit.Reason)
	if exit.Message != "" {
		words += ", with the message " + quoted(exit.Message)
	}
	if container.Name == memcached.ContainerName {
		words += remedyFor(exit) + startRemedy(container.Name, exit.Message)
	}
	return words
}

// remedyFor names the spec field that helps if memcached exits in this way. It is empty if no field is known to help.
func remedyFor(exit *corev1.ContainerStateTerminated) string {
	switch {
	case exit.Reason == "OOMKilled":
		return ": it needs more memory than its limit; raise spec.resources.limits.memory"
	case exit.ExitCode == notEnoughFiles:
		return ": the container may open fewer files than spec.config.maxConnections needs; lower it, or allow more on the cluster node"
	default:
		return ""
	}
}

// notEnoughFiles is the exit code of a memcached that cannot raise its limit of open files (EX_OSERR, memcached.c).
const notEnoughFiles = 71

// crashExit returns the exit of a container if it is a crash, else nil. While a pod changes in place, an exit with code 0 is no crash:
// the kubelet then restarts containers with a new image.
func crashExit(pod *corev1.Pod, container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	exit := exitOf(pod, container)
	if asked, _ := memcached.AskedOf(pod.Annotations); asked.Former != nil && exit != nil && exit.ExitCode == 0 {
		return nil
	}
	return exit
}

// exitOf returns the exit that keeps a pod from being ready, or nil. If the container runs again, its last exit counts until the
// pod becomes ready. If the pod stops being ready after that, the old exit is not the cause.
func exitOf(pod *corev1.Pod, container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	exit, running := memcached.LastExit(container), container.State.Running
	ready := memcached.PodCondition(pod, corev1.PodReady)
	switch {
	case memcached.PodReady(pod), container.Ready:
		return nil
	case running != nil && ready != nil && ready.LastTransitionTime.After(running.StartedAt.Time):
		return nil
	}
	return exit
}

func unschedulable(pod *corev1.Pod) *memcached.Problem {
	scheduled := memcached.PodCondition(pod, corev1.PodScheduled)
	if scheduled == nil || scheduled.Status != corev1.ConditionFalse || scheduled.Reason != corev1.PodReasonUnschedulable {
		return nil
	}
	return &memcached.Problem{
		Reason:  cachev1alpha1.ReasonUnschedulable,
		Message: fmt.Sprintf("Pod %s cannot be scheduled: %s", pod.Name, scheduled.Message) + schedulingRemedies(scheduled.Message),
	}
}
