// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

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
	Problems []protocol.Problem
}

// Finding is one problem, with all nodes that report it.
type Finding struct {
	// Reason is the reason of the problem. Message is the message from the first of Pods.
	Reason, Message string
	// Pods are the names of the pods that report the problem.
	Pods []string
	// Secret is the name of the Secret that causes the problem. It is empty if no Secret is the cause, or if it is unclear which one is.
	Secret string
}

// CertificateHosts returns the host names by which clients reach a node, or nil without TLS. Clients expect one of these names in
// the certificate.
func CertificateHosts(mc *cachev1alpha1.Memcached, pod *corev1.Pod) []string {
	if mc.Spec.TLS == nil {
		return nil
	}
	return []string{Host(mc), pod.Name + "." + Host(mc)}
}

// Findings groups the reported problems by reason, the worst reason first.
func Findings(mc *cachev1alpha1.Memcached, reports []AgentReport) []Finding {
	var findings []Finding
	for _, reason := range protocol.Reasons() {
		finding := Finding{Reason: reason, Secret: secretOf(mc, reason)}
		for _, report := range reports {
			i := slices.IndexFunc(report.Problems, func(p protocol.Problem) bool { return p.Reason == reason })
			if i < 0 {
				continue
			}
			if len(finding.Pods) == 0 {
				finding.Message = report.Problems[i].Message
			}
			finding.Pods = append(finding.Pods, report.Pod)
		}
		if len(finding.Pods) > 0 {
			findings = append(findings, finding)
		}
	}
	return findings
}

func secretOf(mc *cachev1alpha1.Memcached, reason string) string {
	switch reason {
	case protocol.ReasonInvalidCertificate, protocol.ReasonCertificateExpiring, protocol.ReasonCertificateNames:
		if mc.Spec.TLS != nil {
			return mc.Spec.TLS.SecretName
		}
	case protocol.ReasonInvalidCredentials:
		if mc.Spec.Auth != nil {
			return mc.Spec.Auth.SecretName
		}
	}
	return ""
}
