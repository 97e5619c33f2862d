// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"net/url"
	"slices"
)

const (
	// StatusPath has a Status as JSON.
	StatusPath = "/status"
	// HostParameter is a name at which clients find the node. It can be given several times.
	HostParameter = "host"
	// MaxHosts limits how often it can be given.
	MaxHosts = 4
	// MaxMessage is the length of the longest message in bytes.
	MaxMessage = 480
)

// Status is what an agent answers. It contains nothing that is secret.
type Status struct {
	// Problems are what is wrong with a node that serves, one for each reason.
	Problems []Problem `json:"problems"`
}

// Problem is something that needs attention although the node serves.
type Problem struct {
	Reason string `json:"reason"`
	// Message names the key of the Secret, and the remedy.
	Message string `json:"message"`
}

// Reasons of problems.
const (
	// ReasonInvalidCertificate and ReasonInvalidCredentials say that the content of a Secret is not used.
	ReasonInvalidCertificate = "InvalidCertificate"
	ReasonInvalidCredentials = "InvalidCredentials"
	// ReasonReloadFailed says that memcached is not known to have read what the Secrets hold.
	ReasonReloadFailed = "ReloadFailed"
	// ReasonCertificateNames says that the certificate is not for the names of the node.
	ReasonCertificateNames = "CertificateNames"
	// ReasonCertificateExpiring says that the certificate has expired or soon will.
	ReasonCertificateExpiring = "CertificateExpiring"
	// ReasonRestartRequired says that what was removed from a Secret has effect until memcached restarts.
	ReasonRestartRequired = "RestartRequired"
	// ReasonConnectionLimit says that memcached has refused clients because it has no connection left.
	ReasonConnectionLimit = "ConnectionLimit"
)

// Reasons are all reasons of problems, the worst first.
func Reasons() []string {
	return []string{
		ReasonInvalidCertificate, ReasonInvalidCredentials, ReasonReloadFailed, ReasonConnectionLimit, ReasonCertificateExpiring,
		ReasonCertificateNames, ReasonRestartRequired,
	}
}

// Known returns the problems with a known reason, each reason once, the worst first. It ignores anything else in an answer, which may come
// from anybody.
func (s Status) Known() []Problem {
	var known []Problem
	for _, reason := range Reasons() {
		if i := slices.IndexFunc(s.Problems, func(p Problem) bool { return p.Reason == reason }); i >= 0 {
			known = append(known, s.Problems[i])
		}
	}
	return known
}

// StatusQuery is the query that asks about names at which clients find the node.
func StatusQuery(hosts []string) url.Values { return url.Values{HostParameter: hosts} }
