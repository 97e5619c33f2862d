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
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// crawlerWait is the longest time that a restart waits until memcached's background threads are idle: see awaitRest.
const crawlerWait = 10 * time.Second

func (l *launcher) restart(ctx context.Context, entry protocol.Entry) error {
	if l.current.Keeps(entry.List) {
		l.awaitRest(ctx)
	}
	l.before = count(ctx, l.options.Memcached, l.current.List)
	l.log.Printf("restarting memcached with the arguments %s", entry.Arguments)
	l.stopped = time.Now()
	l.view.update(func(v *view) { v.status.Restarting, v.status.Since = true, time.Time{} })
	l.stop(syscall.SIGTERM)
	if l.ending {
		return errEnded
	}
	return l.start(entry)
}

// awaitRest waits until memcached's background threads are idle (see the function rests), for options.crawler at most. On SIGUSR1,
// memcached stops serving at once, but it ends only when these threads are idle. They may wait for a client: one that has asked for all
// keys and does not read the answer, or one that has sent half of a value. If memcached does not end in time, the method stop kills it, and
// the items are lost.
func (l *launcher) awaitRest(ctx context.Context) {
	deadline := time.After(l.options.crawler)
	for told := false; !l.ending; told = true {
		err := rests(ctx, l.options.Memcached, l.current.List)
		if err == nil {
			return
		}
		if !told {
			l.log.Printf("the restart waits, at most %s: %v", l.options.crawler, err)
		}
		select {
		case <-deadline:
			l.log.Printf("restarting memcached nevertheless: without its items if it does not end within %s", patience(l.current.List))
			return
		case status := <-l.process.ended:
			l.process.ended <- status // so that the method stop receives it
			return
		case signal := <-l.signals:
			l.ending = signal != syscall.SIGHUP // SIGHUP needs no action: memcached reads its files when it starts
		case <-time.After(l.options.poll):
		}
	}
}

// errEnded means that the container must end, so memcached was not started.
var errEnded = errors.New("the container is to end")

// failed returns the container's exit code and error for an error. errEnded is not a failure.
func failed(err error) (int, error) {
	if errors.Is(err, errEnded) {
		return 0, nil
	}
	return 1, err
}

// stop signals memcached, and waits until it ends. If memcached keeps its items in a file, the signal is SIGUSR1: memcached then
// writes a second file, which its next start needs (see the type items). If memcached does not end in time, stop kills it.
func (l *launcher) stop(signal syscall.Signal) syscall.WaitStatus {
	if l.current.InFile() {
		signal = syscall.SIGUSR1
	}
	bound := patience(l.current.List)
	l.excuse(bound)
	_ = l.process.signal(signal) // an error means that memcached has ended, which the loop below notices
	late := time.After(bound)
	for {
		select {
		case status := <-l.process.ended:
			return status
		case again := <-l.signals:
			l.ending = l.ending || again != syscall.SIGHUP
		case <-late:
			l.log.Printf("memcached has not ended within %s: killing it, without its items", bound)
			_ = l.process.signal(syscall.SIGKILL)
		}
	}
}

// end stops memcached, and returns the exit code of the container.
func (l *launcher) end(signal os.Signal) int {
	term, ok := signal.(syscall.Signal)
	if !ok {
		term = syscall.SIGTERM
	}
	return exitCode(l.stop(term))
}

// start starts memcached with the list of an entry.
func (l *launcher) start(entry protocol.Entry) (err error) {
	if err := l.items.prepare(l.state.Accepted.Keeps(entry.List)); err != nil {
		return err
	}
	time.Sleep(l.items.startable(time.Now()))
	l.current, l.accepted = entry, false
	l.emptied()
	l.excuse(patience(entry.List))
	l.process, err = start(l.options.Program, entry.List)
	return err
}

// goBack starts memcached with the last accepted argument list, if memcached has failed before another list was accepted. Otherwise,
// it returns an error that describes how memcached ended.
func (l *launcher) goBack(status syscall.WaitStatus) error {
	reason := fmt.Sprintf("memcached ended with exit code %d: %s", exitCode(status), l.process.errors)
	// Exit code 0 means that memcached ended because of a signal, not because of its arguments.
	ended := exitCode(status) == 0
	if l.accepted || ended || l.state.Accepted.Same(l.current.List) {
		return errors.New(reason)
	}
	l.refuse(l.current.Number, reason)
	return l.start(l.state.Accepted)
}

// excuse makes the liveness probe succeed even if memcached accepts no connections. This ends when memcached serves, or when the time in
// bound has passed.
func (l *launcher) excuse(bound time.Duration) {
	l.view.update(func(v *view) { v.serving, v.deadline = false, time.Now().Add(bound) })
}

// patience returns how long memcached may take to stop or to start. With 1 GiB of items in a file, a stop and a start take about a
// second each.
func patience(list protocol.List) time.Duration {
	mebibytes, err := strconv.Atoi(list.Value("-m"))
	if err != nil {
		mebibytes = 0
	}
	return 30*time.Second + time.Duration(mebibytes)*5*time.Millisecond
}
