// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"net/url"
	"slices"
)

const (
	// StatusPath is the path of the Status, in JSON.
	StatusPath = "/status"
	// HostParameter is the query parameter for a name by which clients reach the node. It can be repeated.
	HostParameter = "host"
	// MaxHosts limits the number of such parameters.
	MaxHosts = 4
	// MaxMessage is the maximum length of a message in bytes.
	MaxMessage = 480
)

// Status is an agent's answer. It contains no secrets.
type Status struct {
	// Problems are the problems of a serving node, one for each reason.
	Problems []Problem `json:"problems"`
}

// Problem needs attention although the node serves.
type Problem struct {
	Reason string `json:"reason"`
	// Message says what is wrong, and usually names the remedy.
	Message string `json:"message"`
}

// Reasons of problems.
const (
	// ReasonInvalidCertificate and ReasonInvalidCredentials mean that the content of a Secret is not used.
	ReasonInvalidCertificate = "InvalidCertificate"
	ReasonInvalidCredentials = "InvalidCredentials"
	// ReasonReloadFailed means that memcached may not have read the current content of the Secrets.
	ReasonReloadFailed = "ReloadFailed"
	// ReasonCertificateNames means that the certificate does not cover the names of the node.
	ReasonCertificateNames = "CertificateNames"
	// ReasonCertificateExpiring means that the certificate has expired or soon will.
	ReasonCertificateExpiring = "CertificateExpiring"
	// ReasonRestartRequired means that something removed from a Secret still works until memcached restarts.
	ReasonRestartRequired = "RestartRequired"
	// ReasonConnectionLimit means that memcached has recently refused a probe because it had no free connection.
	ReasonConnectionLimit = "ConnectionLimit"
)

// Reasons returns all reasons of problems, the worst first.
func Reasons() []string {
	return []string{
		ReasonInvalidCertificate, ReasonInvalidCredentials, ReasonReloadFailed, ReasonConnectionLimit, ReasonCertificateExpiring,
		ReasonCertificateNames, ReasonRestartRequired,
	}
}

// Known returns the problems with a known reason, each reason once, the worst first. It ignores the rest of the answer, because
// somebody else may control the pod.
func (s Status) Known() []Problem {
	var known []Problem
	for _, reason := range Reasons() {
		if i := slices.IndexFunc(s.Problems, func(p Problem) bool { return p.Reason == reason }); i >= 0 {
			known = append(known, s.Problems[i])
		}
	}
	return known
}

// StatusQuery returns the query for a Status. Hosts are the names by which clients reach the node.
func StatusQuery(hosts []string) url.Values { return url.Values{HostParameter: hosts} }
