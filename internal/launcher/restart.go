// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// restart replaces the process.
func (l *launcher) restart(ctx context.Context, list protocol.List) error {
	l.before = count(ctx, l.options.Memcached, l.list)
	l.log.Printf("restarting memcached with the arguments %s", strings.Join(list.Arguments, " "))
	l.stopped = time.Now()
	l.view.update(func(v *view) { v.status.Restarting, v.status.Since = list.Hash(), time.Time{} })
	l.stop(syscall.SIGTERM)
	if l.ending {
		return errEnded
	}
	return l.start(list, false)
}

// errEnded means that the container is to end, so that no other process is started.
var errEnded = errors.New("the container is to end")

// stop ends memcached and waits. If it keeps its items in a file, it ends in a way that writes them.
func (l *launcher) stop(signal syscall.Signal) syscall.WaitStatus {
	if l.list.InFile() {
		signal = syscall.SIGUSR1
	}
	bound := patience(l.list)
	l.excuse(bound)
	_ = l.process.signal(signal) // a process that has ended says so below
	for {
		select {
		case status := <-l.process.ended:
			return status
		case again := <-l.signals:
			l.ending = l.ending || again != syscall.SIGHUP
		case <-time.After(bound):
			l.log.Printf("memcached has not ended within %s: killing it, without its items", bound)
			_ = l.process.signal(syscall.SIGKILL)
		}
	}
}

// end ends memcached for good.
func (l *launcher) end(signal os.Signal) int {
	term, ok := signal.(syscall.Signal)
	if !ok {
		term = syscall.SIGTERM
	}
	return exitCode(l.stop(term))
}

// start starts memcached. A known list has run before: if memcached ends soon, that is no reason to go back to another one.
func (l *launcher) start(list protocol.List, known bool) error {
	last, ran := l.state.accepted()
	if err := l.items.prepare(ran && last.Keeps(list)); err != nil {
		return err
	}
	time.Sleep(l.items.startable(time.Now()))
	l.list, l.accepted = list, false
	l.emptied()
	l.excuse(patience(list))
	started, err := start(l.options.Program, list)
	if err != nil {
		return err
	}
	l.process = started
	if known {
		l.state.Accepted = list.String()
	}
	return nil
}

// goBack starts memcached with its former arguments if it has ended soon after a start with new ones. The error says how memcached ended if
// there are no former arguments.
func (l *launcher) goBack(status syscall.WaitStatus) error {
	reason := fmt.Sprintf("memcached ended with exit code %d: %s", exitCode(status), l.process.errors)
	last, ran := l.state.accepted()
	// An agent ends memcached so that it forgets what was removed from a Secret. That says nothing about the arguments.
	ended := exitCode(status) == 0
	if l.accepted || ended || !ran || last.Hash() == l.list.Hash() {
		return errors.New(reason)
	}
	l.refuse(l.list.Hash(), reason)
	return l.start(last, true)
}

// excuse sets for how long memcached need not accept connections.
func (l *launcher) excuse(bound time.Duration) {
	l.view.update(func(v *view) { v.serving, v.deadline = false, time.Now().Add(bound) })
}

// patience is how long memcached may take to stop or to start: with 1 GiB in a file, it takes a second for each.
func patience(list protocol.List) time.Duration {
	mebibytes, err := strconv.Atoi(list.Value("-m"))
	if err != nil {
		mebibytes = 0
	}
	return 30*time.Second + time.Duration(mebibytes)*5*time.Millisecond
}
