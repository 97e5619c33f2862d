// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"log/slog"
	"sync"
	"time"
)

// quietPeriod is the shortest time between two log entries of a transitions value. The first success is logged even within quietPeriod.
const quietPeriod = 10 * time.Second

// transitions logs when something begins to fail, and when it works again. After an entry, nothing is logged for quietPeriod. Then
// the first observation that differs from the entry is logged.
type transitions struct {
	log          *slog.Logger
	fails, works string
	now          func() time.Time
	mutex        sync.Mutex
	logged       string
	entry        time.Time
}

// newTransitions begins with a quiet period, because a starting memcached does not answer yet.
func newTransitions(log *slog.Logger, now func() time.Time, fails, works string) *transitions {
	return &transitions{log: log, fails: fails, works: works, now: now, entry: now()}
}

func (t *transitions) observe(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now, message := t.now(), t.works
	if err != nil {
		message = t.fails
	}
	first := t.logged == "" && err == nil
	if message == t.logged || !first && now.Sub(t.entry) < quietPeriod {
		return
	}
	t.logged, t.entry = message, now
	if err != nil {
		t.log.Warn(message, "reason", err.Error())
		return
	}
	t.log.Info(message)
}
