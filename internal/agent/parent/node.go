// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

// node runs one memcached at a time. The goroutine of node.run owns the fields. Other goroutines use only view and log.
type node struct {
	options Options
	log     *log.Logger
	signals <-chan os.Signal
	source  source
	items   items
	state   state
	view    view
	watch   watch

	process *process
	// current is the entry whose list memcached runs with. accepted is true if memcached still answers after options.settled, or if memcached
	// has adopted the list while it was running.
	current  protocol.Entry
	accepted bool
	// stopped is when the current restart of memcached began, or zero if there is none.
	stopped time.Time
	// before is the number of items before the last restart, -1 if unknown.
	before int64
	// obstacle is the text of the error after which the method follow tries again, or empty.
	obstacle string
	// ending reports that the container must end, so memcached must not be started again.
	ending bool
	// stopFilling cancels the fill of memcached, and waits until it has ended. It is nil if none has begun.
	stopFilling func()
}

// Run runs memcached until the container must end, and returns the container's exit code. A SIGHUP from signals is passed on to
// memcached. Any other signal ends memcached. The caller must have called runtime.LockOSThread: see the function start.
func Run(ctx context.Context, o Options, signals <-chan os.Signal, log *log.Logger) (int, error) {
	n := &node{
		options: o, log: log, signals: signals, items: items(o.Items), watch: newWatch(o.Memcached, o.deafAfter),
		source: source{folder: o.Arguments, name: o.Name, pod: o.Pod, items: items(o.Items)},
	}
	return runBeside(ctx, o.Listen, &n.view, n.watch, log, n.run)
}

func (n *node) run(ctx context.Context) (int, error) {
	if err := n.begin(ctx); err != nil {
		return 1, err
	}
	return n.serve(ctx)
}

// serve follows what happens until memcached has ended.
func (n *node) serve(ctx context.Context) (int, error) {
	ticker, reclaims := time.NewTicker(n.options.poll), time.NewTicker(n.options.reclaim)
	defer ticker.Stop()
	defer reclaims.Stop()
	for {
		select {
		case status := <-n.process.ended:
			if err := n.goBack(status); err != nil {
				n.log.Print(err)
				return exitCode(status), nil
			}
		case signal := <-n.signals:
			if signal != syscall.SIGHUP {
				return n.end(signal), nil
			}
			_ = n.process.signal(syscall.SIGHUP) // a memcached that has ended reads its files at its next start
		case <-n.watch.deaf:
			if n.watch.stillDeaf(ctx, &n.view) {
				n.log.Print(errDeaf)
				return max(n.end(syscall.SIGTERM), 1), errDeaf
			}
		case <-n.settling():
			n.settle(ctx)
		case <-reclaims.C:
			_ = reclaim(ctx, n.options.Memcached, n.current.List) // after an error, the next tick tries again
		case <-ticker.C:
			if err := n.follow(ctx); err != nil {
				return failed(err)
			}
		}
	}
}

// follow applies the pod's entry in the ConfigMap if it is another one than the entry in effect. It does nothing before the current
// list is accepted.
func (n *node) follow(ctx context.Context) error {
	if !n.accepted {
		return nil
	}
	found, err := n.source.entry()
	obstacle := n.obstacle
	n.obstacle = ""
	switch {
	case found == nil && err != nil:
		n.delay(err, obstacle)
	case found == nil || isSame(*found, n.current) || n.state.refuses(*found):
	case err != nil:
		n.refuse(*found, err.Error())
	case n.mustForget(*found):
		return n.restart(ctx, *found)
	case n.current.Same(found.List):
		n.current = *found
		n.accept()
	case n.current.Grows(found.List):
		n.grow(ctx, *found, obstacle)
	default:
		return n.restart(ctx, *found)
	}
	return nil
}

// mustForget reports whether an entry names the running memcached as one that must restart.
func (n *node) mustForget(entry protocol.Entry) bool {
	return entry.Forget != 0 && entry.Forget == credentials.StartOf(n.process.pid)
}

func (n *node) grow(ctx context.Context, entry protocol.Entry, obstacle string) {
	err := grow(ctx, n.options.Memcached, n.current.List, entry.List)
	if errors.Is(err, errAnswer) {
		n.refuse(entry, err.Error())
		return
	}
	if err != nil {
		n.delay(err, obstacle)
		return
	}
	n.log.Printf("memcached has %s MiB for items instead of %s", entry.Value("-m"), n.current.Value("-m"))
	n.current = entry
	n.accept()
}

// delay records an error after which the method follow tries again at the next tick. It logs the error only if its text differs from
// former, the text of the previous obstacle.
func (n *node) delay(err error, former string) {
	if former != err.Error() {
		n.log.Printf("trying again: %v", err)
	}
	n.obstacle = err.Error()
}

// refuse records that an entry does not come into effect, and why.
func (n *node) refuse(entry protocol.Entry, reason string) {
	const most = 512 // bytes, because the operator reads only a short status
	n.log.Printf("keeping the arguments, because entry %d was refused: %s", entry.Number, reason)
	n.state.RefusedList = entry.List
	n.state.Refused = &protocol.Refusal{Number: entry.Number, Reason: reason[:min(len(reason), most)]}
	n.save()
	n.view.update(func(v *view) { v.status.Refused, v.status.Restarting = n.state.Refused, false })
}

const settlePoll = 20 * time.Millisecond

// settling returns a channel that fires after settlePoll. It returns nil if the argument list is already accepted.
func (n *node) settling() <-chan time.Time {
	if n.accepted {
		return nil
	}
	return time.After(settlePoll)
}

// settle marks memcached as serving if it answers. If memcached has also run for options.settled, settle accepts the list.
func (n *node) settle(ctx context.Context) {
	if answers(ctx, n.options.Memcached) != nil {
		return
	}
	n.served(ctx)
	if time.Since(n.process.started) >= n.options.settled {
		n.accept()
	}
}

// served records that memcached serves after a start or a restart. For each process of memcached that needs the items of
// another copy, it calls the method fill once.
func (n *node) served(ctx context.Context) {
	if n.stopFilling == nil && n.fills() {
		n.fill(ctx)
	}
	if n.stopped.IsZero() {
		n.view.update(func(v *view) { v.serving = true })
		return
	}
	result := protocol.Restart{
		ItemsBefore: n.before, ItemsAfter: count(ctx, n.options.Memcached, n.current.List), Seconds: time.Since(n.stopped).Seconds(),
	}
	n.stopped = time.Time{}
	n.log.Printf("memcached serves again after %.1f s, with %d of %d items", result.Seconds, result.ItemsAfter, result.ItemsBefore)
	n.view.update(func(v *view) { v.serving, v.status.Restart = true, &result })
}

// accept records n.current as the entry in effect.
func (n *node) accept() {
	adopted := n.accepted && n.current.Same(n.state.Accepted.List)
	if !isSame(n.current, n.state.Accepted) {
		n.state.Refused = nil
	}
	n.state.Accepted, n.accepted = n.current, true
	n.save()
	n.view.update(func(v *view) {
		if !adopted {
			v.status.Since = time.Now().UTC()
		}
		v.status.Number, v.status.List, v.status.Restarting, v.status.Refused = n.current.Number, n.current.List, false, n.state.Refused
	})
}

func (n *node) save() {
	if err := n.state.save(n.options.State); err != nil {
		n.log.Printf("what memcached runs with is not remembered: %v", err)
	}
}

// begin starts memcached with the entry that the method choose returns.
func (n *node) begin(ctx context.Context) error {
	loaded, err := loadState(n.options.State)
	if err != nil {
		n.log.Printf("what memcached ran with before is not known: %v", err)
	}
	n.state = loaded
	if n.state.Accepted.Check() != nil {
		n.state.Accepted = protocol.Entry{List: n.options.First}
	}
	entry := n.choose()
	if err := n.items.checkVolume(entry.List); err != nil {
		return err
	}
	if err := n.checkVersion(ctx, entry.List); err != nil {
		return err
	}
	return n.start(entry)
}

// choose returns the pod's entry in the ConfigMap or, if there is none that can be used, what was accepted last.
func (n *node) choose() protocol.Entry {
	found, err := n.source.entry()
	if err != nil || found == nil || isSame(*found, n.state.Accepted) || n.state.refuses(*found) {
		return n.state.Accepted // the method follow reads the ConfigMap again, and reports what is wrong
	}
	return *found
}

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
	n.view.excuse(bound)
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
	n.view.excuse(patience(entry.List))
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
	n.refuse(n.current, reason)
	return n.start(n.state.Accepted)
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
