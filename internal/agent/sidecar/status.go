// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

const (
	// renewal is how long before the expiry date a certificate becomes a problem.
	renewal = 7 * 24 * time.Hour
	// fullFor is how long the status has the reason ConnectionLimit after memcached has refused the connection of a probe.
	fullFor = 5 * time.Minute
)

// newStatusHandler returns the handler of protocol.StatusPath.
func newStatusHandler(status func() credentials.Status, memcached *client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		hosts := r.URL.Query()[protocol.HostParameter]
		if len(hosts) > protocol.MaxHosts || slices.ContainsFunc(hosts, isNoHost) {
			http.Error(w, fmt.Sprintf("%s must be the name of a host, at most %d times", protocol.HostParameter, protocol.MaxHosts),
				http.StatusBadRequest)
			return
		}
		now, current := memcached.now(), status()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(protocol.Status{
			Problems: problemsOf(current, hosts, memcached.wasFull(now), now), Forget: current.Process.Started,
		})
	}
}

var hostName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)

func isNoHost(host string) bool { return !hostName.MatchString(host) }

// problemsOf returns the problems, at most one for each reason. hosts are the names that the certificate must be for. full means that
// memcached has recently refused the connection of a probe because of its connection limit.
func problemsOf(status credentials.Status, hosts []string, full bool, now time.Time) []protocol.Problem {
	problems := []protocol.Problem{}
	add := func(reason, message string) {
		if len(message) > protocol.MaxMessage {
			message = strings.ToValidUTF8(message[:protocol.MaxMessage], "")
		}
		problems = append(problems, protocol.Problem{Reason: reason, Message: message})
	}
	if status.Refused != nil {
		add(status.Refused.Reason, status.Refused.Message)
	}
	if status.Unverified {
		add(protocol.ReasonReloadFailed, "memcached is not known to have read what the Secrets hold: the log of the container "+
			"memcached-agent says why")
	}
	if full {
		add(protocol.ReasonConnectionLimit, "clients have all connections, and memcached refuses more: raise spec.config.maxConnections, "+
			"or close connections that idle with spec.config.idleTimeout")
	}
	if certificate := status.Installed; certificate != nil {
		if message := expiryProblem(certificate, now); message != "" {
			add(protocol.ReasonCertificateExpiring, message)
		}
		unknown := slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return fits(certificate, host) })
		if len(unknown) > 0 {
			add(protocol.ReasonCertificateNames, "issue the certificate in tls.crt for the names that clients check: it is not for "+
				strings.Join(unknown, " and "))
		}
	}
	if message := restartProblem(status.RestartRequired); message != "" {
		add(protocol.ReasonRestartRequired, message)
	}
	return problems
}

// expiryProblem returns a message if the certificate has expired or will expire within renewal, else "". The message contains the date,
// not the remaining time, because a message that changed every second would look like a new problem.
func expiryProblem(certificate *x509.Certificate, now time.Time) string {
	verb := "expires"
	if left := certificate.NotAfter.Sub(now); left > renewal {
		return ""
	} else if left <= 0 {
		verb = "has expired"
	}
	return fmt.Sprintf("the certificate in tls.crt %s at %s: renew it", verb, certificate.NotAfter.UTC().Format(time.RFC3339))
}

// fits reports whether a certificate is valid for a name such as pages.shop.svc. The certificate may also have this name without .svc,
// or with a cluster domain after it.
func fits(certificate *x509.Certificate, name string) bool {
	if certificate.VerifyHostname(name) == nil || certificate.VerifyHostname(strings.TrimSuffix(name, ".svc")) == nil {
		return true
	}
	first, _, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(certificate.DNSNames, func(san string) bool {
		return strings.HasPrefix(strings.Replace(san, "*", first, 1), name+".")
	})
}

func restartProblem(required map[string]bool) string {
	var causes []string
	if required[credentials.ReasonCARemoved] {
		causes = append(causes, "clients with certificates of a CA that was removed from ca.crt can still connect")
	}
	if required[credentials.ReasonCertificateRemoved] {
		causes = append(causes, "clients that prefer the algorithm of its key still get the certificate that was removed from tls.crt")
	}
	if required[credentials.ReasonUserRemoved] {
		causes = append(causes, "connections of a user or password that was removed from the Secret of spec.auth.secretName may still be open")
	}
	if len(causes) == 0 {
		return ""
	}
	return strings.Join(causes, ", and ") + ", until memcached restarts"
}
