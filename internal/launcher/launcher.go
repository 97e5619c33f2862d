// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"
	"errors"
	"log"
	"os"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// launcher runs one memcached at a time. The goroutine of launcher.run owns the fields. Other goroutines use only view and log.
type launcher struct {
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
	l := &launcher{
		options: o, log: log, signals: signals, items: items(o.Items),
		source: source{folder: o.Arguments, pod: o.Pod, ordinal: o.Ordinal, items: items(o.Items)},
	}
	return runBeside(ctx, o.Listen, o.Memcached, &l.view, l.run)
}

func (l *launcher) run(ctx context.Context) (int, error) {
	if err := l.begin(ctx); err != nil {
		return 1, err
	}
	ticker, reclaims := time.NewTicker(l.options.poll), time.NewTicker(l.options.reclaim)
	defer ticker.Stop()
	defer reclaims.Stop()
	for {
		select {
		case status := <-l.process.ended:
			if err := l.goBack(status); err != nil {
				l.log.Print(err)
				return exitCode(status), nil
			}
		case signal := <-l.signals:
			if signal != syscall.SIGHUP {
				return l.end(signal), nil
			}
			_ = l.process.signal(syscall.SIGHUP) // a memcached that has ended reads its files at its next start
		case <-l.settling():
			l.settle(ctx)
		case <-reclaims.C:
			_ = reclaim(ctx, l.options.Memcached, l.current.List) // after an error, the next tick tries again
		case <-ticker.C:
			if err := l.follow(ctx); err != nil {
				return failed(err)
			}
		}
	}
}

// follow applies the pod's entry in the ConfigMap if it has another number than the entry in effect. It does nothing before the current
// list is accepted.
func (l *launcher) follow(ctx context.Context) error {
	if !l.accepted {
		return nil
	}
	found, err := l.source.entry()
	obstacle := l.obstacle
	l.obstacle = ""
	switch {
	case found == nil && err != nil:
		l.delay(err, obstacle)
	case found == nil || found.Number == l.current.Number || l.state.refuses(found.Number):
	case err != nil:
		l.refuse(found.Number, err.Error())
	case found.Forget == l.process.pid: // the pod's containers share their process IDs
		return l.restart(ctx, *found)
	case l.current.Same(found.List):
		l.current = *found
		l.accept()
	case l.current.Grows(found.List):
		l.grow(ctx, *found, obstacle)
	default:
		return l.restart(ctx, *found)
	}
	return nil
}

func (l *launcher) grow(ctx context.Context, entry protocol.Entry, obstacle string) {
	err := grow(ctx, l.options.Memcached, l.current.List, entry.List)
	if errors.Is(err, errAnswer) {
		l.refuse(entry.Number, err.Error())
		return
	}
	if err != nil {
		l.delay(err, obstacle)
		return
	}
	l.log.Printf("memcached has %s MiB for items instead of %s", entry.Value("-m"), l.current.Value("-m"))
	l.current = entry
	l.accept()
}

// delay records an error after which the method follow tries again at the next tick. It logs the error only if its text differs from
// former, the text of the previous obstacle.
func (l *launcher) delay(err error, former string) {
	if former != err.Error() {
		l.log.Printf("trying again: %v", err)
	}
	l.obstacle = err.Error()
}

// refuse records that the entry with this number does not come into effect, and why.
func (l *launcher) refuse(number int64, reason string) {
	const most = 512 // bytes, because the operator reads only a short status
	l.log.Printf("keeping the arguments, because entry %d was refused: %s", number, reason)
	l.state.Refused = &protocol.Refusal{Number: number, Reason: reason[:min(len(reason), most)]}
	l.save()
	l.view.update(func(v *view) { v.status.Refused, v.status.Restarting = l.state.Refused, false })
}

const settlePoll = 20 * time.Millisecond

// settling returns a channel that fires after settlePoll. It returns nil if the argument list is already accepted.
func (l *launcher) settling() <-chan time.Time {
	if l.accepted {
		return nil
	}
	return time.After(settlePoll)
}

// settle marks memcached as serving if it answers. If memcached has also run for options.settled, settle accepts the list.
func (l *launcher) settle(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if answers(asking, l.options.Memcached) != nil {
		return
	}
	l.served(ctx)
	if time.Since(l.process.started) >= l.options.settled {
		l.accept()
	}
}

// served records that memcached serves after a start or a restart. For each process of memcached, it calls the method fill once.
func (l *launcher) served(ctx context.Context) {
	if l.stopFilling == nil {
		l.fill(ctx)
	}
	if l.stopped.IsZero() {
		l.view.update(func(v *view) { v.serving = true })
		return
	}
	result := protocol.Restart{
		ItemsBefore: l.before, ItemsAfter: count(ctx, l.options.Memcached, l.current.List), Seconds: time.Since(l.stopped).Seconds(),
	}
	l.stopped = time.Time{}
	l.log.Printf("memcached serves again after %.1f s, with %d of %d items", result.Seconds, result.ItemsAfter, result.ItemsBefore)
	l.view.update(func(v *view) { v.serving, v.status.Restart = true, &result })
}

// accept records l.current as the entry in effect.
func (l *launcher) accept() {
	adopted := l.accepted && l.current.Same(l.state.Accepted.List)
	if l.current.Number != l.state.Accepted.Number {
		l.state.Refused = nil
	}
	l.state.Accepted, l.accepted = l.current, true
	l.save()
	l.view.update(func(v *view) {
		if !adopted {
			v.status.Since = time.Now().UTC()
		}
		v.status.Number, v.status.List, v.status.Restarting, v.status.Refused = l.current.Number, l.current.List, false, l.state.Refused
	})
}

func (l *launcher) save() {
	if err := l.state.save(l.options.State); err != nil {
		l.log.Printf("what memcached runs with is not remembered: %v", err)
	}
}
