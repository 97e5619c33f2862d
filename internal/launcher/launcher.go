// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"
	"errors"
	"io/fs"
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
	// list is memcached's current argument list. accepted is true if memcached still answers after options.settled, or if memcached has
	// adopted the list while it was running.
	list     protocol.List
	accepted bool
	// stopped is when the current restart of memcached began, or zero if there is none.
	stopped time.Time
	// before is the number of items before the last restart, -1 if unknown.
	before int64
	// obstacle is the temporary error after which the method follow tries again, or empty.
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
		source: source{folder: o.Arguments, section: o.Template, ordinal: o.Ordinal, items: items(o.Items)},
	}
	return runBeside(ctx, o.Listen, o.Memcached, &l.view, l.run)
}

func (l *launcher) run(ctx context.Context) (int, error) {
	if err := l.begin(ctx); err != nil {
		return beginFailed(err)
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
			_ = reclaim(ctx, l.options.Memcached, l.list) // after an error, the next tick tries again
		case <-ticker.C:
			err := l.follow(ctx)
			if errors.Is(err, errEnded) {
				return 0, nil
			}
			if err != nil {
				return 1, err
			}
		}
	}
}

// follow applies the node's argument list if the ConfigMap has changed. It does nothing before the current list is accepted.
func (l *launcher) follow(ctx context.Context) error {
	if !l.accepted || !l.source.changed() {
		return nil
	}
	found, obstacle := l.next(), l.obstacle
	l.obstacle = ""
	switch {
	case found.hash == l.list.Hash():
		l.forgive()
		return nil
	case found.hash == "" || l.state.refuses(found.hash):
		return nil
	case errors.Is(found.problem, fs.ErrNotExist):
		l.delay(found.problem, obstacle) // the kubelet adds the files of new keys a moment after it has replaced the others
		return nil
	case found.problem != nil:
		l.refuse(found.hash, found.problem.Error())
		return nil //nolint:nilerr // the status has it
	case l.list.Grows(found.list):
		l.grow(ctx, found.list, obstacle)
		return nil
	default:
		return l.restart(ctx, found.list)
	}
}

// next returns the node's entry, or an empty entry if the ConfigMap cannot be read.
func (l *launcher) next() entry {
	found, err := l.source.entry(false)
	if err != nil {
		l.log.Printf("the arguments stay as they are: %v", err)
	}
	return found
}

func (l *launcher) grow(ctx context.Context, list protocol.List, obstacle string) {
	err := grow(ctx, l.options.Memcached, l.list, list)
	if errors.Is(err, errAnswer) {
		l.refuse(list.Hash(), err.Error())
		return
	}
	if err != nil {
		l.delay(err, obstacle)
		return
	}
	l.log.Printf("memcached has %s MiB for items instead of %s", list.Value("-m"), l.list.Value("-m"))
	l.list = list
	l.accept()
}

// delay records a temporary error, such as no free connection, and makes the method follow try again at the next tick. It logs the error
// only if its text differs from former, the text of the previous obstacle.
func (l *launcher) delay(err error, former string) {
	if former != err.Error() {
		l.log.Printf("trying again: %v", err)
	}
	l.obstacle, l.source.seen = err.Error(), nil
}

// refuse records that the argument list with this hash does not come into effect, and why.
func (l *launcher) refuse(hash, reason string) {
	l.log.Printf("keeping the arguments, because %s was refused: %s", hash, reason)
	l.state.Refused = &protocol.Refusal{Hash: hash, Reason: reason}
	l.save()
	l.view.update(func(v *view) { v.status.Refused, v.status.Restarting = l.state.Refused, "" })
}

// forgive clears the refusal, because the ConfigMap now names the list that is in effect.
func (l *launcher) forgive() {
	if l.state.Refused == nil {
		return
	}
	l.state.Refused = nil
	l.save()
	l.view.update(func(v *view) { v.status.Refused = nil })
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
		ItemsBefore: l.before, ItemsAfter: count(ctx, l.options.Memcached, l.list), Seconds: time.Since(l.stopped).Seconds(),
	}
	l.stopped = time.Time{}
	l.log.Printf("memcached serves again after %.1f s, with %d of %d items", result.Seconds, result.ItemsAfter, result.ItemsBefore)
	l.view.update(func(v *view) { v.serving, v.status.Restart = true, &result })
}

// accept records l.list as the argument list in effect.
func (l *launcher) accept() {
	l.accepted = true
	hash := l.list.Hash()
	l.state.Accepted = l.list.String()
	if l.state.refuses(hash) || l.state.Refused != nil && l.next().hash == hash {
		l.state.Refused = nil
	}
	l.save()
	l.view.update(func(v *view) {
		v.status.Since = time.Now().UTC()
		v.status.Hash, v.status.List, v.status.Restarting, v.status.Refused = hash, l.state.Accepted, "", l.state.Refused
	})
}

func (l *launcher) save() {
	if err := l.state.save(l.options.State); err != nil {
		l.log.Printf("what memcached runs with is not remembered: %v", err)
	}
}
