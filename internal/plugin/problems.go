// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/memcached"
)

// problems returns a line for each reason that agents report. The line names all affected nodes, and has the message of the first one.
// A node whose agent does not answer has its own line. Nodes without an agent, and nodes whose memcached does not run, are skipped.
func (s *session) problems(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, pods []corev1.Pod) []string {
	reports, failures := make([]*memcached.AgentReport, len(pods)), make([]string, len(pods))
	atOnce(len(pods), func(i int) {
		pod := &pods[i]
		if !runs(pod) || !hasAgent(pod) {
			return
		}
		limited, cancel := context.WithTimeoutCause(ctx, s.nodeTimeout, errNoAnswer)
		defer cancel()
		status, err := ask.NewWith(agentTransport(c, pod)).Agent(limited, "agent", memcached.MetricsPort, memcached.CertificateHosts(mc, pod))
		if err != nil {
			failures[i] = pod.Name + ": its agent does not say what is wrong: " + explain(err)
			return
		}
		reports[i] = &memcached.AgentReport{Pod: pod.Name, Problems: status.Known()}
	})
	var answered []memcached.AgentReport
	for _, report := range reports {
		if report != nil {
			answered = append(answered, *report)
		}
	}
	var problems []string
	for _, finding := range memcached.Findings(mc, answered) {
		about := ""
		if finding.Secret != "" {
			about = " (Secret " + finding.Secret + ")"
		}
		problems = append(problems, fmt.Sprintf("%s: %s%s: %s", strings.Join(finding.Pods, ", "), finding.Reason, about, finding.Message))
	}
	for _, failure := range failures {
		if failure != "" {
			problems = append(problems, failure)
		}
	}
	return problems
}

// agentTransport returns a transport that always connects to the agent of this pod, whatever host a request names.
func agentTransport(c *cluster, pod *corev1.Pod) *http.Transport {
	return transportTo(c, pod, memcached.MetricsPort)
}

func transportTo(c *cluster, pod *corev1.Pod, port int) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx, pod, port) },
	}
}
