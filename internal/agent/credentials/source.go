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

	// last is the fingerprint of the Secrets at the last read, and readAt is when that fingerprint was first found.
	last   string
	readAt time.Time
	// refused is why the Secrets cannot be used, or nil.
	refused error
	// installed is the fingerprint of the Secrets whose content is the current version. It is empty if new content was found in one
	// Secret while the other cannot be used. Then every read parses both Secrets again.
	installed string
}

// next returns new content for memcached, or nil if there is none. If a Secret cannot be used, next also returns the reason. New
// content then takes that Secret's part from the current content.
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

// refuse records why the Secrets cannot be used, or nil if they can. It logs when this changes, and returns its argument.
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

// parse builds content from the Secrets. If a Secret cannot be used, parse also returns the reason, and takes that Secret's part from the
// current content. If there is no current content, parse returns only the reason.
func (s *source) parse(found secrets, current *content) (*content, error) {
	pair, ofPair := certificateContent(s.config, found.certificate)
	// The dates of the current certificate are not checked again: even if it has expired, a change of the users must still take effect.
	if ofPair == nil && pair.certificate != nil && (current == nil || !pair.certificate.Equal(current.certificate)) {
		ofPair = checkValidity(pair.certificate, s.now())
	}
	users, ofUsers := usersOf(s.config, found.users)
	err := cmp.Or(ofPair, ofUsers)
	if err != nil && current == nil {
		return nil, err
	}
	if ofPair != nil {
		pair = current
	}
	if ofUsers != nil {
		users = current.users
	}
	return pair.with(users), err
}
