// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcached"
)

// States of a node that the plugin itself defines.
const (
	stateReady       = "Ready"
	stateNotReady    = "NotReady"
	stateTerminating = "Terminating"
)

// stateOf returns the state of a pod in one word, or the reason why its memcached does not run.
func stateOf(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return stateTerminating
	case ended(pod):
		return cmp.Or(pod.Status.Reason, string(pod.Status.Phase))
	case memcached.PodReady(pod):
		return stateReady
	}
	for _, container := range memcached.ContainerStatuses(pod) {
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "" {
			return waiting.Reason
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		return stateNotReady
	}
	if scheduled := memcached.PodCondition(pod, corev1.PodScheduled); scheduled != nil && scheduled.Status == corev1.ConditionFalse {
		return scheduled.Reason
	}
	return cmp.Or(string(pod.Status.Phase), string(corev1.PodPending))
}

// ended reports whether a pod will never run again, for example after an eviction. Kubernetes keeps such pods for days.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// inUse returns the pods that are neither terminating nor ended.
func inUse(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil || ended(&pod) })
}

// withoutReplaced removes ended pods that have been replaced. If fewer than size other pods exist, it keeps the latest ended pods
// to fill the gap.
func withoutReplaced(pods []corev1.Pod, size int32) []corev1.Pod {
	var past []*corev1.Pod
	for i := range pods {
		if ended(&pods[i]) {
			past = append(past, &pods[i])
		}
	}
	slices.SortStableFunc(past, func(a, b *corev1.Pod) int { return memcached.FailedAt(b).Compare(memcached.FailedAt(a).Time) })
	missing := max(0, int(size)-(len(pods)-len(past)))
	missed := past[:min(missing, len(past))]
	var kept []corev1.Pod
	for i := range pods {
		if !ended(&pods[i]) || slices.Contains(missed, &pods[i]) {
			kept = append(kept, pods[i])
		}
	}
	return kept
}

// serves reports whether clients find a node in the DNS.
func serves(pod *corev1.Pod) bool { return stateOf(pod) == stateReady && pod.Status.PodIP != "" }

// runs reports whether the memcached container of a pod runs.
func runs(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if container := &pod.Status.ContainerStatuses[i]; container.Name == memcached.ContainerName {
			return container.State.Running != nil
		}
	}
	return false
}

// opens reports whether the memcached container of a pod declares a port.
func opens(pod *corev1.Pod, port int) bool {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if container.Name == memcached.ContainerName && slices.ContainsFunc(container.Ports, func(open corev1.ContainerPort) bool {
			return int(open.ContainerPort) == port
		}) {
			return true
		}
	}
	return false
}

// clientPortOf returns the port for clients. It is the TLS port only if the pod does not open memcached.Port.
func clientPortOf(pod *corev1.Pod) int {
	if opens(pod, memcached.TLSPort) && !opens(pod, memcached.Port) {
		return memcached.TLSPort
	}
	return portOf(pod)
}

// portOf returns the port on which memcached answers without TLS, possibly only to clients in the pod.
func portOf(pod *corev1.Pod) int {
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if pod.Spec.Containers[i].Name == memcached.ContainerName && port.Name == memcached.ContainerName {
				return int(port.ContainerPort)
			}
		}
	}
	return memcached.Port
}

// naturally compares names so that cache-9 comes before cache-10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		numberA, restA := leadingNumber(a)
		numberB, restB := leadingNumber(b)
		order := cmp.Compare(a[0], b[0])
		if numberA != "" && numberB != "" {
			order = cmp.Or(cmp.Compare(len(numberA), len(numberB)), cmp.Compare(numberA, numberB))
		} else {
			restA, restB = a[1:], b[1:]
		}
		if order != 0 {
			return order
		}
		a, b = restA, restB
	}
	return cmp.Compare(a, b)
}

// leadingNumber splits a text after its leading digits, and removes leading zeros from them.
func leadingNumber(text string) (number, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(rest)]
	if digits == "" {
		return "", rest
	}
	return cmp.Or(strings.TrimLeft(digits, "0"), "0"), rest
}
