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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply/field"
)

// Options of an Applier.
type Options struct {
	// FieldOwner is the field manager of every write, for ever: another one would leave the fields of the first behind.
	FieldOwner string
	// HashAnnotation is the annotation that holds the hash of what was applied.
	HashAnnotation string
	// IdentityLabels are the keys of the labels that identify for which owner an object was made.
	IdentityLabels []string
	// Rules are the rules for the fields of each Kind.
	Rules map[schema.GroupVersionKind]field.Rules
}

// Applier writes the objects of owners.
type Applier struct {
	client    client.Client
	live      client.Reader
	mutations *MutationCache
	clock     clock.PassiveClock
	owner     client.FieldOwner
	differ    differ
	// identity are the keys of the labels that identify for which owner an object was made.
	identity []string

	conflicts history[conflict]
	contests  history[contest]
	answers   history[answer]
}

// New returns an Applier that writes with a client and reads past its cache with live.
func New(c client.Client, live client.Reader, mutations *MutationCache, clock clock.PassiveClock, opts Options) *Applier {
	return &Applier{
		client:    c,
		live:      live,
		mutations: mutations,
		clock:     clock,
		owner:     client.FieldOwner(opts.FieldOwner),
		identity:  opts.IdentityLabels,
		differ: differ{
			scheme:         c.Scheme(),
			converter:      applyconfigurations.NewTypeConverter(c.Scheme()),
			hashAnnotation: opts.HashAnnotation,
			rules:          opts.Rules,
		},
	}
}

// Forget drops what is remembered about objects.
func (a *Applier) Forget(objects ...client.Object) {
	for _, object := range objects {
		a.mutations.Forget(object)
		a.conflicts.forget(object)
		a.contests.forget(object)
		a.answers.forget(object)
	}
}

// Result is what became of the objects of an owner.
type Result struct {
	// Objects are the live objects that belong to the owner and are desired.
	Objects []client.Object
	// Created reports that at least one object was created, Written that at least one was created, changed or deleted.
	Created, Written bool
	// Corrected are the kinds of the objects in which a change of somebody else was undone, one for each.
	Corrected []string
}

// Apply carries out a plan. Every object is tried, and none waits for another but guarded ones. The errors are joined: they are
// those of the plan, a *ConflictError, a *ContestedError, a *WaitingError or those of the API server.
func (a *Applier) Apply(ctx context.Context, plan Plan) (Result, error) {
	outcomes := a.executeAll(ctx, plan)
	var result Result
	var errs []error
	for i, outcome := range outcomes {
		result.add(plan.steps[i], outcome)
		errs = append(errs, outcome.err)
	}
	for _, object := range plan.undesired {
		errs = append(errs, a.prune(ctx, object, &result))
	}
	return result, errors.Join(errs...)
}

// executeAll carries out the steps. First come guards that do not exist. If one of them cannot be created, no guarded object is.
func (a *Applier) executeAll(ctx context.Context, plan Plan) []outcome {
	outcomes := make([]outcome, len(plan.steps))
	var guards, others []int
	for i, s := range plan.steps {
		if a.rules(s).Guard && (s.live == nil || s.err != nil) {
			guards = append(guards, i)
		} else {
			others = append(others, i)
		}
	}
	a.executeTogether(ctx, plan, guards, outcomes)
	if slices.ContainsFunc(guards, func(i int) bool { return outcomes[i].err != nil }) {
		others = slices.DeleteFunc(others, func(i int) bool { return plan.steps[i].live == nil && a.rules(plan.steps[i]).Guarded })
	}
	a.executeTogether(ctx, plan, others, outcomes)
	return outcomes
}

func (a *Applier) rules(s step) field.Rules {
	return a.differ.rules[s.desired.GetObjectKind().GroupVersionKind()]
}

// executeTogether carries out some steps at the same time. Whoever recovers from a panic can do so only in a goroutine of its own,
// so one in a step becomes one of the caller.
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

// outcome is what became of a step.
type outcome struct {
	// live is what is there now, nil if it does not belong to the owner.
	live client.Object
	// created, written and corrected say what was done.
	created, written, corrected bool
	err                         error
}

func (r *Result) add(s step, o outcome) {
	if o.live != nil {
		r.Objects = append(r.Objects, o.live)
	}
	r.Created = r.Created || o.created
	r.Written = r.Written || o.written
	if o.corrected {
		r.Corrected = append(r.Corrected, s.desired.GetObjectKind().GroupVersionKind().Kind)
	}
}

func (a *Applier) execute(ctx context.Context, owner client.Object, s step) outcome {
	switch {
	case s.err != nil:
		return outcome{err: s.err}
	case s.live == nil:
		created, err := a.create(ctx, owner, s)
		return outcome{live: created, created: err == nil, written: err == nil, err: err}
	}
	contested, wait := a.contested(s.desired, s.live)
	switch {
	case contested != nil && s.pending() && s.drifted && wait > 0:
		contested.RetryAfter = wait
		return outcome{live: s.live, err: contested}
	case contested != nil && !s.pending():
		return outcome{live: s.live, err: contested}
	case !s.pending():
		return outcome{live: s.live}
	}
	return a.update(ctx, s)
}

// update writes a step whose object exists, and remembers what it needs to know somebody else's work when it sees it.
func (a *Applier) update(ctx context.Context, s step) outcome {
	known := a.contestOf(s.live)
	if s.drifted {
		known = a.corrects(ctx, s)
	}
	changed, written, err := a.change(ctx, s)
	if !written {
		return outcome{live: changed, err: err}
	}
	if err == nil && !s.partial {
		known.hash = a.differ.hashOf(s.rendered)
	}
	a.contests.set(changed, known)
	if contested, _ := a.contested(s.desired, changed); contested != nil {
		err = errors.Join(err, contested)
	}
	return outcome{live: changed, written: true, corrected: s.drifted, err: err}
}

// change makes a live object hold what was rendered. If that is refused, it makes it hold the rest. It returns what is there
// then, and whether something was written.
func (a *Applier) change(ctx context.Context, s step) (_ client.Object, written bool, _ error) {
	s.rendered.SetUID(s.live.GetUID())
	if s.partial {
		return a.changeRest(ctx, s)
	}
	changed, err := a.changeAll(ctx, s)
	if err == nil {
		a.answered(changed, s.rendered)
		return changed, true, nil
	}
	if !isRefusal(err) || !a.differ.separable(s.desired) {
		return s.live, false, err
	}
	changed, written, restErr := a.changeRest(ctx, s)
	if restErr != nil {
		return s.live, false, err // the rest is refused for the same cause, or will be tried again with the whole
	}
	return changed, written, err
}

// changeAll applies what was rendered. Where that is refused, or does not help, since somebody has added to what is ours alone,
// that is replaced. If nobody desires anything new, this is known to be the cause, and comes first.
func (a *Applier) changeAll(ctx context.Context, s step) (client.Object, error) {
	replacement := s.difference.replacement
	if replacement != nil && s.drifted {
		return a.replaceAndApply(ctx, s, s.live, replacement)
	}
	changed, err := a.send(ctx, s.desired, s.rendered)
	switch {
	case replacement == nil || err != nil && !apierrors.IsInvalid(err):
		return changed, err
	case err != nil:
		return a.replaceAndApply(ctx, s, s.live, replacement)
	}
	if left, err := a.differ.compare(changed, s.rendered); err == nil && left.replacement != nil {
		return a.replaceAndApply(ctx, s, changed, left.replacement)
	}
	return changed, nil
}

func (a *Applier) replaceAndApply(ctx context.Context, s step, live client.Object, replacement map[string]any) (client.Object, error) {
	changed, err := a.replace(ctx, s.desired, live, replacement)
	if err != nil || a.differ.upToDate(changed, s.rendered) {
		return changed, err
	}
	return a.send(ctx, s.desired, s.rendered)
}

// replace takes away what somebody else has added to what is ours alone, which no apply can.
func (a *Applier) replace(ctx context.Context, desired, live client.Object, patch map[string]any) (client.Object, error) {
	patch["metadata"] = map[string]any{"uid": live.GetUID()}
	return a.merge(ctx, desired, patch)
}

// changeRest makes a live object hold what was rendered but for the separable fields. It is no apply, which would drop them.
func (a *Applier) changeRest(ctx context.Context, s step) (_ client.Object, written bool, _ error) {
	rest := a.differ.rest(s.rendered)
	if a.differ.upToDate(s.live, rest) {
		return s.live, false, nil
	}
	changed, err := a.merge(ctx, s.desired, rest.Object)
	if err != nil {
		return s.live, false, err
	}
	return changed, true, nil
}

// isRefusal reports whether the API server has decided against a write, rather than failed or found another object.
func isRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
