// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
		return nil, fmt.Errorf("%w %s: %w", ErrRender, s.desired.GetName(), err)
	}
	return a.merge(ctx, s, body)
}

// isRefusal reports whether the API server refused the content of a write, as opposed to an outage, a conflict or a terminating
// namespace.
func isRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// absent is the resource version of an apply that must create its object. If the object exists, the API server answers 409.
const absent = "1"

// create creates an object. If the object exists, create fails, because the plan was made without it. In that case, the cache lags, or
// the object lacks the label by which the cache selects objects.
func (a *Applier) create(ctx context.Context, owner client.Object, s step) (client.Object, error) {
	if s.inTheWay != nil {
		switch exists, err := a.discover(ctx, owner, s.desired); {
		case err != nil:
			return nil, err
		case exists:
			return nil, errUnseen
		}
	}
	s.rendered.SetResourceVersion(absent)
	created, err := a.send(ctx, s)
	s.rendered.SetResourceVersion("") // otherwise the version would count as a difference
	if err == nil {
		a.conflicts.forget(created)
		a.answers.record(created, s.rendered)
	}
	if !apierrors.IsConflict(err) {
		return created, err
	}
	if _, found := a.discover(ctx, owner, s.desired); found != nil {
		return nil, found
	}
	return nil, err
}

// errUnseen makes the reconcile start again, with the object that was missing from the cache.
var errUnseen = errors.New("the cache has not received an object that exists")

// discover asks the API server for an object that is missing from the cache. It records an object of this owner in the
// MutationCache, and an object of another owner as a conflict.
func (a *Applier) discover(ctx context.Context, owner, desired client.Object) (exists bool, _ error) {
	live, err := a.empty(desired)
	if err != nil {
		return false, err
	}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	err = a.checkOwnership(owner, desired, live)
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		return true, a.conflicts.found(desired, conflict)
	}
	a.conflicts.forget(desired)
	if err == nil {
		a.mutations.RecordWrite(live)
	}
	return true, err
}

// merge sends a strategic merge patch.
func (a *Applier) merge(ctx context.Context, s step, body rendering) (client.Object, error) {
	return a.patch(ctx, s, body, types.StrategicMergePatchType)
}

// send sends the step's rendering as a server-side apply.
func (a *Applier) send(ctx context.Context, s step) (client.Object, error) {
	return a.patch(ctx, s, s.rendered, types.ApplyPatchType, client.ForceOwnership)
}

// patch sends a patch, and records the API server's answer in the MutationCache.
func (a *Applier) patch(
	ctx context.Context, s step, body rendering, kind types.PatchType, opts ...client.PatchOption,
) (client.Object, error) {
	text, err := json.Marshal(body.Object)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrRender, s.desired.GetName(), err)
	}
	answer, err := a.empty(s.desired)
	if err != nil {
		return nil, err
	}
	// Field validation is off: an apply refuses unknown fields anyway, and the API server would parse the body twice to warn of
	// duplicate ones.
	opts = append(opts, a.owner, client.FieldValidation(metav1.FieldValidationIgnore))
	if err := a.client.Patch(ctx, answer, client.RawPatch(kind, text), opts...); err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", s.rendered.GetKind(), s.desired.GetName(), err)
	}
	a.mutations.RecordWrite(answer)
	return answer, nil
}

// empty returns an object with only the type, name and namespace of the desired one. Decoding an answer into the desired object would
// merge the two.
func (a *Applier) empty(desired client.Object) (client.Object, error) {
	created, err := a.client.Scheme().New(desired.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("create an empty object: %w", err)
	}
	object, ok := created.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", created)
	}
	object.SetName(desired.GetName())
	object.SetNamespace(desired.GetNamespace())
	return object, nil
}

// prune deletes an object that is no longer desired. The UID keeps the request from deleting a later object of the same name.
func (a *Applier) prune(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	err := a.client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	a.mutations.RecordDelete(object)
	return nil
}
