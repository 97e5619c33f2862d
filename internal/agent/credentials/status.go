// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/x509"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reasons to restart memcached. Until then, what was removed from a Secret still works.
const (
	// ReasonCARemoved is a CA that memcached still trusts.
	ReasonCARemoved = "ca_removed"
	// ReasonUserRemoved is a user, or an earlier password of one, whose connections may still be open.
	ReasonUserRemoved = "user_removed"
)

var errNotRefreshed = errors.New("memcached has not read its certificates since the signal")

// Status says which credentials memcached uses.
type Status struct {
	// Started is true when memcached may start. Until then, Waiting says what is missing.
	Started bool
	Waiting string
	// Served is the certificate in the last handshake, nil before the first handshake and without TLS.
	Served *Certificate
	// Attempted is the time of the last reload, and Succeeded whether it worked. A reload reads a Secret or loads it into memcached.
	Attempted time.Time
	Succeeded bool
	// RestartRequired has an entry for each reason: whether it applies.
	RestartRequired map[string]bool
	// Restarts counts the restarts by the agent, by reason.
	Restarts map[string]int
}

// Certificate describes a certificate that memcached serves.
type Certificate struct {
	// Serial is its serial number in hexadecimal digits, as openssl prints it, but in lower case.
	Serial string
	Expiry time.Time
}

// Status returns the status as of the last step.
func (r *Reloader) Status() Status {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	status := r.status
	status.RestartRequired, status.Restarts = maps.Clone(status.RestartRequired), maps.Clone(status.Restarts)
	return status
}

// Logins returns users of whom memcached accepts at least one. It returns none if memcached demands no login.
func (r *Reloader) Logins() []User {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.logins)
}

// candidates returns the first user of each generation that memcached may have read.
func (r *Reloader) candidates() []User {
	var users []User
	for _, g := range []*generation{r.current, r.previous} {
		if g != nil && len(g.users) > 0 {
			users = append(users, g.users[0])
		}
	}
	return users
}

// publish updates what Status and Logins return.
func (r *Reloader) publish(started bool) {
	reasons := r.restartReasons()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.status.Started, r.status.Waiting = started, ""
	if !started && r.invalid != nil {
		r.status.Waiting = r.invalid.Error()
	}
	r.status.Succeeded = r.invalid == nil && r.unproven == nil && r.broken == nil
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		switch required, before := reasons[reason], r.status.RestartRequired[reason]; {
		case required && !before:
			r.log.Warn("A restart of memcached is required", "reason", reason)
		case !required && before:
			r.log.Info("No restart of memcached is required any more", "reason", reason)
		}
	}
	r.status.RestartRequired = reasons
	r.logins = r.candidates()
	r.forgotten = r.forgets()
}

func (r *Reloader) countRestart(reasons []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, reason := range reasons {
		r.status.Restarts[reason]++
	}
}

func (r *Reloader) setAttempted() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.status.Attempted = r.now()
}

func (r *Reloader) setServed(shown *x509.Certificate) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.status.Served = &Certificate{Serial: serial(shown), Expiry: shown.NotAfter}
}

// serial is a serial number as openssl prints it, but in lower case.
func serial(certificate *x509.Certificate) string {
	digits := strings.TrimPrefix(certificate.SerialNumber.Text(16), "-")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	return digits
}

func (g *generation) serial() string {
	if g.certificate == nil {
		return ""
	}
	return serial(g.certificate)
}

// fingerprintOf identifies the content of Secrets.
func fingerprintOf(secrets [secretCount]map[string][]byte) string {
	var all bytes.Buffer
	for number, secret := range secrets {
		for _, key := range slices.Sorted(maps.Keys(secret)) {
			all.WriteString(strconv.Itoa(number) + key + "\x00" + strconv.Itoa(len(secret[key])) + "\x00")
			all.Write(secret[key])
		}
	}
	return fingerprint(all.Bytes())
}
