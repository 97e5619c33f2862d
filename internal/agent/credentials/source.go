// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"time"
)

// source reads the Secrets and builds content from them.
type source struct {
	*environment

	// last is the fingerprint of the last Secrets, and readAt is when they were first read. refused is why they cannot be used, or
	// nil.
	last    string
	readAt  time.Time
	refused error
	// installed is the fingerprint of the Secrets in the current version.
	installed string
}

// next returns content that memcached has to read, or nil if nothing has changed. The error is why a Secret cannot be used; its
// part of the current content stays.
func (s *source) next(current *content) (*content, error) {
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
	next, err := s.parse(found, current)
	if next != nil && next.equal(current) {
		next = nil
	}
	return next, s.refuse(err)
}

// setInstalled records that the current version has the last Secrets.
func (s *source) setInstalled() { s.installed = s.last }

// refuse records and logs why the Secrets cannot be used. nil means that they can.
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

// parse builds content from the Secrets. It returns nil if one cannot be used and there is no current content.
func (s *source) parse(found secrets, current *content) (*content, error) {
	pair, ofPair := certificateContent(s.config, found.certificate)
	// Check only a new certificate: the one that memcached already serves must not keep new users out.
	if ofPair == nil && pair.certificate != nil && (current == nil || !pair.certificate.Equal(current.certificate)) {
		ofPair = checkValidity(pair.certificate, s.now())
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
