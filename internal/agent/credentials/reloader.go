// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// pollPeriod is how often the Secrets are read. The kubelet takes a minute and more to deliver a change.
	pollPeriod = 5 * time.Second
	// promptPeriod is the same while something is awaited: a repaired Secret, a memcached that starts, a retry.
	promptPeriod = time.Second
)

// Reloader keeps a memcached at what the Secrets hold. Run has the fields to itself, but for those that the mutex protects.
type Reloader struct {
	config Config
	log    *slog.Logger
	// node is the name of the pod.
	node      string
	store     *store
	processes processes
	server    server
	neighbors neighbors
	now       func() time.Time
	// sleep waits, or until the context ends.
	sleep func(ctx context.Context, period time.Duration)

	// accepted is the fingerprint of the Secrets of which the current generation was made, and tried that of the last ones that were
	// read. invalid is why those are refused, and broken why the folder cannot be used.
	accepted, tried string
	invalid, broken error
	// current is what memcached reads, and name its folder. Until nothing is pending, previous is what it read before.
	current, previous *generation
	name              string
	// changed is when the current one became that, as far as this agent knows.
	changed time.Time
	state   state
	// running is the memcached that runs, and proven the one of which it is proven that it has read the current generation.
	running, proven Process
	// unproven is why what memcached has read is not proven, failures how often it was tried in vain, and retryAt when it is tried again.
	unproven   error
	failures   int
	retryAt    time.Time
	revocation revocation

	mutex  sync.Mutex
	status Status
	logins []User
	// forgotten is the key of the current generation if memcached, and those of the nodes after this one, have forgotten whatever that does
	// not have, else empty.
	forgotten string
}

// New returns a Reloader for a memcached that serves plaintext at an address.
func New(c Config, memcached string, log *slog.Logger) *Reloader {
	node, _ := os.Hostname() // without a name, it is in no list of nodes, and waits
	return &Reloader{
		config:    c,
		log:       log,
		processes: newProcfs(cmp.Or(c.Processes, "/proc"), "memcached"),
		server:    network{plaintext: memcached, tls: c.TLS},
		neighbors: newAgents(c.AgentPort),
		node:      node,
		now:       time.Now,
		status:    Status{Started: !c.Enabled(), Waiting: "its Secrets have not been read yet", Restarts: c.restarts()},
		sleep: func(ctx context.Context, period time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(period):
			}
		},
	}
}

// Run works until the context ends. It returns an *InvalidError if memcached cannot start with what the Secrets hold, which it says
// in the termination message as well; but when it is started again with the same problem, it waits until that is solved, so that
// the kubelet's back-off does not delay the start.
func (r *Reloader) Run(ctx context.Context) error {
	if !r.config.Enabled() {
		<-ctx.Done()
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	defer r.store.close()
	if err := r.start(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		r.sleep(ctx, r.step(ctx))
	}
	return nil
}

// open reads what an agent before this one has left.
func (r *Reloader) open() error {
	var err error
	if r.store, err = openStore(r.config.Folder); err != nil {
		return err
	}
	if r.state, err = r.store.readState(); err != nil {
		r.log.Warn("The state cannot be read, and begins anew", "reason", err.Error())
	}
	if r.name, err = r.store.current(); err != nil {
		return err
	}
	r.current, r.changed = r.reopen(r.name), r.now()
	r.previous = r.reopen(r.state.Previous)
	return nil
}

// reopen reads a generation, nil if it is none that memcached could use.
func (r *Reloader) reopen(name string) *generation {
	if name == "" {
		return nil
	}
	files, err := r.store.read(name)
	if err != nil {
		return nil
	}
	g, err := parseGeneration(r.config, files)
	if err != nil {
		return nil
	}
	return g
}

// start returns when memcached can start.
func (r *Reloader) start(ctx context.Context) error {
	for ctx.Err() == nil {
		err := r.observe()
		if err == nil {
			err = r.refresh()
		}
		r.publish(err == nil || r.current != nil)
		var invalid *InvalidError
		switch {
		case err == nil:
			return r.store.refuse("")
		case r.current != nil:
			return nil
		case !errors.As(err, &invalid):
			return err
		case r.store.refused() != err.Error():
			return errors.Join(err, r.terminate(err.Error()))
		}
		r.sleep(ctx, promptPeriod)
	}
	return nil
}

// terminate writes the termination message, whose file the kubelet has made, and remembers it.
func (r *Reloader) terminate(message string) error {
	return errors.Join(overwrite(r.config.TerminationLog, message), r.store.refuse(message))
}

// step does what is to do, and returns how long to wait before the next one.
func (r *Reloader) step(ctx context.Context) time.Duration {
	err := r.observe()
	if err == nil {
		err = r.refresh()
	}
	var invalid *InvalidError
	if err == nil || errors.As(err, &invalid) {
		err = r.load(ctx)
	}
	if err == nil {
		r.revoke(ctx)
	}
	if err != nil && (r.broken == nil || r.broken.Error() != err.Error()) {
		r.log.Error("The credentials cannot be kept", "reason", err.Error())
	}
	r.broken = err
	r.publish(true)
	if r.state.Pending || r.running == (Process{}) || r.running != r.proven || r.running == r.revocation.ended {
		return promptPeriod
	}
	return pollPeriod
}

// observe finds the memcached that runs. One that has started since it was last looked for has read the current generation.
func (r *Reloader) observe() error {
	if r.state.Swapping {
		return r.swapped()
	}
	found, err := r.processes.find()
	if err != nil {
		return err
	}
	r.running = found
	if found == (Process{}) || found == r.state.Process {
		return nil
	}
	r.previous, r.unproven, r.failures, r.retryAt = nil, nil, 0, time.Time{}
	next := state{Process: found}
	next.remember(r.current)
	return r.save(next)
}

// restartReasons are the values of the label reason, and whether memcached must be restarted because of it.
func (r *Reloader) restartReasons() map[string]bool {
	lacks := func(remembered, current []string) bool {
		return slices.ContainsFunc(remembered, func(one string) bool { return !slices.Contains(current, one) })
	}
	if r.current == nil {
		return map[string]bool{ReasonCARemoved: false, ReasonUserRemoved: false}
	}
	return map[string]bool{
		ReasonCARemoved:   lacks(r.state.Trusted, r.current.authorities),
		ReasonUserRemoved: lacks(r.state.Logins, r.current.logins()),
	}
}
