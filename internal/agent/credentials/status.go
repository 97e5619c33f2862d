// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"crypto/x509"
	"errors"
	"time"
)

// Reasons why memcached must restart. Until it does, something that was removed from a Secret has an effect.
const (
	// ReasonCARemoved means that memcached still trusts a removed CA.
	ReasonCARemoved = "ca_removed"
	// ReasonCertificateRemoved means that memcached still serves a removed certificate to some clients, because the keys of the removed
	// and the current certificate have different algorithms.
	ReasonCertificateRemoved = "certificate_removed"
	// ReasonUserRemoved means that a client that has logged in as a removed user or with a removed password may still be connected.
	ReasonUserRemoved = "user_removed"
)

// Status describes the credentials that memcached uses.
type Status struct {
	// Started is true when memcached may start.
	Started bool
	// Waiting says what is missing until memcached may start.
	Waiting string
	// Refused is why the content of a Secret is not used, or nil.
	Refused *InvalidError
	// Unverified is true if, for a minute, the agent has failed to give memcached the content of the Secrets, or to prove that memcached has
	// read it.
	Unverified bool
	// Installed is the certificate in the files that memcached should have read, nil without TLS.
	Installed *x509.Certificate
	// Served is the certificate that memcached presented in the last handshake with the agent. It is nil before the first handshake and
	// without TLS.
	Served *x509.Certificate
	// Attempted is when the agent last accepted or refused new content, or tried to make memcached read its files.
	Attempted time.Time
	// Succeeded is false while a Secret cannot be used, or while it is not proven that memcached has read its files.
	Succeeded bool
	// RestartRequired tells for each reason whether memcached must restart because of it. Process is the memcached that must restart, the
	// zero value if none must.
	RestartRequired map[string]bool
	Process         Process
}

// report is what other goroutines see. It is replaced, never changed in place.
type report struct {
	status Status
	logins []User
}

// Status returns the status after the last step.
func (r *Reloader) Status() Status { return r.report.Load().status }

// Logins returns the users with which the agent may log in. memcached normally accepts at least one of them. There are none if
// memcached demands no login.
func (r *Reloader) Logins() []User { return r.report.Load().logins }

func (r *Reloader) publish() {
	status := Status{
		Started:         r.current != nil,
		Unverified:      r.failure != nil && r.now().Sub(r.failingSince) >= patience,
		Served:          r.served,
		Attempted:       r.attempted,
		Succeeded:       r.refused == nil && r.failure == nil,
		RestartRequired: map[string]bool{},
	}
	if err := cmp.Or(r.refused, r.failure); err != nil {
		status.Waiting = err.Error()
	}
	_ = errors.As(r.refused, &status.Refused) // refused is nil or an *InvalidError
	if r.current != nil && r.current.pair != nil {
		status.Installed = r.current.pair.certificate
	}
	for _, reason := range []string{ReasonCARemoved, ReasonCertificateRemoved, ReasonUserRemoved} {
		required := r.running != (Process{}) && r.record.Removed[reason] == r.running
		if status.RestartRequired[reason] = required; required {
			status.Process = r.running
		}
	}
	r.report.Store(&report{status, r.logins()})
}
