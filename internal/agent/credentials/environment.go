// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"log/slog"
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
	// promptPeriod replaces pollPeriod while memcached cannot start or does not run, and while a reload or its verification is pending.
	promptPeriod = time.Second
)

// environment is what the source, the state and the loader share: flags, log, clock, and access to memcached.
type environment struct {
	config    Config
	log       *slog.Logger
	processes processes
	server    server
	now       func() time.Time
	// sleep waits for a period, or until the context ends.
	sleep func(ctx context.Context, period time.Duration)
}

func newEnvironment(c Config, memcached string, log *slog.Logger) *environment {
	return &environment{
		config:    c,
		log:       log,
		processes: newProcfs(cmp.Or(c.Processes, "/proc"), "memcached"),
		server:    network{plaintext: memcached, tls: c.TLS},
		now:       time.Now,
		sleep: func(ctx context.Context, period time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(period):
			}
		},
	}
}
