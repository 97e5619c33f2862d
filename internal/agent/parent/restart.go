// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// crawlerWait is the longest time that a restart waits until memcached's background threads are idle: see awaitRest.
const crawlerWait = 10 * time.Second

func (n *node) restart(ctx context.Context, entry protocol.Entry) error {
	if n.current.Keeps(entry.List) {
		n.awaitRest(ctx)
	}
	n.before = count(ctx, n.options.Memcached, n.current.List)
	n.log.Printf("restarting memcached with the arguments %s", entry.Arguments)
	n.stopped = time.Now()
	n.view.update(func(v *view) { v.status.Restarting, v.status.Since = true, time.Time{} })
	n.stop(syscall.SIGTERM)
	if n.ending {
		return errEnded
	}
	return n.start(entry)
}

// awaitRest waits until memcached's background threads are idle (see the function rests), for options.crawler at most. On SIGUSR1,
// memcached stops serving at once, but it ends only when these threads are idle. They may wait for a client: one that has asked for all
// keys and does not read the answer, or one that has sent half of a value. If memcached does not end in time, the method stop kills it, and
// the items are lost.
func (n *node) awaitRest(ctx context.Context) {
	deadline := time.After(n.options.crawler)
	for told := false; !n.ending; told = true {
		err := rests(ctx, n.options.Memcached, n.current.List)
		if err == nil {
			return
		}
		if !told {
			n.log.Printf("the restart waits, at most %s: %v", n.options.crawler, err)
		}
		select {
		case <-deadline:
			n.log.Printf("restarting memcached nevertheless: without its items if it does not end within %s", patience(n.current.List))
			return
		case status := <-n.process.ended:
			n.process.ended <- status // so that the method stop receives it
			return
		case signal := <-n.signals:
			n.ending = signal != syscall.SIGHUP // SIGHUP needs no action: memcached reads its files when it starts
		case <-time.After(n.options.poll):
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
func (n *node) stop(signal syscall.Signal) syscall.WaitStatus {
	if n.current.InFile() {
		signal = syscall.SIGUSR1
	}
	bound := patience(n.current.List)
	n.excuse(bound)
	_ = n.process.signal(signal) // an error means that memcached has ended, which the loop below notices
	late := time.After(bound)
	for {
		select {
		case status := <-n.process.ended:
			return status
		case again := <-n.signals:
			n.ending = n.ending || again != syscall.SIGHUP
		case <-late:
			n.log.Printf("memcached has not ended within %s: killing it, without its items", bound)
			_ = n.process.signal(syscall.SIGKILL)
		}
	}
}

// end stops memcached, and returns the exit code of the container.
func (n *node) end(signal os.Signal) int {
	term, ok := signal.(syscall.Signal)
	if !ok {
		term = syscall.SIGTERM
	}
	return exitCode(n.stop(term))
}

// start starts memcached with the list of an entry.
func (n *node) start(entry protocol.Entry) (err error) {
	if err := n.items.prepare(n.state.Accepted.Keeps(entry.List)); err != nil {
		return err
	}
	time.Sleep(n.items.startable(time.Now()))
	n.current, n.accepted = entry, false
	n.emptied()
	n.excuse(patience(entry.List))
	n.process, err = start(n.options.Program, entry.List)
	return err
}

// goBack starts memcached with the last accepted argument list, if memcached has failed before another list was accepted. Otherwise,
// it returns an error that describes how memcached ended.
func (n *node) goBack(status syscall.WaitStatus) error {
	reason := fmt.Sprintf("memcached ended with exit code %d: %s", exitCode(status), n.process.errors)
	// Exit code 0 means that memcached ended because of a signal, not because of its arguments.
	ended := exitCode(status) == 0
	if n.accepted || ended || n.state.Accepted.Same(n.current.List) {
		return errors.New(reason)
	}
	n.refuse(n.current.Number, reason)
	return n.start(n.state.Accepted)
}

// excuse makes the liveness probe succeed even if memcached accepts no connections. This ends when memcached serves, or when the time in
// bound has passed.
func (n *node) excuse(bound time.Duration) {
	n.view.update(func(v *view) { v.serving, v.deadline = false, time.Now().Add(bound) })
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
