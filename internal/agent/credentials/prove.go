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

	"github.com/example/memcached-operator/internal/agent/stats"
)

const (
	// actPeriod is how long memcached takes to act on a signal, at most. Before, logins would only be refused.
	actPeriod = 1100 * time.Millisecond
	// proofs is how often a proof is tried then, and proofPeriod how long is waited between.
	proofs      = 20
	proofPeriod = 200 * time.Millisecond
	// maxRetryPeriod limits the time between two signals.
	maxRetryPeriod = time.Minute
	// unsignaled stands for the time of a refresh if none was asked for.
	unsignaled = math.MinInt64
)

// load has the memcached that runs read the current generation, and proves that it has.
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

// verify checks a memcached that has read the current generation when it started.
func (r *Reloader) verify(ctx context.Context) error {
	if err := r.server.answers(ctx); err != nil {
		if isBusy(err) { // else it starts: see readiness
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

// reload signals memcached, and waits for the proof.
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

// isBusy reports whether memcached runs, and has no room for a question.
func isBusy(err error) bool {
	var late net.Error
	return errors.Is(err, stats.ErrConnectionLimit) || errors.As(err, &late) && late.Timeout()
}

// setUnproven remembers why something is not proven, and logs a reason that is new.
func (r *Reloader) setUnproven(err error) {
	if r.unproven == nil || r.unproven.Error() != err.Error() {
		r.log.Warn("It is not proven that memcached has read its credentials", "reason", err.Error())
	}
	r.unproven = err
}

// failed plans the next try.
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
		// It may have users of an older generation, as which nobody can ask it any more.
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

// prove succeeds if memcached has read the current generation, and its certificates not at the time before.
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

// errKinds means that memcached started while there seemed to be none: see checkKind.
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
	// The certificate may be the same, and only the CAs be new.
	refreshed, err := r.server.refreshed(ctx, r.candidates())
	if err == nil && refreshed == before {
		return errNotRefreshed
	}
	return err
}
