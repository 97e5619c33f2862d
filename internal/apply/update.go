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

// update writes an existing object, and remembers how to recognize later changes by others. A write that leaves the object
// unchanged is no correction: the API server or a webhook has undone the write, and would do so again.
func (a *Applier) update(ctx context.Context, s step) outcome {
	before, managed := s.live.GetResourceVersion(), managedFields(nil)
	if s.drifted {
		before, managed = a.managedFieldsOf(ctx, s)
	}
	changed, sent, err := a.change(ctx, s)
	if !sent {
		return outcome{live: changed, asDesired: err == nil, err: err}
	}
	known, written := a.contests.of(s.live), changed.GetResourceVersion() != before
	var correction *Correction
	if s.drifted && written {
		correction = correctionOf(s, managed)
		known = a.contests.corrects(s.live, s.difference.fields, managed)
	}
	if err == nil {
		known.hash = s.rendered.hash
	}
	known.sized = s.rendered.sizeOnly || err != nil && !s.drifted
	a.contests.set(changed, known)
	asDesired := err == nil
	if contested, _ := a.contests.contested(s.desired, changed); contested != nil {
		err = errors.Join(err, contested)
	}
	if correction != nil {
		correction.Complete = err == nil
	}
	return outcome{live: changed, written: written, correction: correction, asDesired: asDesired, err: err}
}

// change writes the rendering or, if the API server refuses that, only the size. It returns the resulting object. Sent reports
// that one of the writes was accepted.
func (a *Applier) change(ctx context.Context, s step) (_ client.Object, sent bool, _ error) {
	s.rendered.SetUID(s.live.GetUID())
	if s.rendered.sizeOnly {
		return a.changeSize(ctx, s, s.rendered)
	}
	changed, err := a.changeAll(ctx, s)
	if err == nil {
		a.answers.record(changed, s.rendered)
		return changed, true, nil
	}
	if !isRefusal(err) || a.differ.sizeField(s.desired) == nil {
		return s.live, false, err
	}
	size, sizeErr := a.differ.sizeOf(s.rendered)
	if sizeErr != nil {
		return s.live, false, err
	}
	changed, sent, sizeErr = a.changeSize(ctx, s, size)
	if sizeErr != nil {
		return s.live, false, err // the first error is reported, and a retry repeats both writes
	}
	return changed, sent, err
}

// changeSize patches the size. An apply of only the size would remove all other fields that the operator has applied.
func (a *Applier) changeSize(ctx context.Context, s step, size rendering) (_ client.Object, sent bool, _ error) {
	found, err := a.differ.compare(s.live, size)
	if err == nil && (found.none() || a.answers.futile(s.live, size, found)) {
		return s.live, false, nil
	}
	changed, err := a.merge(ctx, s, size)
	if err != nil {
		return s.live, false, err
	}
	a.answers.record(changed, size)
	return changed, true, nil
}

// changeAll applies the rendering. Additions by others below owned fields may make the apply invalid, or remain after it. In both
// cases, changeAll replaces the owned fields. If there are such additions and the operator's last write was this rendering, changeAll
// replaces the owned fields without an apply.
//
// Additions that a webhook already made to an earlier write remain. The webhook would make them again, perhaps with other values, and each
// new value would replace the pods.
func (a *Applier) changeAll(ctx context.Context, s step) (client.Object, error) {
	before := s.difference.surplus
	if before != nil && s.drifted {
		return a.replace(ctx, s)
	}
	changed, err := a.send(ctx, s)
	switch {
	case before != nil && apierrors.IsInvalid(err):
		if _, err := a.replace(ctx, s); err != nil {
			return nil, err
		}
		return a.send(ctx, s) // this removes what was applied before and is no longer desired
	case before == nil || err != nil:
		return changed, err
	}
	left, err := a.differ.compare(changed, s.rendered)
	if err == nil && keeps(before, left.surplus) && !a.answers.explain(s.live, left.surplus) {
		return a.replace(ctx, s)
	}
	return changed, nil
}

// replace writes the rendering and removes what was added below owned fields.
func (a *Applier) replace(ctx context.Context, s step) (client.Object, error) {
	body, err := a.differ.replacement(s.rendered)
	if err != nil {
		return nil, &RenderError{Name: s.desired.GetName(), Err: err}
	}
	return a.merge(ctx, s, body)
}

// isRefusal reports whether the API server refused the content of a write, as opposed to an outage, a conflict or a terminating
// namespace.
func isRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
