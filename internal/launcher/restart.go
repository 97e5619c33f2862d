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

// crawlerWait is how long a restart waits for memcached's crawler.
const crawlerWait = 10 * time.Second

func (l *launcher) restart(ctx context.Context, list protocol.List) error {
	if l.list.Keeps(list) {
		l.awaitCrawler(ctx)
	}
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

// awaitCrawler waits until memcached says that its crawler rests. After SIGUSR1, memcached waits for its crawler, and serves nobody.
// The crawler waits for a client that lists keys but does not read them. If that takes too long, memcached is killed without its items.
func (l *launcher) awaitCrawler(ctx context.Context) {
	deadline := time.After(l.options.crawler)
	for told := false; !l.ending; told = true {
		err := crawlerRests(ctx, l.options.Memcached, l.list)
		if err == nil {
			return
		}
		if !told {
			l.log.Printf("the restart waits, at most %s: %v", l.options.crawler, err)
		}
		select {
		case <-deadline:
			l.log.Printf("restarting memcached nevertheless: without its items if it does not end within %s", patience(l.list))
			return
		case status := <-l.process.ended:
			l.process.ended <- status // for stop
			return
		case signal := <-l.signals:
			l.ending = signal != syscall.SIGHUP // memcached reads its files when it starts
		case <-time.After(l.options.poll):
		}
	}
}

// errEnded means that the container has to end, so that no process may be started.
var errEnded = errors.New("the container is to end")

// stop stops memcached and waits for its end. If the items are in a file, SIGUSR1 makes memcached write NAME.meta before it ends.
func (l *launcher) stop(signal syscall.Signal) syscall.WaitStatus {
	if l.list.InFile() {
		signal = syscall.SIGUSR1
	}
	bound := patience(l.list)
	l.excuse(bound)
	_ = l.process.signal(signal) // a process that has ended is handled below
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

// end stops memcached for the last time.
func (l *launcher) end(signal os.Signal) int {
	term, ok := signal.(syscall.Signal)
	if !ok {
		term = syscall.SIGTERM
	}
	return exitCode(l.stop(term))
}

// start starts memcached. A known list (see choose) stays in effect even if memcached ends soon.
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

// goBack starts memcached with its former arguments if memcached has ended soon after a start with new ones. If there are no former
// arguments, its error describes how memcached ended.
func (l *launcher) goBack(status syscall.WaitStatus) error {
	reason := fmt.Sprintf("memcached ended with exit code %d: %s", exitCode(status), l.process.errors)
	last, ran := l.state.accepted()
	// Exit code 0 means that a signal has ended memcached. That is no problem of the arguments.
	ended := exitCode(status) == 0
	if l.accepted || ended || !ran || last.Hash() == l.list.Hash() {
		return errors.New(reason)
	}
	l.refuse(l.list.Hash(), reason)
	return l.start(last, true)
}

// excuse sets how long memcached need not accept connections.
func (l *launcher) excuse(bound time.Duration) {
	l.view.update(func(v *view) { v.serving, v.deadline = false, time.Now().Add(bound) })
}

// patience returns how long memcached may take to stop or to start. With 1 GiB of items in a file, both take a second each.
func patience(list protocol.List) time.Duration {
	mebibytes, err := strconv.Atoi(list.Value("-m"))
	if err != nil {
		mebibytes = 0
	}
	return 30*time.Second + time.Duration(mebibytes)*5*time.Millisecond
}
