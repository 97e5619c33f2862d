// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"slices"
	"time"
)

// source makes content from the Secrets.
type source struct {
	*environment

	// last is the fingerprint of the Secrets that were read last, readAt when they were read first, and refused why they cannot be used.
	last    string
	readAt  time.Time
	refused error
	// installed is the fingerprint of the Secrets in the current version.
	installed string
}

// next returns what memcached has to read, nil if nothing has changed. The error says why a Secret cannot be used: then its part of the
// current content stays. Algorithms are those of the keys that memcached has read.
func (s *source) next(current *content, algorithms []string) (*content, error) {
	found, err := readSecrets(s.config)
	if err != nil {
		return nil, s.refuse(err)
	}
	if read := found.fingerprint(); read != s.last {
		s.last, s.readAt = read, s.now()
	}
	if s.last == s.installed {
		return nil, s.refuse(nil)
	}
	next, err := s.parse(found, current, algorithms)
	if next != nil && next.equal(current) {
		next = nil
	}
	return next, s.refuse(err)
}

// setInstalled remembers that the current version has all that was read last.
func (s *source) setInstalled() { s.installed = s.last }

// refuse remembers and logs why the Secrets cannot be used. nil means that they can.
func (s *source) refuse(err error) error {
	before := s.refused
	s.refused = err
	switch {
	case err == nil && before != nil:
		s.log.Info("The Secrets can be used again")
	case err != nil && (before == nil || before.Error() != err.Error()):
		s.log.Warn("The Secrets cannot be used", "reason", err.Error())
	}
	return err
}

// parse returns nil if a Secret cannot be used and there is no current content.
func (s *source) parse(found secrets, current *content, algorithms []string) (*content, error) {
	pair, ofPair := certificateContent(s.config, found.certificate)
	// A certificate that memcached serves already must not block new users.
	if ofPair == nil && pair.certificate != nil && (current == nil || !pair.certificate.Equal(current.certificate)) {
		ofPair = cmp.Or(checkValidity(pair.certificate, s.now()), checkAlgorithm(pair, algorithms))
	}
	users, ofUsers := usersContent(s.config, found.users)
	err := cmp.Or(ofPair, ofUsers)
	if err != nil && current == nil {
		return nil, err
	}
	if ofPair != nil {
		pair = current
	}
	if ofUsers != nil {
		users = current
	}
	return pair.with(users), err
}

// checkAlgorithm refuses a certificate whose key has another algorithm than those that memcached has read. OpenSSL keeps a certificate
// for each algorithm, so clients could still choose the earlier one.
func checkAlgorithm(pair *content, algorithms []string) error {
	other := slices.IndexFunc(algorithms, func(algorithm string) bool { return algorithm != pair.algorithm() })
	if other < 0 {
		return nil
	}
	return invalidCertificate("the algorithm of the key of the certificate in tls.crt is " + pair.algorithm() + ", and until it restarts, " +
		"memcached would also serve the one before, whose algorithm is " + algorithms[other] + ": restart the nodes with kubectl memcached " +
		"restart or spec.restartedAt, or issue the certificate with a key of the algorithm " + algorithms[other])
}
