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

// Reloader keeps memcached up to date with the Secrets. Only Run uses the fields, except those that the mutex protects.
type Reloader struct {
	config Config
	log    *slog.Logger
	// node is the name of the pod, and domain what follows it in the addresses of the cache.
	node, domain string
	store        *store
	processes    processes
	server       server
	neighbors    neighbors
	now          func() time.Time
	// sleep waits for a period, or until the context ends.
	sleep func(ctx context.Context, period time.Duration)

	// accepted is the fingerprint of the Secrets in the current generation, and tried that of the Secrets that were read last.
	// invalid says why the latter are refused, and broken why the folder cannot be used.
	accepted, tried string
	invalid, broken error
	// current is what memcached reads, and name its folder. previous is what it read before, nil unless a reload is pending.
	current, previous *generation
	name              string
	// changed is when the current generation was installed, or when this agent started.
	changed time.Time
	state   state
	// running is the memcached that runs. proven is the one that is verified to have read the current generation.
	running, proven Process
	// unproven is the error of the last verification, failures counts failed attempts, and retryAt is the time of the next one.
	unproven   error
	failures   int
	retryAt    time.Time
	revocation revocation

	mutex  sync.Mutex
	status Status
	logins []User
	// forgotten is the key of the current generation once this memcached, and those of all later nodes in the list, no longer accept
	// anything that was removed from the Secrets. Until then it is empty.
	forgotten string
}

// New returns a Reloader for a memcached that serves plaintext at an address.
func New(c Config, memcached string, log *slog.Logger) *Reloader {
	node, _ := os.Hostname() // without a name, it is in no list of nodes, and waits
	hosts, _ := os.ReadFile("/etc/hosts")
	return &Reloader{
		config:    c,
		log:       log,
		processes: newProcfs(cmp.Or(c.Processes, "/proc"), "memcached"),
		server:    network{plaintext: memcached, tls: c.TLS},
		neighbors: newAgents(c.AgentPort),
		node:      node,
		domain:    domainIn(string(hosts), node),
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

// Run works until the context ends. If memcached cannot start with the Secrets, it writes the termination message and returns an
// *InvalidError, but only once: an agent that is started again with the same problem waits until it is solved, so that the kubelet's
// back-off does not delay the start of memcached.
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

// open reads what a previous agent has left in the folder.
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

// reopen reads a generation. It returns nil if memcached could not use it.
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

// terminate writes and remembers the termination message. The kubelet has created the file.
func (r *Reloader) terminate(message string) error {
	return errors.Join(overwrite(r.config.TerminationLog, message), r.store.refuse(message))
}

// step does what is due, and returns how long to wait before the next step.
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

// observe finds the memcached that runs. If it has started since the last step, it has read the current generation.
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

// restartReasons has an entry for each value of the label reason: whether memcached must be restarted because of it.
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
