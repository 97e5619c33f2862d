// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/memcached"
)

// secretRows have one pod of three whose agent has exited, in most rows because of a Secret.
func secretRows() []statusCase {
	const certificate = "InvalidCertificate: Pod cache-5d4f-02 cannot start: the Secret in spec.tls.secretName is not usable: "
	const users = "InvalidCredentials: Pod cache-5d4f-02 cannot start: the Secret in spec.auth.secretName is not usable: "
	var rows []statusCase
	for _, row := range []struct {
		name, message string
		state         func(*corev1.ContainerStatus, corev1.ContainerState)
		trouble       string
	}{
		{"the key is another's", "InvalidCertificate: tls.key does not fit tls.crt", exitedNow, certificate + "tls.key does not fit tls.crt"},
		{"a user without a password", "InvalidCredentials: web has no password", exitedBefore, users + "web has no password"},
		{"a Secret that is missing, and the agent waits", "InvalidCertificate: no tls.crt", waitsAgain, certificate + "no tls.crt"},
		{
			"an agent that ended for another cause", "InvalidSomething: else", exitedNow,
			"NodesCrashing: memcached-agent in pod cache-5d4f-02 exited with code 1 (Error), with the message \"InvalidSomething: else\"",
		},
		{
			"words for a terminal, and too many", "InvalidCertificate: " + strings.Repeat("\x1b[31m\n", 300), exitedNow,
			certificate + strings.Repeat("\uFFFD[31m ", 117) + "\uFFFD[…",
		},
		{"a Secret that has been repaired is no trouble", "InvalidCertificate: no tls.crt", startedAgain, ""},
	} {
		c := statusCase{
			name:      row.name,
			pods:      append(makePods(2), makePod("cache-5d4f-02", refusingSecret(row.message, row.state))),
			trouble:   row.trouble,
			available: available2,
		}
		if row.trouble == "" {
			c.ready = "False NodesUnavailable: 2 of 3 nodes are ready"
		}
		rows = append(rows, c)
	}
	return rows
}

// refusingSecret returns a change that turns a pod into one whose agent has exited with this message. The function state puts this
// exit into the agent's status.
func refusingSecret(message string, state func(*corev1.ContainerStatus, corev1.ContainerState)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		waiting("PodInitializing", "")(pod)
		refusal := exit(1, "Error")
		refusal.Terminated.Message = message
		agent := corev1.ContainerStatus{Name: memcached.AgentContainerName, Started: ptr.To(false)}
		state(&agent, refusal)
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{agent}
	}
}

func exitedNow(agent *corev1.ContainerStatus, refusal corev1.ContainerState) { agent.State = refusal }

func exitedBefore(agent *corev1.ContainerStatus, refusal corev1.ContainerState) {
	agent.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	agent.LastTerminationState = refusal
}

func waitsAgain(agent *corev1.ContainerStatus, refusal corev1.ContainerState) {
	agent.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(-5)}}
	agent.LastTerminationState = refusal
}

func startedAgain(agent *corev1.ContainerStatus, refusal corev1.ContainerState) {
	waitsAgain(agent, refusal)
	agent.Started = ptr.To(true)
}
