// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
)

const (
	// actPeriod is the longest time that memcached takes to act on a signal. Earlier logins would be refused.
	actPeriod = 1100 * time.Millisecond
	// proofs limits the attempts to verify it after that, and proofPeriod is the time between them.
	proofs      = 20
	proofPeriod = 200 * time.Millisecond
	// maxRetryPeriod limits the time between two signals.
	maxRetryPeriod = time.Minute
	// unsignaled stands for the time of a refresh when memcached got no signal.
	unsignaled = math.MinInt64
)

// load makes the running memcached read the current generation, and verifies that it has.
func (r *Reloader) load(ctx context.Context) error {
	switch {
	case r.running == (Process{}), r.current == nil:
		return nil
	case r.state.Pending && !r.now().Before(r.retryAt):
		return r.reload(ctx)
	case !r.state.Pending && r.proven != r.running:
		return r.verify(ctx)
	}
	return nil
}

// verify checks a memcached that has read the current generation at its start.
func (r *Reloader) verify(ctx context.Context) error {
	if err := r.server.answers(ctx); err != nil {
		if isBusy(err) { // otherwise it still starts, and is not ready
			r.setUnproven(fmt.Errorf("memcached does not answer: %w", err))
		}
		return nil
	}
	if err := r.prove(ctx, unsignaled); err != nil {
		r.log.Warn("memcached has not read what it should", "reason", err.Error())
		r.unproven = nil
		return r.setPending(true)
	}
	r.proven, r.unproven = r.running, nil
	r.log.Info("memcached has read its credentials", "process", r.running.ID, "serial", r.current.serial())
	return nil
}

// reload signals memcached, and waits until it has read the current generation.
func (r *Reloader) reload(ctx context.Context) error {
	err := r.signal(ctx)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the agent ends
	}
	r.setAttempted()
	if err != nil {
		r.failed(err)
		return nil
	}
	r.proven, r.unproven, r.failures = r.running, nil, 0
	r.log.Info("memcached has read its changed credentials", "process", r.running.ID, "serial", r.current.serial())
	return r.setPending(false)
}

// isBusy reports whether memcached runs but has no connection left, or answers too slowly.
func isBusy(err error) bool {
	var late net.Error
	return errors.Is(err, memcache.ErrConnectionLimit) || errors.As(err, &late) && late.Timeout()
}

// setUnproven remembers why the content is not verified, and logs a new reason.
func (r *Reloader) setUnproven(err error) {
	if r.unproven == nil || r.unproven.Error() != err.Error() {
		r.log.Warn("It is not proven that memcached has read its credentials", "reason", err.Error())
	}
	r.unproven = err
}

// failed plans the next attempt.
func (r *Reloader) failed(err error) {
	r.setUnproven(err)
	r.retryAt = r.now().Add(min(promptPeriod<<min(r.failures, 6), maxRetryPeriod))
	r.failures++
}

func (r *Reloader) setPending(pending bool) error {
	next := r.state
	next.Pending = pending
	return r.save(next)
}

func (r *Reloader) signal(ctx context.Context) error {
	if err := r.server.answers(ctx); err != nil {
		return fmt.Errorf("memcached does not answer: %w", err)
	}
	before := int64(unsignaled)
	if r.config.TLSSecret != "" {
		var err error
		// It fails if memcached has only users of an older generation, whose passwords are gone.
		if before, err = r.server.refreshed(ctx, r.candidates()); err != nil {
			before = unsignaled
		}
	}
	if err := r.processes.hangUp(r.running); err != nil {
		return fmt.Errorf("signal memcached: %w", err)
	}
	r.sleep(ctx, actPeriod)
	err := r.prove(ctx, before)
	for tried := 1; tried < proofs && err != nil && ctx.Err() == nil; tried++ {
		r.sleep(ctx, proofPeriod)
		err = r.prove(ctx, before)
	}
	return err
}

// prove succeeds if memcached has read the current generation, and its certificates at another time than before.
func (r *Reloader) prove(ctx context.Context, before int64) error {
	if r.config.TLSSecret != "" {
		if err := r.proveCertificate(ctx, before); err != nil {
			return err
		}
	}
	for _, user := range r.current.users {
		if accepted, err := r.server.accepts(ctx, user); err != nil {
			return fmt.Errorf("login of the user %s: %w", user, err)
		} else if !accepted {
			return fmt.Errorf("memcached refuses the user %s", user)
		}
	}
	if r.previous == nil {
		return nil
	}
	for _, user := range r.previous.without(r.current) {
		if accepted, err := r.server.accepts(ctx, user); err != nil {
			return fmt.Errorf("login of the former user %s: %w", user, err)
		} else if accepted {
			return fmt.Errorf("memcached still accepts the former password of the user %s", user)
		}
	}
	return nil
}

// errKinds means that memcached has read certificates of two algorithms, which checkKind prevents unless memcached started meanwhile.
var errKinds = errors.New("memcached may serve two certificates whose keys are of different kinds, until it is restarted")

func (r *Reloader) proveCertificate(ctx context.Context, before int64) error {
	if len(r.state.Kinds) > 1 {
		return errKinds
	}
	shown, err := r.server.certificate(ctx)
	if err != nil {
		return err
	}
	r.setServed(shown)
	if !shown.Equal(r.current.certificate) {
		return fmt.Errorf("memcached serves the certificate %s, not %s", serial(shown), r.current.serial())
	}
	if before == unsignaled {
		return nil
	}
	// If only the CAs have changed, the certificate shows nothing.
	refreshed, err := r.server.refreshed(ctx, r.candidates())
	if err == nil && refreshed == before {
		return errNotRefreshed
	}
	return err
}
