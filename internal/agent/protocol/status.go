// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"time"
)

// Paths that memcached's parent and the sidecar serve.
const (
	// StatusPath returns the Status as JSON.
	StatusPath = "/status"
	// ReadyPath succeeds at the parent if memcached serves and the node does not wait for the items of another copy, and at the sidecar if
	// memcached answers. A proxy must have reached all nodes of its routes, or some nodes for ten seconds. From then on, it succeeds until
	// the proxy reaches none.
	ReadyPath = "/readyz"
)

// Status is what the parent of memcached and the sidecar answer at StatusPath. It contains no secrets.
type Status struct {
	// Number is the number of the entry in effect. It is 0 for the arguments of the pod's first start, and until a list is in effect in this
	// container.
	Number int64 `json:"number,omitempty"`
	// List is the list in effect. It is absent until there is one in this container.
	List List `json:"list,omitzero"`
	// Since is when the List came into effect in this container. It is absent during a restart.
	Since time.Time `json:"since,omitzero"`
	// SecondsInEffect is how long the List has been in effect, by the parent's clock. The clock of the reader may differ.
	SecondsInEffect int64 `json:"secondsInEffect,omitempty"`
	// Restarting reports that memcached is restarting with another list.
	Restarting bool `json:"restarting,omitempty"`
	// Refused is the entry that memcached or the parent did not accept, or nil. It stays until there is an entry with another number.
	Refused *Refusal `json:"refused,omitempty"`
	// Restart is the result of the last restart in this container, or nil.
	Restart *Restart `json:"restart,omitempty"`
	// Fill is the copy of items from another copy of the cache since memcached started, or nil if there is none.
	Fill *Fill `json:"fill,omitempty"`
	// Proxy is what the parent of a proxy answers instead of all of the above.
	Proxy *ProxyStatus `json:"proxy,omitempty"`
	// Problems are what a sidecar answers instead of all of the above: at most one for each reason.
	Problems []Problem `json:"problems,omitempty"`
	// Forget is the start of memcached's process if it must restart to forget what was removed from a Secret, and 0 otherwise: the kernel may
	// use a process ID again. It counts clock ticks since the machine booted. A sidecar sets it.
	Forget int `json:"forget,omitempty"`
}

// Refusal describes an entry that did not come into effect: its number, and the reason.
type Refusal struct {
	Number int64  `json:"number"`
	Reason string `json:"reason"`
}

// Restart describes a restart of memcached in its container.
type Restart struct {
	// ItemsBefore and ItemsAfter are the numbers of items before and after the restart, -1 if unknown.
	ItemsBefore int64 `json:"itemsBefore"`
	ItemsAfter  int64 `json:"itemsAfter"`
	// Seconds is how long memcached did not serve.
	Seconds float64 `json:"seconds"`
}

// FillState is the state of a Fill.
type FillState string

const (
	// FillWaiting means that copying has not begun. It waits until clients have had time to find the node. Until then, they store items
	// only in the other copies, and an earlier fill would lack these items.
	FillWaiting FillState = "Waiting"
	// FillCopying means that items are being copied.
	FillCopying FillState = "Copying"
	// FillDone means that copying has ended without an error, or that there is nothing to copy from.
	FillDone FillState = "Done"
	// FillFailed means that copying has failed, so the node serves without some or all of the items. The parent will try again.
	FillFailed FillState = "Failed"
)

// Fill describes how an empty node gets the items of its cache from another copy.
type Fill struct {
	// From is the address of the node from which the items come, or the names of all that may have them.
	From  string    `json:"from"`
	State FillState `json:"state"`
	// Ready reports that the node does not wait for the fill, because no other copy had an item when it started.
	Ready bool `json:"ready,omitempty"`
	// Items and Bytes count what was copied. Present counts items that the node already had. Refused counts items that it could not store.
	Items   int64 `json:"items"`
	Bytes   int64 `json:"bytes"`
	Present int64 `json:"present"`
	Refused int64 `json:"refused,omitempty"`
	// Seconds is how long copying has taken.
	Seconds float64 `json:"seconds"`
	// Reason is why copying has failed, or why there is nothing to copy from.
	Reason string `json:"reason,omitempty"`
}

// Open reports whether the first attempt is still to come or in progress. Until it ends, the node may lack items.
// It must not become ready, except if Ready is true.
func (f *Fill) Open() bool { return f != nil && (f.State == FillWaiting || f.State == FillCopying) }

const (
	// HostParameter is the query parameter for a name by which clients reach the node. It can be repeated.
	HostParameter = "host"
	// MaxHosts is how often a request may have HostParameter.
	MaxHosts = 4
	// MaxMessage is the maximum length of Problem.Message, in bytes.
	MaxMessage = 480
)

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
