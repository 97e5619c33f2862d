// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// maxRetryPeriod is the longest wait between a failed reload and the next reload of the same version.
const maxRetryPeriod = time.Minute

// loader makes memcached read the current version.
type loader struct {
	verifier

	// verified is the memcached process that last passed a verification. The current version may have changed since.
	verified Process
	// process and version are memcached's process and the current version of its files, both at the last call of the method load.
	process Process
	version string
	// attempted is the time of the last reload, even if the reload failed.
	attempted time.Time
	// err is the error of the last reload of this process, or says that memcached did not answer when lacks asked it. It is nil for a new
	// process, after a success, and once lacks has found that memcached must reload.
	err error
	// failures counts the consecutive failed reloads of this process and version.
	failures int
	// retryAt is when the next reload may begin.
	retryAt time.Time
}

// load reloads memcached if a reload is pending and due. If no reload is pending and the process is not verified yet, load checks
// whether the process has read the current version at its start. If the process has not, a reload becomes pending.
func (l *loader) load(ctx context.Context, s *state) error {
	if s.running == (Process{}) || s.current == nil {
		return nil
	}
	l.begin(s.running, s.version)
	want := expectation{current: s.current, previous: s.previous, algorithms: s.record.Algorithms, logins: s.logins()}
	switch {
	case s.record.Pending && !l.now().Before(l.retryAt):
		if !l.signal(ctx, want) {
			return nil
		}
		return s.update(func(next *record) { next.Pending = false })
	case !s.record.Pending && l.verified != s.running:
		if !l.lacks(ctx, want) {
			return nil
		}
		return s.update(func(next *record) { next.Pending = true })
	}
	return nil
}

// begin resets the delay of the next reload if the process or the version has changed. It resets l.err if the process has changed.
func (l *loader) begin(process Process, version string) {
	if process != l.process {
		l.err = nil
	}
	if process != l.process || version != l.version {
		l.failures, l.retryAt = 0, time.Time{}
	}
	l.process, l.version = process, version
}

// signal sends SIGHUP to memcached, and reports whether memcached has read the current version.
func (l *loader) signal(ctx context.Context, want expectation) bool {
	err := l.reload(ctx, l.process, want)
	if ctx.Err() != nil {
		return false // the agent is ending
	}
	l.attempted = l.now()
	if err != nil {
		l.setErr(err)
		l.retryAt = l.now().Add(min(promptPeriod<<min(l.failures, 6), maxRetryPeriod))
		l.failures++
		return false
	}
	l.verified, l.err, l.failures = l.process, nil, 0
	l.log.Info("memcached has read its changed credentials", "process", l.process.ID, "serial", want.current.serial())
	return true
}

// lacks verifies what memcached has read at its start, and reports whether the verification fails: memcached may have read an older
// version. While memcached does not answer, lacks returns false.
func (l *loader) lacks(ctx context.Context, want expectation) bool {
	if err := l.server.answers(ctx); err != nil {
		if late := net.Error(nil); errors.As(err, &late) && late.Timeout() { // other errors are normal while memcached starts
			l.setErr(fmt.Errorf("memcached does not answer: %w", err))
		}
		return false
	}
	if err := l.verify(ctx, want, unsignaled); err != nil {
		l.log.Warn("memcached has not read what it should", "reason", err.Error())
		l.err = nil
		return true
	}
	l.verified, l.err = l.process, nil
	l.log.Info("memcached has read its credentials", "process", l.process.ID, "serial", want.current.serial())
	return false
}

// setErr sets err, and logs it if it has changed.
func (l *loader) setErr(err error) {
	if l.err == nil || l.err.Error() != err.Error() {
		l.log.Warn("It is not verified that memcached has read its credentials", "reason", err.Error())
	}
	l.err = err
}
