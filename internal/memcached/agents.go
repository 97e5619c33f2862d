// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

// AgentReports are the reports of the agents of one Memcached.
type AgentReports struct {
	// Nodes are the reports of the agents that have answered.
	Nodes []AgentReport
	// Pending reports that the agent of some ready node has not been asked yet. Unanswered reports that the agent of some ready node
	// has not answered yet.
	Pending, Unanswered bool
}

// AgentReport is what the agent of one pod reports.
type AgentReport struct {
	Pod      string
	UID      types.UID
	Problems []protocol.Problem
	// Restart is the start of memcached's process if it must restart to forget what was removed from a Secret, and 0 otherwise.
	Restart int
}

// Restart returns the start of the process that must restart in a pod, 0 if none must or if nothing is known.
func (r AgentReports) Restart(pod *corev1.Pod) int {
	for _, node := range r.Nodes {
		if node.UID == pod.UID {
			return node.Restart
		}
	}
	return 0
}

// CertificateHosts returns the host names by which clients reach a node, or nil without TLS. Clients expect one of these names in
// the certificate.
func CertificateHosts(mc *cachev1alpha1.Memcached, pod *corev1.Pod) []string {
	if mc.Spec.TLS == nil {
		return nil
	}
	return []string{Host(mc), pod.Name + "." + Host(mc)}
}
