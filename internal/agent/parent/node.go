// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"log"
	"os"
	"syscall"
	"time"

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
	// stopFilling cancels the copy of items into memcached, and waits until the copy has ended. It is nil before memcached serves.
	stopFilling func()
}

// Run runs memcached until the container must end, and returns the container's exit code. A SIGHUP from signals is passed on to
// memcached. Any other signal ends memcached. The caller must have called runtime.LockOSThread: see the function start.
func Run(ctx context.Context, o Options, signals <-chan os.Signal, log *log.Logger) (int, error) {
	n := &node{
		options: o, log: log, signals: signals, items: items(o.Items),
		source: source{folder: o.Arguments, pod: o.Pod, ordinal: o.Ordinal, items: items(o.Items)},
	}
	return runBeside(ctx, o.Listen, o.Memcached, &n.view, n.run)
}

func (n *node) run(ctx context.Context) (int, error) {
	if err := n.begin(ctx); err != nil {
		return 1, err
	}
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

// follow applies the pod's entry in the ConfigMap if it has another number than the entry in effect. It does nothing before the current
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
	case found == nil || found.Number == n.current.Number || n.state.refuses(found.Number):
	case err != nil:
		n.refuse(found.Number, err.Error())
	case found.Forget == n.process.pid: // the pod's containers share their process IDs
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

func (n *node) grow(ctx context.Context, entry protocol.Entry, obstacle string) {
	err := grow(ctx, n.options.Memcached, n.current.List, entry.List)
	if errors.Is(err, errAnswer) {
		n.refuse(entry.Number, err.Error())
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

// refuse records that the entry with this number does not come into effect, and why.
func (n *node) refuse(number int64, reason string) {
	const most = 512 // bytes, because the operator reads only a short status
	n.log.Printf("keeping the arguments, because entry %d was refused: %s", number, reason)
	n.state.Refused = &protocol.Refusal{Number: number, Reason: reason[:min(len(reason), most)]}
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
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if answers(asking, n.options.Memcached) != nil {
		return
	}
	n.served(ctx)
	if time.Since(n.process.started) >= n.options.settled {
		n.accept()
	}
}

// served records that memcached serves after a start or a restart. For each process of memcached, it calls the method fill once.
func (n *node) served(ctx context.Context) {
	if n.stopFilling == nil {
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
	if n.current.Number != n.state.Accepted.Number {
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
