// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// secretFields maps each reason with which agents refuse a Secret to the spec field that names the Secret.
var secretFields = map[string]string{
	cachev1alpha1.ReasonInvalidCertificate: "spec.tls.secretName",
	cachev1alpha1.ReasonInvalidCredentials: "spec.auth.secretName",
}

// secretRefused returns a problem if the pod's agent keeps memcached from starting because a Secret is missing or unusable. The
// agent exits once to report the cause. After its restart, it waits until the Secret changes.
func secretRefused(pod *corev1.Pod) *memcached.Problem {
	agent := memcached.StatusOf(pod, memcached.AgentContainerName)
	if agent == nil || ptr.Deref(agent.Started, false) {
		return nil
	}
	reason, words := refusalOf(*agent)
	if reason == "" {
		return nil
	}
	return &memcached.Problem{
		Reason:  reason,
		Message: fmt.Sprintf("Pod %s cannot start: the Secret in %s is not usable: %s", pod.Name, secretFields[reason], words),
	}
}

// refusalOf returns the reason and the message with which an agent refused a Secret, or empty texts.
func refusalOf(container corev1.ContainerStatus) (reason, words string) {
	exit := memcached.LastExit(container)
	if exit == nil || container.Name != memcached.AgentContainerName {
		return "", ""
	}
	reason, words, found := strings.Cut(exit.Message, ": ")
	if _, known := secretFields[reason]; !known || !found {
		return "", ""
	}
	return reason, words
}
