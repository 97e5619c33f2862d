// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// renewal is how long before its end a certificate is a problem.
const renewal = 7 * 24 * time.Hour

// problems are problems of certificates and Secrets, which the operator does not read. Each is listed once, with its nodes.
func (s *session) problems(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, pods []corev1.Pod, report *cacheReport) []string {
	found := make([][]string, len(pods))
	atOnce(len(pods), func(i int) {
		if !runs(&pods[i]) || !hasCredentials(&pods[i]) {
			return
		}
		limited, cancel := context.WithTimeoutCause(ctx, s.nodeTimeout, errNoAnswer)
		defer cancel()
		if credentials := report.Nodes[i].Credentials; credentials != nil && credentials.Reload == reloadFailed {
			found[i] = append(found[i], reloadProblem(limited, c, &pods[i]))
		}
		if certificate := servedBy(limited, c, &pods[i]); certificate != nil && mc.Spec.TLS != nil {
			found[i] = append(found[i], certificateProblems(mc, certificate, s.clock.Now())...)
		}
	})
	var order []string
	nodes := map[string][]string{}
	for i := range found {
		for _, problem := range found[i] {
			if nodes[problem] == nil {
				order = append(order, problem)
			}
			nodes[problem] = append(nodes[problem], pods[i].Name)
		}
	}
	for i, problem := range order {
		order[i] = strings.Join(nodes[problem], ", ") + ": " + problem
	}
	return order
}

// servedBy is the certificate that the memcached of a pod shows, nil if it shows none in time.
func servedBy(ctx context.Context, c *cluster, pod *corev1.Pod) *x509.Certificate {
	if !opens(pod, memcached.TLSPort) {
		return nil
	}
	raw, err := c.dial(ctx, pod, memcached.TLSPort)
	if err != nil {
		return nil // the table says that the node cannot be reached
	}
	defer func() { _ = raw.Close() }() // nothing was written
	var served *x509.Certificate
	conn := tls.Client(raw, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // it is only looked at
		VerifyConnection: func(state tls.ConnectionState) error {
			served = state.PeerCertificates[0]
			return nil
		},
	})
	_ = conn.HandshakeContext(ctx) // memcached may want a certificate of the client, and has shown its own by then
	return served
}

// certificateProblems are those that clients will have, or have.
func certificateProblems(mc *cachev1alpha1.Memcached, certificate *x509.Certificate, now time.Time) []string {
	var problems []string
	remedy := "renew it in the Secret " + mc.Spec.TLS.SecretName
	switch left := certificate.NotAfter.Sub(now); {
	case left <= 0:
		problems = append(problems, "the certificate has expired: "+remedy)
	case left < renewal:
		problems = append(problems, "the certificate expires in "+duration.HumanDuration(left)+": "+remedy)
	}
	names := []string{serviceHost(mc)}
	if len(mc.Status.Servers) > 0 {
		host, _, _ := strings.Cut(mc.Status.Servers[0], ":")
		names = append(names, host)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return fits(certificate, name) })
	if mc.Status.ServiceName != "" && len(names) > 0 {
		problems = append(problems, fmt.Sprintf("the certificate in the Secret %s does not fit %s, which clients check: issue it for "+
			"these names, not only for %s",
			mc.Spec.TLS.SecretName, strings.Join(names, " and "), strings.Join(certificate.DNSNames, ", ")))
	}
	return problems
}

// fits reports whether a certificate is for a name of the cluster's DNS, with or without the domain of the cluster.
func fits(certificate *x509.Certificate, name string) bool {
	short := strings.TrimSuffix(name, ".svc")
	if certificate.VerifyHostname(name) == nil || certificate.VerifyHostname(short) == nil {
		return true
	}
	first, _, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(certificate.DNSNames, func(san string) bool {
		return strings.HasPrefix(strings.Replace(san, "*", first, 1), name+".")
	})
}

// agentLogLines are more than an agent writes about one Secret.
const agentLogLines = 1000

// reloadProblem says why memcached does not use what the Secrets hold. The agent logs it.
func reloadProblem(ctx context.Context, c *cluster, pod *corev1.Pod) string {
	const failed = "what the Secrets hold is not in service"
	log, err := c.logs(ctx, pod, &corev1.PodLogOptions{Container: memcached.AgentContainerName, TailLines: ptr.To[int64](agentLogLines)})
	if err != nil {
		return failed + ", and the reason is unknown: " + explain(err)
	}
	defer func() { _ = log.Close() }() // it was only read
	reason := ""
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Level, Reason string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Reason != "" && line.Level != "INFO" {
			reason = line.Reason
		}
	}
	if reason == "" {
		return fmt.Sprintf("%s, and the reason is no longer in the log of the container %s of %s", failed,
			memcached.AgentContainerName, pod.Name)
	}
	return failed + ": " + reason
}
