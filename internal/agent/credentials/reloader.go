// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// Reloader keeps memcached up to date with the Secrets. The source reads the Secrets, the state installs their content as the current
// version, and the loader makes memcached read this version. Only the goroutine of Run uses the fields other than report.
type Reloader struct {
	*environment

	source *source
	state  *state
	loader *loader
	report atomic.Pointer[report]
	// failure is why the last step failed, or nil.
	failure error
	// failingSince is the beginning of the time since which failure or loader.err has been set without a break. It is zero while both are nil.
	failingSince time.Time
}

// New returns a Reloader. The argument memcached is the address at which memcached serves without TLS.
func New(c Config, memcached string, log *slog.Logger) *Reloader {
	e := newEnvironment(c, memcached, log)
	r := &Reloader{
		environment: e,
		source:      &source{environment: e},
		state:       &state{environment: e},
		loader:      &loader{verifier: verifier{environment: e}},
	}
	r.report.Store(&report{status: Status{Started: !c.Enabled(), Waiting: "its Secrets have not been read yet"}})
	return r
}

// Status returns the status after the last step.
func (r *Reloader) Status() Status { return r.report.Load().status }

// Logins returns the users with which the agent may log in. memcached normally accepts at least one of them. There are none if
// memcached demands no login.
func (r *Reloader) Logins() []User { return r.report.Load().logins }

// Run works until the context ends. If memcached cannot start with the Secrets, Run writes the termination message and returns an
// error that wraps an *InvalidError. After a restart of the agent with the same problem, Run waits until the problem changes:
// returning again would only lengthen the kubelet's back-off.
func (r *Reloader) Run(ctx context.Context) error {
	if !r.config.Enabled() {
		<-ctx.Done()
		return nil
	}
	if err := r.state.open(); err != nil {
		return err
	}
	defer r.state.store.close()
	if err := r.start(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		r.sleep(ctx, r.step(ctx))
	}
	return nil
}

// start waits until there is a version with which memcached can start.
func (r *Reloader) start(ctx context.Context) error {
	for ctx.Err() == nil {
		err := r.refresh()
		r.publish(err == nil || r.state.current != nil)
		var invalid *InvalidError
		switch {
		case err == nil:
			return r.state.update(func(next *record) { next.Refused = "" })
		case r.state.current != nil:
			return nil
		case !errors.As(err, &invalid):
			return err
		case r.state.record.Refused != err.Error():
			return errors.Join(err, r.terminate(err.Error()))
		}
		r.sleep(ctx, promptPeriod)
	}
	return nil
}

// terminate writes the termination message into the file that the kubelet has created, and stores it for the agent's next start.
func (r *Reloader) terminate(message string) error {
	return errors.Join(os.WriteFile(r.config.TerminationLog, []byte(message), 0o600),
		r.state.update(func(next *record) { next.Refused = message }))
}

// step does the work that is due, and returns the time until the next step.
func (r *Reloader) step(ctx context.Context) time.Duration {
	err := r.refresh()
	var invalid *InvalidError
	if err == nil || errors.As(err, &invalid) {
		err = r.loader.load(ctx, r.state)
	}
	if err != nil && (r.failure == nil || r.failure.Error() != err.Error()) {
		r.log.Error("The credentials cannot be kept", "reason", err.Error())
	}
	r.failure = err
	r.publish(true)
	running := r.state.running
	if r.state.record.Pending || running == (Process{}) || running != r.loader.verified {
		return promptPeriod
	}
	return pollPeriod
}

// refresh finds memcached, reads the Secrets, and installs new content. If a Secret cannot be used, the error is an *InvalidError.
func (r *Reloader) refresh() error {
	if err := r.state.observe(); err != nil {
		return err
	}
	next, err := r.source.next(r.state.current)
	if next != nil {
		r.source.installed = ""
		if err := r.state.install(next); err != nil {
			return err
		}
	}
	if err == nil {
		r.source.installed = r.source.last
	}
	return err
}

// unverifiedPatience is how long failure or loader.err may be set, without a break, before the status is Unverified.
const unverifiedPatience = time.Minute

// fails updates failingSince. It returns how long failure or loader.err has been set without a break, or 0 if both are nil.
func (r *Reloader) fails() time.Duration {
	if r.loader.err == nil && r.failure == nil {
		r.failingSince = time.Time{}
		return 0
	}
	if r.failingSince.IsZero() {
		r.failingSince = r.now()
	}
	return r.now().Sub(r.failingSince)
}

func (r *Reloader) publish(started bool) {
	before, after := r.Status(), Status{
		Started:         started,
		Served:          r.loader.served,
		Attempted:       r.source.readAt,
		Succeeded:       r.source.refused == nil && r.loader.err == nil && r.failure == nil,
		Unverified:      r.fails() >= unverifiedPatience,
		RestartRequired: r.state.record.restartRequired(r.state.current),
	}
	if after.Attempted.Before(r.loader.attempted) {
		after.Attempted = r.loader.attempted
	}
	_ = errors.As(r.source.refused, &after.Refused) // refused is nil or an *InvalidError
	if r.state.current != nil {
		after.Installed = r.state.current.certificate
	}
	if !started && r.source.refused != nil {
		after.Waiting = r.source.refused.Error()
	}
	logRequired(r.log, before.RestartRequired, after.RestartRequired)
	r.report.Store(&report{after, r.state.logins()})
}

// Reasons why memcached must restart. Until it does, something that was removed from a Secret has an effect.
const (
	// ReasonCARemoved means that memcached still trusts a removed CA.
	ReasonCARemoved = "ca_removed"
	// ReasonCertificateRemoved means that memcached still serves a removed certificate to some clients, because the keys of the removed
	// and the current certificate have different algorithms.
	ReasonCertificateRemoved = "certificate_removed"
	// ReasonUserRemoved means that a client that has logged in as a removed user or with a removed password may still be connected.
	ReasonUserRemoved = "user_removed"
)

// Status describes the credentials that memcached uses.
type Status struct {
	// Started is true when memcached may start.
	Started bool
	// Waiting says what is missing until memcached may start.
	Waiting string
	// Refused is why the content of a Secret is not used, or nil.
	Refused *InvalidError
	// Unverified is true if, for a minute, the agent has failed to give memcached the content of the Secrets, or to verify that
	// memcached has read it.
	Unverified bool
	// Installed is the certificate in the files that memcached should have read, nil without TLS.
	Installed *x509.Certificate
	// Served is the certificate that memcached presented in the last handshake with the agent. It is nil before the first handshake and
	// without TLS.
	Served *x509.Certificate
	// Attempted is when the agent last found new content in the Secrets, or last tried to make memcached read its files, whichever is
	// later.
	Attempted time.Time
	// Succeeded is false while a Secret cannot be used, or while the agent fails to make memcached read the current version.
	Succeeded bool
	// RestartRequired tells for each reason whether memcached must restart because of it.
	RestartRequired map[string]bool
}

// report is what other goroutines see. It is replaced, never changed in place.
type report struct {
	status Status
	logins []User
}

// logRequired logs each reason that begins or ceases to require a restart of memcached. The map after contains all reasons.
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
