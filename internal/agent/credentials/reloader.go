// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"sync/atomic"
	"time"
)

// Config holds the flags about credentials.
type Config struct {
	// TLSSecret is the directory of the Secret with the certificate, empty without TLS.
	TLSSecret string
	// TLS is the address on which memcached serves TLS.
	TLS string
	// ClientCA is true if clients need a certificate from a CA in ca.crt of TLSSecret.
	ClientCA bool
	// UsersSecret is the directory of the Secret with the users, empty without users.
	UsersSecret string
	// Folder is the directory from which memcached reads its files.
	Folder string
	// TerminationLog is the file of the container's termination message.
	TerminationLog string
	// Processes is the directory in which the agent looks for memcached's process. Empty means /proc. Tests use a similar directory.
	Processes string
}

// Enabled reports whether memcached has TLS or users.
func (c Config) Enabled() bool { return c.TLSSecret != "" || c.UsersSecret != "" }

const (
	// pollPeriod is the time between two reads of the Secrets. It is short compared with the minute or more that the kubelet takes to
	// update a volume.
	pollPeriod = 5 * time.Second
	// promptPeriod replaces pollPeriod while memcached cannot start or does not run yet.
	promptPeriod = time.Second
	// patience is how long a failure may last before the status is Unverified.
	patience = time.Minute
)

// Reloader keeps memcached up to date with the Secrets. Only the goroutine of Run uses the fields other than report.
type Reloader struct {
	config    Config
	log       *slog.Logger
	processes processes
	server    server
	now       func() time.Time
	// sleep waits for a period, or until the context ends.
	sleep  func(ctx context.Context, period time.Duration)
	report atomic.Pointer[report]

	store  store
	record record
	// current is the content of the current files, nil until there is good content. Until it is proven that memcached has read it, previous
	// is the content before it, or nil if that is unknown.
	current, previous *content
	// refused is why a Secret cannot be used, and unproven is why the last reload failed. Each may be nil.
	refused, unproven error
	// running is the memcached that was last found. It is proven that provenIn has read the content proven.
	running, provenIn Process
	proven            *content
	// failure is why the last step failed, or nil. Each step has failed since failingSince.
	failure      error
	failingSince time.Time
	// served is the certificate in the last handshake, and attempted is when content was last accepted, refused or reloaded.
	served    *x509.Certificate
	attempted time.Time
}

// New returns a Reloader. The argument memcached is the address at which memcached serves without TLS.
func New(c Config, memcached string, log *slog.Logger) *Reloader {
	r := &Reloader{
		config: c, log: log, now: time.Now,
		processes: procfs{files: os.DirFS(cmp.Or(c.Processes, "/proc")), name: "memcached"},
		server:    network{plaintext: memcached, tls: c.TLS},
		sleep: func(ctx context.Context, period time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(period):
			}
		},
	}
	r.report.Store(&report{status: Status{Started: !c.Enabled(), Waiting: "its Secrets have not been read yet"}})
	return r
}

// Run works until the context ends. If memcached cannot start with the Secrets, Run writes the termination message and returns an
// *InvalidError. After a restart of the agent with the same problem, Run waits until the problem changes: returning again would only
// lengthen the kubelet's back-off.
func (r *Reloader) Run(ctx context.Context) error {
	if !r.config.Enabled() {
		<-ctx.Done()
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	defer func() { _ = r.store.root.Close() }()
	for ctx.Err() == nil {
		period := r.step(ctx)
		if err := r.refusal(); err != nil {
			return err
		}
		r.sleep(ctx, period)
	}
	return nil
}

// open reads what the agent has stored before its start.
func (r *Reloader) open() error {
	root, err := os.OpenRoot(r.config.Folder)
	if err != nil {
		return err
	}
	r.store = store{root: root}
	if r.record, err = r.store.load(); err != nil {
		r.log.Warn("The record of what was removed from the Secrets is lost", "reason", err.Error())
	}
	current, other, err := r.store.current()
	if current != "" {
		r.current, r.previous = r.store.read(r.config, current), r.store.read(r.config, other)
	}
	return err
}

// refusal returns why memcached cannot start, unless an agent has ended because of that before. It writes the termination message into
// the file that the kubelet has created, and stores it for the agent's next start.
func (r *Reloader) refusal() error {
	if r.current != nil || r.refused == nil || r.refused.Error() == r.record.Refused {
		return nil
	}
	message := r.refused.Error()
	return errors.Join(r.refused, os.WriteFile(r.config.TerminationLog, []byte(message), 0o600),
		r.remember(func(next *record) { next.Refused = message }))
}

// step does the work that is due, and returns the time until the next step.
func (r *Reloader) step(ctx context.Context) time.Duration {
	failure := r.refresh()
	if failure == nil {
		r.follow(ctx)
		failure = r.unproven
	}
	switch {
	case failure == nil:
		r.failingSince = time.Time{}
	case r.failure == nil:
		r.failingSince = r.now()
		fallthrough
	case r.failure.Error() != failure.Error():
		r.log.Warn("It is not proven that memcached has read its credentials", "reason", failure.Error())
	}
	r.failure = failure
	r.publish()
	if r.running != (Process{}) && (r.isProven() || failure != nil) {
		return pollPeriod
	}
	return promptPeriod
}

// refresh finds memcached, reads the Secrets, and installs new content.
func (r *Reloader) refresh() error {
	if err := r.find(); err != nil {
		return err
	}
	next := r.current
	found, err := readSecrets(r.config)
	if err == nil {
		next, err = check(r.config, found, r.current, r.now())
	}
	r.refuse(err)
	if next == nil || next.equal(r.current) {
		return nil
	}
	return r.install(next)
}

// find finds the running memcached. If files were being replaced, this memcached may have read those before.
func (r *Reloader) find() (err error) {
	if r.running, err = r.processes.find(); err != nil {
		return err
	}
	return r.remember(func(next *record) {
		for reason, process := range next.Removed {
			if process == removing {
				next.Removed[reason] = r.running
			}
		}
	})
}

// refuse notes why the Secrets cannot be used, or nil if they can. It logs when this changes.
func (r *Reloader) refuse(err error) {
	switch {
	case err == nil && r.refused != nil:
		r.log.Info("The Secrets can be used again")
	case err != nil && (r.refused == nil || r.refused.Error() != err.Error()):
		r.log.Warn("The Secrets cannot be used", "reason", err.Error())
		r.attempted = r.now()
	}
	r.refused = err
}

// install replaces the current files by those of this content.
func (r *Reloader) install(next *content) error {
	for _, take := range r.installation(next) {
		if err := take(); err != nil {
			return err
		}
	}
	r.previous, r.current, r.attempted = r.current, next, r.now()
	r.log.Info("The Secrets changed what memcached reads", "users", len(next.users))
	return r.find()
}

// installation returns the steps of install that write. The agent may be killed after each.
func (r *Reloader) installation(next *content) []func() error {
	return []func() error{
		func() error { return r.store.prepare(next.files()) },
		func() error {
			return r.remember(func(record *record) {
				record.Refused = ""
				for _, reason := range r.current.removed(next) {
					record.Removed[reason] = removing
				}
			})
		},
		r.store.swap,
	}
}

// remember changes the record.
func (r *Reloader) remember(change func(next *record)) error {
	next := record{r.record.Refused, maps.Clone(r.record.Removed)}
	if change(&next); reflect.DeepEqual(next, r.record) {
		return nil
	}
	if err := r.store.save(next); err != nil {
		return err
	}
	r.record = next
	return nil
}

func (r *Reloader) isProven() bool { return r.proven == r.current && r.provenIn == r.running }

// follow makes the running memcached read the current files, unless this agent has proven that it did.
func (r *Reloader) follow(ctx context.Context) {
	if r.running == (Process{}) || r.current == nil || r.isProven() {
		return
	}
	err := r.reload(ctx)
	if ctx.Err() != nil || errors.Is(err, errStarting) {
		return
	}
	if r.unproven, r.attempted = err, r.now(); err != nil {
		return
	}
	r.proven, r.provenIn, r.previous, r.unproven = r.current, r.running, nil, r.store.prune()
	serial := ""
	if r.served != nil {
		serial = Serial(r.served)
	}
	r.log.Info("memcached has read its credentials", "process", r.running.ID, "serial", serial)
}

// logins returns the first user of the current files, and the first user of those before until the current ones are proven.
func (r *Reloader) logins() []User {
	var users []User
	for _, c := range []*content{r.current, r.previous} {
		if c != nil && len(c.users) > 0 {
			users = append(users, c.users[0])
		}
	}
	return users
}
