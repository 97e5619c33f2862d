// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

// AgentReports are what the agents of one Memcached's nodes report.
type AgentReports struct {
	// Nodes are the reports of the agents that have answered.
	Nodes []AgentReport
	// Pending is true while some agents have not been asked yet.
	Pending bool
}

// AgentReport is what the agent of one pod reports.
type AgentReport struct {
	Pod      string
	Problems []protocol.Problem
}

// Finding is one problem, with all nodes that report it.
type Finding struct {
	// Reason of the problem, and the message of the first node.
	Reason, Message string
	// Pods are the names of the nodes.
	Pods []string
	// Secret is the name of the Secret with the problem; empty if there is none, or if both are concerned.
	Secret string
}

// WantsAgent reports whether an agent runs beside memcached: one that serves its metrics, or hands it certificates and users.
func WantsAgent(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.Monitoring.Enabled || mc.Spec.TLS != nil || mc.Spec.Auth != nil
}

// CertificateHosts are the host names by which clients reach a node. They expect one of them in its certificate.
func CertificateHosts(mc *cachev1alpha1.Memcached, pod *corev1.Pod) []string {
	switch {
	case mc.Spec.TLS == nil:
		return nil
	case WorkloadKind(mc) == cachev1alpha1.WorkloadStatefulSet:
		return []string{Host(mc), pod.Name + "." + Host(mc)}
	default:
		return []string{Host(mc)}
	}
}

// Findings groups the reported problems by reason, the worst first.
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
