// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"net/url"
	"slices"
)

const (
	// StatusPath is the path at which an agent serves its Status, in JSON.
	StatusPath = "/status"
	// HostParameter is the query parameter for a name by which clients reach the node. It can be repeated.
	HostParameter = "host"
	// MaxHosts is how often a request may have HostParameter.
	MaxHosts = 4
	// MaxMessage is the maximum length of Problem.Message, in bytes.
	MaxMessage = 480
)

// Status is an agent's answer. It contains no secrets.
type Status struct {
	// Problems has at most one problem for each reason.
	Problems []Problem `json:"problems"`
	// Restart is the ID of memcached's process if it must restart to forget what was removed from a Secret, and 0 otherwise.
	Restart int `json:"restart,omitempty"`
}

// Problem is something that needs attention. memcached may serve clients nevertheless.
type Problem struct {
	Reason string `json:"reason"`
	// Message says what is wrong, and usually names the remedy.
	Message string `json:"message"`
}

// Reasons of problems.
const (
	// ReasonInvalidCertificate and ReasonInvalidCredentials mean that the content of a Secret is invalid and therefore not used.
	ReasonInvalidCertificate = "InvalidCertificate"
	ReasonInvalidCredentials = "InvalidCredentials"
	// ReasonReloadFailed means that memcached may not have read the current content of the Secrets.
	ReasonReloadFailed = "ReloadFailed"
	// ReasonCertificateNames means that the certificate lacks at least one of the names in HostParameter.
	ReasonCertificateNames = "CertificateNames"
	// ReasonCertificateExpiring means that the certificate has expired, or will expire soon.
	ReasonCertificateExpiring = "CertificateExpiring"
	// ReasonRestartRequired means that something is no longer in a Secret, but stays in effect until memcached restarts.
	ReasonRestartRequired = "RestartRequired"
	// ReasonConnectionLimit means that memcached has recently refused the connection of a probe because of its connection limit.
	ReasonConnectionLimit = "ConnectionLimit"
)

// Reasons returns all reasons of problems, the worst first.
func Reasons() []string {
	return []string{
		ReasonInvalidCertificate, ReasonInvalidCredentials, ReasonReloadFailed, ReasonConnectionLimit, ReasonCertificateExpiring,
		ReasonCertificateNames, ReasonRestartRequired,
	}
}

// Known returns the first problem of each known reason, the worst reason first. It ignores unknown and repeated reasons, because the owner
// of the pod can make it send any answer.
func (s Status) Known() []Problem {
	var known []Problem
	for _, reason := range Reasons() {
		if i := slices.IndexFunc(s.Problems, func(p Problem) bool { return p.Reason == reason }); i >= 0 {
			known = append(known, s.Problems[i])
		}
	}
	return known
}

// StatusQuery returns the query of a request for a Status. The hosts are the names by which clients reach the node.
func StatusQuery(hosts []string) url.Values { return url.Values{HostParameter: hosts} }
