// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"log/slog"
	"time"
)

const (
	// pollPeriod is how often the Secrets are read. The kubelet takes a minute or more to deliver a change.
	pollPeriod = 5 * time.Second
	// promptPeriod is the shorter period while the agent waits for a repaired Secret, the start of memcached, or a retry.
	promptPeriod = time.Second
)

// environment is what the source, the state and the loader share: the flags, the log, the clock, and memcached.
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
