// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// update writes a step whose object exists, and remembers what it needs to know somebody else's work when it sees it.
func (a *Applier) update(ctx context.Context, s step) outcome {
	known := a.contests.of(s.live)
	if s.drifted {
		known = a.contests.corrects(s.live, s.difference.fields, func(path fieldpath.Path) string {
			return a.managerOf(ctx, s, path)
		})
	}
	changed, written, err := a.change(ctx, s)
	if !written {
		return outcome{live: changed, err: err}
	}
	if err == nil && !s.partial {
		known.hash = a.differ.hashOf(s.rendered)
	}
	a.contests.set(changed, known)
	if contested, _ := a.contests.contested(s.desired, changed); contested != nil {
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
		a.answers.record(changed, s.rendered)
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

// managerOf returns the field manager of a field of a live object, empty if nobody knows. That is who wrote it last: whoever
// changes a value takes it from the others.
func (a *Applier) managerOf(ctx context.Context, s step, path fieldpath.Path) string {
	live, err := a.empty(s.desired)
	if err != nil || a.live.Get(ctx, client.ObjectKeyFromObject(s.live), live) != nil {
		return ""
	}
	for _, entry := range live.GetManagedFields() {
		fields := &fieldpath.Set{}
		if entry.FieldsV1 != nil && fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil && fields.Has(path) {
			return entry.Manager
		}
	}
	return ""
}

// isRefusal reports whether the API server has decided against a write, rather than failed or found another object.
func isRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
