// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// attentionRows have three ready nodes whose agents report problems or none.
func attentionRows() []statusCase {
	report := func(pod string, reasons ...string) memcached.AgentReport {
		said := memcached.AgentReport{Pod: pod}
		for _, reason := range reasons {
			said.Problems = append(said.Problems, protocol.Problem{Reason: reason, Message: "because"})
		}
		return said
	}
	var rows []statusCase
	for _, row := range []struct {
		name      string
		reports   []memcached.AgentReport
		attention string
	}{
		{"agents that report nothing", []memcached.AgentReport{report("cache-0"), report("cache-1")}, ""},
		{
			"a certificate that is not used",
			[]memcached.AgentReport{report("cache-0", "InvalidCertificate")},
			`True InvalidSecret: Pod cache-0 says of the Secret cache-tls (spec.tls.secretName): "because"`,
		},
		{
			"users that are not used, on all nodes",
			[]memcached.AgentReport{
				report("cache-0", "InvalidCredentials"), report("cache-1", "InvalidCredentials"), report("cache-2", "InvalidCredentials"),
			},
			`True InvalidSecret: Pod cache-0 and 2 more say of the Secret cache-users (spec.auth.secretName): "because"`,
		},
		{
			"several, the worst first",
			[]memcached.AgentReport{report("cache-0", "RestartRequired", "CertificateExpiring"), report("cache-1", "CertificateNames")},
			`True InvalidSecret: Pod cache-1 says of the Secret cache-tls (spec.tls.secretName): "because". Also RestartRequired: ` +
				`Pod cache-0 says: "because". Also CertificateExpiring: Pod cache-0 says of the Secret cache-tls (spec.tls.secretName): "because"`,
		},
		{
			"a restart",
			[]memcached.AgentReport{report("cache-1", "RestartRequired")},
			`True RestartRequired: Pod cache-1 says: "because"`,
		},
		{
			"a certificate that expires", []memcached.AgentReport{report("cache-1", "CertificateExpiring")},
			`True CertificateExpiring: Pod cache-1 says of the Secret cache-tls (spec.tls.secretName): "because"`,
		},
		{
			"names",
			[]memcached.AgentReport{report("cache-1", "CertificateNames")},
			`True InvalidSecret: Pod cache-1 says of the Secret cache-tls (spec.tls.secretName): "because"`,
		},
		{
			"a reload",
			[]memcached.AgentReport{report("cache-1", "ReloadFailed")},
			`True RestartRequired: Pod cache-1 says: "because"`,
		},
		{
			"no connection left",
			[]memcached.AgentReport{report("cache-1", "ConnectionLimit")},
			`True ConnectionLimit: Pod cache-1 says: "because"`,
		},
		{"reasons that nobody knows", []memcached.AgentReport{report("cache-0", "AllNodesReady", "")}, ""},
		{
			"words for a terminal, and too many",
			[]memcached.AgentReport{{Pod: "cache-0", Problems: []protocol.Problem{
				{Reason: "ReloadFailed", Message: "\x1b[31m\" all is well\n" + strings.Repeat("x", 4000)},
			}}},
			`True RestartRequired: Pod cache-0 says: "` + "\uFFFD" + `[31m' all is well ` + strings.Repeat("x", 488) + `…"`,
		},
	} {
		rows = append(rows, statusCase{
			name: "attention: " + row.name, mc: memcachedtest.Cache(3, withSecrets), pods: makePods(3),
			agents: memcached.AgentReports{Nodes: row.reports}, attention: row.attention,
		})
	}
	told := memcachedtest.Cache(3, withSecrets, func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions = []metav1.Condition{{
			Type: cachev1alpha1.ConditionNeedsAttention, Status: metav1.ConditionTrue, Reason: "CertificateNames", Message: "as before",
		}}
	})
	return append(rows, statusCase{
		name: "attention: not all have been asked yet, as after a start of the operator", mc: told, pods: makePods(3),
		agents: memcached.AgentReports{Pending: true, Nodes: []memcached.AgentReport{{Pod: "cache-0"}}}, attention: "True CertificateNames: as before",
	}, statusCase{
		name: "attention: all have been asked", mc: told, pods: makePods(3), agents: memcached.AgentReports{Nodes: []memcached.AgentReport{{Pod: "cache-0"}}},
	}, statusCase{
		name: "attention: none are asked any more", mc: told, pods: makePods(3),
	})
}
