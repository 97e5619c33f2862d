// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	// actPeriod is the longest time that memcached takes to read its files after SIGHUP. Until then, memcached refuses new users.
	actPeriod = 1100 * time.Millisecond
	// proofs is how often the agent tries to prove that, with actPeriod before each attempt.
	proofs = 4
)

// errStarting means that memcached does not listen yet. A signal would end it.
var errStarting = errors.New("memcached is starting")

// reload sends SIGHUP to the running memcached, and waits until memcached has read the current files. It returns an error if that takes
// too long.
func (r *Reloader) reload(ctx context.Context) error {
	err := r.server.answers(ctx)
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return fmt.Errorf("memcached does not answer: %w", err)
	} else if err != nil {
		return errStarting
	}
	r.sleep(ctx, actPeriod) // a memcached that has just started would report the same second for its start and for the signal
	before, unknown := int64(0), error(nil)
	if r.current.pair != nil {
		// This fails if memcached still has the users of earlier files, because the agent no longer has their passwords.
		before, unknown = r.server.refreshed(ctx, r.logins())
	}
	if err := r.processes.hangUp(r.running); err != nil {
		return fmt.Errorf("signal memcached: %w", err)
	}
	for range proofs {
		r.sleep(ctx, actPeriod)
		if err = r.prove(ctx, before); err == nil || ctx.Err() != nil {
			break
		}
	}
	return cmp.Or(err, unknown)
}

// prove returns nil if memcached has read the current files. The argument before is when memcached had read its certificates before the
// signal.
func (r *Reloader) prove(ctx context.Context, before int64) error {
	if r.current.pair != nil {
		if err := r.proveCertificate(ctx, before); err != nil {
			return err
		}
	}
	for i, user := range slices.Concat(r.current.users, r.previous.without(r.current)) {
		accepted, err := r.server.accepts(ctx, user)
		switch former := i >= len(r.current.users); {
		case err != nil:
			return fmt.Errorf("login of the user %s: %w", user, err)
		case accepted && former:
			return fmt.Errorf("memcached still accepts the former password of the user %s", user)
		case !accepted && !former:
			return fmt.Errorf("memcached refuses the user %s", user)
		}
	}
	return nil
}

// proveCertificate proves that memcached serves the current certificate, and that it has read its certificates since the signal. If only
// the CAs have changed, or if memcached prefers a removed certificate, a handshake does not show that.
func (r *Reloader) proveCertificate(ctx context.Context, before int64) error {
	wanted := r.current.pair.certificate
	shown, err := r.server.certificate(ctx, wanted.PublicKeyAlgorithm)
	if err != nil {
		return err
	}
	mayPrefer := shown.PublicKeyAlgorithm != wanted.PublicKeyAlgorithm && r.record.Removed[ReasonCertificateRemoved] == r.running
	if r.served = shown; !shown.Equal(wanted) && !mayPrefer {
		return fmt.Errorf("memcached serves the certificate %s, not %s", Serial(shown), Serial(wanted))
	}
	refreshed, err := r.server.refreshed(ctx, r.logins())
	if err == nil && refreshed == before {
		return errors.New("memcached has not read its certificates since the signal")
	}
	return err
}
