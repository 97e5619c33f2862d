// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// actPeriod is the longest time that memcached takes to read its files after SIGHUP. Until then, memcached refuses new users.
	actPeriod = 1100 * time.Millisecond
	// verifications limits the attempts after actPeriod, and verifyPeriod is the time between them.
	verifications = 20
	verifyPeriod  = 200 * time.Millisecond
	// unsignaled means that the result of server.refreshed before the signal is unknown: the agent sent no signal, or server.refreshed
	// failed.
	unsignaled = math.MinInt64
)

// expectation is what memcached should use once it has read the current version.
type expectation struct {
	// current is the content that memcached should use: its certificate and its users. previous is the content before it, or nil if
	// unknown. memcached should refuse users that are only in previous.
	current, previous *content
	// algorithms are the key algorithms of all certificates that memcached may have read.
	algorithms []string
	// logins are the users as whom the agent tries to log in, both before and after memcached has read the current version.
	logins []User
}

// mayPrefer reports whether memcached may show this certificate even after it has read the current one. This is possible if memcached
// may have read both, and their keys have different algorithms. Then only server.refreshed tells whether memcached has read its files.
func (e *expectation) mayPrefer(shown *x509.Certificate) bool {
	return algorithm(shown) != algorithm(e.current.certificate) && slices.Contains(e.algorithms, algorithm(shown))
}

// verifier checks what memcached has read.
type verifier struct {
	*environment

	// served is the certificate in the last handshake.
	served *x509.Certificate
}

// reload sends SIGHUP to memcached, and waits until memcached has read the current version. It returns an error if that takes too long.
func (v *verifier) reload(ctx context.Context, process Process, want expectation) error {
	if err := v.server.answers(ctx); err != nil {
		return fmt.Errorf("memcached does not answer: %w", err)
	}
	before := int64(unsignaled)
	if v.config.TLSSecret != "" {
		var err error
		// This fails if memcached still has the users of a version before want.previous, because the agent no longer has their passwords.
		if before, err = v.server.refreshed(ctx, want.logins); err != nil {
			before = unsignaled
		}
	}
	if err := v.processes.hangUp(process); err != nil {
		return fmt.Errorf("signal memcached: %w", err)
	}
	v.sleep(ctx, actPeriod)
	err := v.verify(ctx, want, before)
	for tried := 1; tried < verifications && err != nil && ctx.Err() == nil; tried++ {
		v.sleep(ctx, verifyPeriod)
		err = v.verify(ctx, want, before)
	}
	return err
}

// verify returns nil if memcached has read the current version. The argument before is what server.refreshed returned before the
// signal, or unsignaled. Unless it is unsignaled, the result of server.refreshed must have changed since.
func (v *verifier) verify(ctx context.Context, want expectation, before int64) error {
	if v.config.TLSSecret != "" {
		if err := v.verifyCertificate(ctx, want, before); err != nil {
			return err
		}
	}
	for _, user := range want.current.users {
		if accepted, err := v.server.accepts(ctx, user); err != nil {
			return fmt.Errorf("login of the user %s: %w", user, err)
		} else if !accepted {
			return fmt.Errorf("memcached refuses the user %s", user)
		}
	}
	if want.previous == nil {
		return nil
	}
	for _, user := range want.previous.without(want.current) {
		if accepted, err := v.server.accepts(ctx, user); err != nil {
			return fmt.Errorf("login of the former user %s: %w", user, err)
		} else if accepted {
			return fmt.Errorf("memcached still accepts the former password of the user %s", user)
		}
	}
	return nil
}

var errNotRefreshed = errors.New("memcached has not read its certificates since the signal")

func (v *verifier) verifyCertificate(ctx context.Context, want expectation, before int64) error {
	shown, err := v.server.certificate(ctx, want.current.certificate.PublicKeyAlgorithm)
	if err != nil {
		return err
	}
	v.served = shown
	if !shown.Equal(want.current.certificate) && (before == unsignaled || !want.mayPrefer(shown)) {
		return fmt.Errorf("memcached serves the certificate %s, not %s", Serial(shown), want.current.serial())
	}
	if before == unsignaled {
		return nil
	}
	// A handshake does not show whether memcached has read its files if only the CAs have changed, or if memcached prefers another
	// certificate.
	refreshed, err := v.server.refreshed(ctx, want.logins)
	if err == nil && refreshed == before {
		return errNotRefreshed
	}
	return err
}
