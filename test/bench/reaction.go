// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// edits is how many sizes a user changes, one after the other at the pace: the pods that follow need the machine too.
	edits = 100
	// editedSize is not size.
	editedSize = size + 1
	// slowestReaction is the threshold of the 99th percentile while the operator restarts.
	slowestReaction = time.Second
)

// edit changes the sizes of some Memcacheds, one after the other, and returns what followed. The time of a reaction begins
// when the request of the user reaches the API server, or at the time notBefore if that is later, and ends when the request
// for the Deployment is answered.
func (r *rig) edit(ctx context.Context, newSize int32, user string, large int, notBefore func() (time.Time, error)) (
	reactions []time.Duration, unanswered int, _ error,
) {
	since, err := r.log.mark()
	if err != nil {
		return nil, 0, err
	}
	count := min(edits, large)
	for i := range count {
		// Those that are edited are all over the order in which they were created.
		if err := r.resize(ctx, i*(large/count), newSize); err != nil {
			return nil, 0, err
		}
		if err := pause(ctx, pace); err != nil {
			return nil, 0, err
		}
	}
	began, err := notBefore()
	if err != nil {
		return nil, 0, err
	}
	if _, err := r.silent(ctx, since, user); err != nil {
		return nil, 0, err
	}
	reactions, unanswered = reactionsIn(r.log.requests[since:], user, began)
	return reactions, unanswered, nil
}

// reactionsIn finds for each change of a Memcached the next patch of its Deployment by the user.
func reactionsIn(requests []request, user string, notBefore time.Time) (reactions []time.Duration, unanswered int) {
	waiting := map[types.NamespacedName]time.Time{}
	// In the log, the answer to a change may come before the change.
	requests = slices.SortedStableFunc(slices.Values(requests), func(a, b request) int { return a.received.Compare(b.received) })
	for _, r := range requests {
		if r.verb != "patch" || r.columnOf() != accepted {
			continue
		}
		switch {
		case r.resource == "memcacheds":
			waiting[r.object] = r.received
			if r.received.Before(notBefore) {
				waiting[r.object] = notBefore
			}
		case r.resource == "deployments" && r.user == user:
			if asked, ok := waiting[r.object]; ok {
				reactions = append(reactions, max(0, r.answered.Sub(asked)))
				delete(waiting, r.object)
			}
		}
	}
	return reactions, len(waiting)
}

// reactIdle measures the reactions of an operator that has nothing else to do.
func (b *bench) reactIdle(ctx context.Context, r *rig, o *operator) error {
	reactions, unanswered, err := r.edit(ctx, editedSize, o.user, b.options.large, anyTime)
	if err != nil {
		return err
	}
	b.addReactions("a new size, idle", reactions, unanswered)
	return nil
}

// anyTime lets reactions begin with the requests of the user.
func anyTime() (time.Time, error) { return time.Time{}, nil }

// reactRestarting measures the reactions of an operator that starts, from when it is ready.
func (b *bench) reactRestarting(ctx context.Context, r *rig) error {
	o, err := r.newOperator(ctx)
	if err != nil {
		return err
	}
	type start struct {
		at  time.Time
		err error
	}
	ready := make(chan start, 1)
	began := time.Now()
	go func() {
		at, err := o.awaitReady(ctx)
		ready <- start{at, err}
	}()
	reactions, unanswered, err := r.edit(ctx, size, o.user, b.options.large, func() (time.Time, error) {
		s := <-ready
		b.report.add(reaction, fmt.Sprintf("start of the operator with %d resources until it is ready", b.options.large), "s",
			s.at.Sub(began).Seconds())
		return s.at, s.err
	})
	if err != nil {
		return err
	}
	if err := o.awaitReconciles(ctx, b.options.large); err != nil { // those that nobody edits have their turn too
		return err
	}
	name := "a new size, during a restart"
	b.addReactions(name, reactions, unanswered)
	b.report.hold(reaction, name+", p99", "ms", milliseconds(percentile(reactions, 99)),
		threshold{milliseconds(slowestReaction), false})
	return o.stop()
}

// reactRaw measures the reactions of the raw writer.
func (b *bench) reactRaw(ctx context.Context, r *rig) error {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := r.startRawWriter(working, b.options.large, apply)
	if err != nil {
		return err
	}
	if err := settle(ctx, w.known); err != nil {
		return err
	}
	reactions, unanswered, err := r.edit(ctx, editedSize, rawUser, b.options.large, anyTime)
	if err != nil {
		return errors.Join(err, w.failure())
	}
	b.addReactions("a new size, raw writer", reactions, unanswered)
	return w.failure()
}

// addReactions adds percentiles of the reactions to the report; there must be one for each change.
func (b *bench) addReactions(name string, reactions []time.Duration, unanswered int) {
	b.report.add(reaction, name+", p50", "ms", milliseconds(percentile(reactions, 50)))
	if name != "a new size, during a restart" {
		b.report.add(reaction, name+", p99", "ms", milliseconds(percentile(reactions, 99)))
	}
	b.report.add(reaction, name+", slowest", "ms", milliseconds(percentile(reactions, 100)))
	b.report.hold(reaction, name+", without a reaction", "changes", float64(unanswered), threshold{0, true})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
