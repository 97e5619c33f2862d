// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"time"
)

// refresh reads the Secrets, and makes their valid parts the current generation. The error is an *InvalidError if a part is invalid.
func (r *Reloader) refresh() error {
	secrets, err := r.readSecrets()
	if err != nil {
		r.refuse(err)
		return err
	}
	found := fingerprintOf(secrets)
	if found != r.tried {
		r.tried = found
		r.setAttempted()
	}
	if found == r.accepted {
		r.refuse(nil)
		return nil
	}
	g, err := r.wanted(secrets)
	r.refuse(err)
	if g != nil && !g.equal(r.current) {
		if err := r.install(g); err != nil {
			return err
		}
	}
	if err == nil {
		r.accepted = found
	}
	return err
}

// Indexes of the Secrets.
const (
	certificateOf = iota
	usersOf
	secretCount
)

func (r *Reloader) readSecrets() ([secretCount]map[string][]byte, error) {
	var secrets [secretCount]map[string][]byte
	var err error
	if r.config.TLSSecret != "" {
		if secrets[certificateOf], err = readSecret(r.config.TLSSecret); err != nil {
			return secrets, invalidCertificate("the Secret of spec.tls.secretName cannot be read: " + err.Error())
		}
	}
	if r.config.UsersSecret != "" {
		if secrets[usersOf], err = readSecret(r.config.UsersSecret); err != nil {
			return secrets, invalidUsers("the Secret of spec.auth.secretName cannot be read: " + err.Error())
		}
	}
	return secrets, nil
}

// refuse remembers and logs why the Secrets cannot be used. nil means that they can.
func (r *Reloader) refuse(err error) {
	before := r.invalid
	r.invalid = err
	switch {
	case err == nil && before != nil:
		r.log.Info("The Secrets can be used again")
	case err != nil && (before == nil || before.Error() != err.Error()):
		r.log.Warn("The Secrets cannot be used", "reason", err.Error())
	}
}

// wanted returns the generation to install. If a Secret cannot be used, its part of the current generation stays, and the error says
// why.
func (r *Reloader) wanted(secrets [secretCount]map[string][]byte) (*generation, error) {
	pair, ofPair := certificateGeneration(r.config, secrets[certificateOf])
	if ofPair == nil {
		ofPair = r.checkNew(pair)
	}
	users, ofUsers := usersGeneration(r.config, secrets[usersOf])
	err := cmp.Or(ofPair, ofUsers)
	if err != nil && r.current == nil {
		return nil, err
	}
	if ofPair != nil {
		pair = r.current
	}
	if ofUsers != nil {
		users = r.current
	}
	return pair.with(users), err
}

// checkNew checks a certificate that memcached does not serve yet. One that it serves already must not block new users.
func (r *Reloader) checkNew(g *generation) error {
	if g.certificate == nil || r.current != nil && g.certificate.Equal(r.current.certificate) {
		return nil
	}
	if err := checkValidity(g.certificate, r.now()); err != nil {
		return err
	}
	return r.checkKind(g)
}

// checkKind refuses a certificate whose key has another algorithm than the one before. OpenSSL keeps a certificate for each algorithm,
// so clients could still choose the earlier one.
func (r *Reloader) checkKind(g *generation) error {
	if r.running == (Process{}) {
		return nil
	}
	for _, kind := range r.state.Kinds {
		if kind != g.kind() {
			return invalidCertificate("the key of the certificate in tls.crt is of the kind " + g.kind() + ", and until it restarts, memcached " +
				"would also serve the one before, whose key is of the kind " + kind + ": restart the nodes with kubectl memcached restart or " +
				"spec.restartedAt, or issue the certificate with a key of the kind " + kind)
		}
	}
	return nil
}

// install makes a generation the current one.
func (r *Reloader) install(g *generation) error {
	next := r.state
	next.Swapping, next.Pending, next.Previous = true, true, r.name
	next.remember(g)
	if err := r.save(next); err != nil {
		return err
	}
	name, err := r.store.write(g)
	if err != nil {
		return err
	}
	if err := r.store.swap(name); err != nil {
		return err
	}
	r.previous, r.current, r.name, r.changed = r.current, g, name, r.now()
	r.failures, r.retryAt = 0, time.Time{}
	r.log.Info("The Secrets changed what memcached reads", "generation", name, "serial", g.serial(), "users", len(g.users))
	return r.swapped()
}

// swapped finds the memcached that runs after a swap. If none runs, the next one reads the current generation. If another one than
// before runs, it may have read either generation, and counts as one that has read both.
func (r *Reloader) swapped() error {
	found, err := r.processes.find()
	if err != nil {
		return err
	}
	r.running = found
	next := r.state
	next.Swapping = false
	switch {
	case found != (Process{}):
		next.Process = found
	case next.Process != (Process{}): // it has ended: what it has read counts until the next one starts
		next.Pending = false
	default:
		next = state{}
	}
	return r.save(next)
}

// save writes the state. Its lists are never changed in place.
func (r *Reloader) save(next state) error {
	if !next.Pending {
		next.Previous = ""
	}
	if err := r.store.writeState(next); err != nil {
		return err
	}
	r.state = next
	if next.Swapping {
		return nil
	}
	if !next.Pending {
		r.previous = nil
	}
	return r.store.prune(r.name, next.Previous)
}
