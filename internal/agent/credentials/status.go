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

// Reasons to restart memcached. Until then, something that was removed from a Secret still works.
const (
	// ReasonCARemoved means that memcached still trusts a removed CA.
	ReasonCARemoved = "ca_removed"
	// ReasonCertificateRemoved means that memcached still serves a former certificate, whose key has another algorithm than the current
	// one, to some clients.
	ReasonCertificateRemoved = "certificate_removed"
	// ReasonUserRemoved means that connections with a removed user or an earlier password may still be open.
	ReasonUserRemoved = "user_removed"
)

// Status describes the credentials that memcached uses.
type Status struct {
	// Started is true when memcached may start. Until then, Waiting is what is missing.
	Started bool
	Waiting string
	// Refused is why the content of a Secret is not used, or nil.
	Refused *InvalidError
	// Unverified is true if memcached has failed for a minute to read the current version.
	Unverified bool
	// Installed is the certificate that memcached should serve, nil without TLS.
	Installed *x509.Certificate
	// Served is the certificate in the last handshake. It is nil before the first handshake and without TLS.
	Served *Certificate
	// Attempted is when the agent last read new content of the Secrets or told memcached to read it. Succeeded is whether nothing
	// failed since.
	Attempted time.Time
	Succeeded bool
	// RestartRequired reports for each reason whether it requires a restart.
	RestartRequired map[string]bool
}

// Certificate describes a certificate that memcached serves.
type Certificate struct {
	// Serial is its serial number as openssl prints it, but in lower case.
	Serial string
	Expiry time.Time
}

// report holds the status for concurrent readers. The status is replaced, never changed in place.
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

// logRequired logs each reason for a restart when it begins or ends.
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
