// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply/field"
)

// Result is the result of applying a Plan.
type Result struct {
	// Objects are the owner's desired objects as they exist after the writes. An object whose write failed may be missing.
	Objects []client.Object
	// Created lists the created objects by Kind and name, such as "Service cache".
	Created []string
	// Written reports that at least one object was created, changed or deleted.
	Written bool
	// Corrected are the corrections, at most one for each object.
	Corrected []Correction
}

// Apply carries out a plan. If a write fails, Apply still makes the other writes, with one exception: workloads wait for the objects
// that protect them (executeAll). The returned error joins all errors. It may contain the error types of this package and errors of
// the API server.
func (a *Applier) Apply(ctx context.Context, plan Plan) (Result, error) {
	outcomes := a.executeAll(ctx, plan)
	var result Result
	var errs []error
	for i, outcome := range outcomes {
		result.add(plan.steps[i], outcome)
		errs = append(errs, plan.steps[i].immutable, outcome.err)
	}
	for _, object := range plan.undesired {
		err := a.prune(ctx, object)
		result.Written = result.Written || err == nil
		errs = append(errs, err)
	}
	return result, errors.Join(errs...)
}

// executeAll carries out the steps in two groups, one after the other. The first group consists of plan.first and of the guards
// (field.Rules) that do not exist or cannot be written. If a step of this group fails, no object of a Guarded Kind is created. If the
// step of plan.first fails, only the size of existing objects of Guarded Kinds is written.
func (a *Applier) executeAll(ctx context.Context, plan Plan) []outcome {
	outcomes := make([]outcome, len(plan.steps))
	var guards, others []int
	for i, s := range plan.steps {
		if a.rules(s).Guard && (s.live == nil || s.err != nil) || plan.isFirst(s) {
			guards = append(guards, i)
		} else {
			others = append(others, i)
		}
	}
	a.executeTogether(ctx, plan, guards, outcomes)
	failed := func(i int) bool { return !outcomes[i].asDesired }
	if slices.ContainsFunc(guards, failed) {
		others = slices.DeleteFunc(others, func(i int) bool { return plan.steps[i].live == nil && a.rules(plan.steps[i]).Guarded })
	}
	if slices.ContainsFunc(guards, func(i int) bool { return failed(i) && plan.isFirst(plan.steps[i]) }) {
		plan.steps = slices.Clone(plan.steps)
		for _, i := range others {
			if s := plan.steps[i]; a.rules(s).Guarded {
				plan.steps[i] = a.compare(plan.owner, s.desired, s.live, true)
			}
		}
	}
	a.executeTogether(ctx, plan, others, outcomes)
	return outcomes
}

func (p Plan) isFirst(s step) bool { return p.first != nil && s.desired == p.first }

func (a *Applier) rules(s step) field.Rules {
	return a.differ.rules[s.desired.GetObjectKind().GroupVersionKind()]
}

// executeTogether carries out steps concurrently. If a step panics, executeTogether panics in the caller's goroutine, where the
// caller can recover.
func (a *Applier) executeTogether(ctx context.Context, plan Plan, indices []int, outcomes []outcome) {
	panics := make([]string, len(outcomes))
	var writes sync.WaitGroup
	for _, i := range indices {
		step := plan.steps[i]
		writes.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					panics[i] = fmt.Sprintf("%v, at\n%s", cause, debug.Stack())
				}
			}()
			outcomes[i] = a.execute(ctx, plan.owner, step)
		})
	}
	writes.Wait()
	if text := strings.Join(panics, ""); text != "" {
		panic(text)
	}
}

func (r *Result) add(s step, o outcome) {
	if o.live != nil {
		r.Objects = append(r.Objects, o.live)
	}
	if o.created {
		r.Created = append(r.Created, s.desired.GetObjectKind().GroupVersionKind().Kind+" "+s.desired.GetName())
	}
	r.Written = r.Written || o.written
	if o.correction != nil {
		r.Corrected = append(r.Corrected, *o.correction)
	}
}

func (a *Applier) execute(ctx context.Context, owner client.Object, s step) outcome {
	switch {
	case s.err != nil:
		return outcome{err: s.err}
	case s.live == nil:
		created, err := a.create(ctx, owner, s)
		return outcome{live: created, created: err == nil, written: err == nil, asDesired: err == nil, err: err}
	}
	if !s.pending() {
		a.contests.agrees(s.live, s.rendered)
	}
	contested, wait := a.contests.contested(s.desired, s.live)
	switch {
	case contested != nil && s.pending() && s.drifted && wait > 0:
		contested.RetryAfter = wait
		return outcome{live: s.live, err: contested}
	case contested != nil && !s.pending():
		return outcome{live: s.live, asDesired: true, err: contested}
	case !s.pending():
		return outcome{live: s.live, asDesired: true}
	}
	return a.update(ctx, s)
}
