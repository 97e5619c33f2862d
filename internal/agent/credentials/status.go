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

// Reasons to restart memcached. Until then, what was removed from a Secret still works.
const (
	// ReasonCARemoved is a CA that memcached still trusts.
	ReasonCARemoved = "ca_removed"
	// ReasonUserRemoved is a user, or an earlier password of one, whose connections may still be open.
	ReasonUserRemoved = "user_removed"
)

// Status says which credentials memcached uses.
type Status struct {
	// Started is true when memcached may start. Until then, Waiting says what is missing.
	Started bool
	Waiting string
	// Refused is why the content of a Secret is not used, nil if it is.
	Refused *InvalidError
	// Unverified is true if attempts to make memcached read the current version have failed for a minute.
	Unverified bool
	// Installed is the certificate that memcached reads, nil without TLS.
	Installed *x509.Certificate
	// Served is the certificate in the last handshake, nil before the first handshake and without TLS.
	Served *Certificate
	// Attempted is the time of the last reload, and Succeeded whether it worked. A reload reads a Secret or loads it into memcached.
	Attempted time.Time
	Succeeded bool
	// RestartRequired reports for each reason whether it applies.
	RestartRequired map[string]bool
}

// Certificate describes a certificate that memcached serves.
type Certificate struct {
	// Serial is its serial number in hexadecimal digits, as openssl prints it, but in lower case.
	Serial string
	Expiry time.Time
}

// report holds the status for concurrent readers. It is replaced, and never changed in place.
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

// logRequired logs reasons for a restart that came or went.
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
