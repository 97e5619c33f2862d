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
	// edits is how many Memcacheds a user resizes, one after the other. In the pauses between the changes, the machine can start the
	// pods.
	edits      = 100
	editedSize = size + 1
	// slowestReaction limits the 99th percentile of the reactions during a restart of the operator.
	slowestReaction = 2 * time.Second
)

// edit resizes Memcacheds one after the other. It returns how long the client with this user name took to react to each change. The
// client is the operator or the raw writer (baseline.go). A reaction begins when the API server receives the new size, or at notBefore
// if that is later. It ends with the response to the patch of the Deployment. unanswered is the number of changes without a reaction.
func (t *testbed) edit(ctx context.Context, newSize int32, user string, large int, notBefore func() time.Time) (
	reactions []time.Duration, unanswered int,
) {
	since := must(t.log.mark())
	count := min(edits, large)
	for i := range count {
		// The resized Memcacheds are spread evenly over all Memcacheds.
		check(t.resize(ctx, i*(large/count), newSize))
		check(pause(ctx, pace))
	}
	began := notBefore()
	t.waitUntilQuiet(ctx, since, user)
	return reactionsIn(t.log.requests[since:], user, began)
}

// reactionsIn finds the reaction to each change of a Memcached: the next patch of the Deployment by this user.
func reactionsIn(requests []request, user string, notBefore time.Time) (reactions []time.Duration, unanswered int) {
	waiting := map[types.NamespacedName]time.Time{}
	// The log is not in order of time: it may contain the reaction before the change.
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

func (b *bench) reactIdle(ctx context.Context, t *testbed, o *replica) {
	reactions, unanswered := t.edit(ctx, editedSize, o.user, b.options.large, anyTime)
	b.addReactions("a new size, idle", reactions, unanswered)
}

// anyTime is for the parameter notBefore of edit. It returns a time before all changes, so each reaction begins with the change.
func anyTime() time.Time { return time.Time{} }

// reactRestarting measures the reactions of an operator that is starting. A reaction does not begin before the operator is ready.
func (b *bench) reactRestarting(ctx context.Context, t *testbed, newSize int32) {
	o := t.newOperator(ctx)
	type start struct {
		at  time.Time
		err error
	}
	ready := make(chan start, 1)
	began := time.Now()
	go func() {
		err := o.UntilReady(ctx, startDeadline)
		ready <- start{time.Now(), err}
	}()
	reactions, unanswered := t.edit(ctx, newSize, o.user, b.options.large, func() time.Time {
		s := <-ready
		check(s.err)
		b.report.add(reaction, fmt.Sprintf("start of the operator with %d resources until it is ready", b.options.large), "s",
			s.at.Sub(began).Seconds())
		return s.at
	})
	o.awaitReconciles(ctx, b.options.large) // the operator reconciles the unedited Memcacheds too
	name := "a new size, during a restart"
	b.addReactions(name, reactions, unanswered)
	b.report.hold(reaction, name+", p99", "ms", milliseconds(percentile(reactions, 99)),
		threshold{milliseconds(slowestReaction), false})
	check(o.stop())
}

func (b *bench) reactRaw(ctx context.Context, t *testbed) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	w := t.startRawWriter(working, b.options.large)
	waitUntilStable(ctx, func() int { return must(w.known()) })
	err := attempt(func() {
		reactions, unanswered := t.edit(ctx, editedSize, rawUser, b.options.large, anyTime)
		b.addReactions("a new size, raw writer", reactions, unanswered)
	})
	check(errors.Join(err, w.failure()))
}

// addReactions reports percentiles of the reactions. Each change must have had a reaction.
func (b *bench) addReactions(name string, reactions []time.Duration, unanswered int) {
	b.report.addDetail(reaction, name+", p50", "ms", milliseconds(percentile(reactions, 50)))
	if name != "a new size, during a restart" {
		b.report.add(reaction, name+", p99", "ms", milliseconds(percentile(reactions, 99)))
	}
	b.report.addDetail(reaction, name+", slowest", "ms", milliseconds(percentile(reactions, 100)))
	b.report.holdCount(reaction, name+", without a reaction", "changes", unanswered, 0)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
