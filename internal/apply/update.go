// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// update writes a step whose object exists, and remembers what it needs to know somebody else's work when it sees it. A write
// that changes nothing undoes nothing: the API server, or a webhook, makes the same of it again.
func (a *Applier) update(ctx context.Context, s step) outcome {
	before, managed := s.live.GetResourceVersion(), managedFields(nil)
	if s.drifted {
		before, managed = a.managedFieldsOf(ctx, s)
	}
	changed, sent, err := a.change(ctx, s)
	if !sent {
		return outcome{live: changed, err: err}
	}
	known, written := a.contests.of(s.live), changed.GetResourceVersion() != before
	var correction *Correction
	if s.drifted && written {
		correction = correctionOf(s, managed)
		known = a.contests.corrects(s.live, s.difference.fields, managed)
	}
	if err == nil && s.part != Rest {
		known.hash = a.differ.hashOf(s.rendered)
	}
	a.contests.set(changed, known)
	if contested, _ := a.contests.contested(s.desired, changed); contested != nil {
		err = errors.Join(err, contested)
	}
	if correction != nil {
		correction.Complete = err == nil
	}
	return outcome{live: changed, written: written, correction: correction, err: err}
}

// change makes a live object hold what was rendered. If that is refused, it makes it hold the rest. It returns what is there
// then, and whether a write was accepted.
func (a *Applier) change(ctx context.Context, s step) (_ client.Object, sent bool, _ error) {
	s.rendered.SetUID(s.live.GetUID())
	if s.part != Whole {
		return a.changePart(ctx, s, s.part)
	}
	changed, err := a.changeAll(ctx, s)
	if err == nil {
		a.answers.record(changed, s.rendered, Whole)
		return changed, true, nil
	}
	if !isRefusal(err) || !a.differ.separable(s.desired) {
		return s.live, false, err
	}
	changed, sent, restErr := a.changePart(ctx, s, Rest)
	if restErr != nil {
		return s.live, false, err // the rest is refused for the same cause, or will be tried again with the whole
	}
	return changed, sent, err
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

// changePart makes a live object hold a part of what was rendered. It is no apply, which would drop the other fields.
func (a *Applier) changePart(ctx context.Context, s step, part Part) (_ client.Object, sent bool, _ error) {
	wanted := a.differ.wanted(s.rendered, part)
	found, err := a.differ.compare(s.live, wanted)
	if err == nil && (found.none() || a.answers.futile(s.live, s.rendered, part, found)) {
		return s.live, false, nil
	}
	changed, err := a.merge(ctx, s.desired, wanted.Object)
	if err != nil {
		return s.live, false, err
	}
	a.answers.record(changed, s.rendered, part)
	return changed, true, nil
}

// isRefusal reports whether the API server has decided against a write, rather than failed or found another object.
func isRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
