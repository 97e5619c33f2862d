// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/x509"
	"log/slog"
	"maps"
	"slices"
	"sync"
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
	// Unverified is true if, for a minute, the agent has failed to give memcached the content of the Secrets, or to verify that
	// memcached has read it.
	Unverified bool
	// Installed is the certificate in the files that memcached should have read, nil without TLS.
	Installed *x509.Certificate
	// Served is the certificate that memcached presented in the last handshake with the agent. It is nil before the first handshake and
	// without TLS.
	Served *Certificate
	// Attempted is when the agent last found new content in the Secrets, or last tried to make memcached read its files, whichever is
	// later.
	Attempted time.Time
	// Succeeded is false while a Secret cannot be used, or while the agent fails to make memcached read the current version.
	Succeeded bool
	// RestartRequired tells for each reason whether memcached must restart because of it.
	RestartRequired map[string]bool
}

// Certificate describes a certificate that memcached serves.
type Certificate struct {
	// Serial is the serial number as openssl prints it, but in lower case.
	Serial string
	Expiry time.Time
}

// report shares the status and the users among goroutines. Both are replaced, never changed in place.
type report struct {
	mutex  sync.Mutex
	status Status
	logins []User
}

func (r *report) read() (Status, []User) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.status, r.logins
}

func (r *report) publish(status Status, logins []User) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.status, r.logins = status, logins
}

// logRequired logs each reason that begins or ceases to require a restart of memcached. The map after contains all reasons.
func logRequired(log *slog.Logger, before, after map[string]bool) {
	for _, reason := range slices.Sorted(maps.Keys(after)) {
		switch {
		case after[reason] && !before[reason]:
			log.Warn("A restart of memcached is required", "reason", reason)
		case !after[reason] && before[reason]:
			log.Info("No restart of memcached is required any more", "reason", reason)
		}
	}
}
