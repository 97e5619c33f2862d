// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// Apply carries out a plan. If a write fails, Apply still makes the other writes, with one exception: if a guard (field.Rules) does not
// exist or cannot be written, no object of a Guarded Kind is created, and only the size of existing ones is written. The returned error
// joins all errors. It may contain ObstacleErrors, ErrChanged and errors of the API server.
func (a *Applier) Apply(ctx context.Context, plan Plan) (result Result, _ error) {
	var errs []error
	unguarded := false
	for _, s := range plan.steps {
		if unguarded && a.rules(s.desired).Guarded {
			if s.live == nil {
				continue
			}
			s = a.step(plan.owner, s.desired, s.live, true)
		}
		live, err := a.execute(ctx, plan.owner, s, &result)
		if live != nil {
			result.Objects = append(result.Objects, live)
		}
		missing := err != nil && (s.live == nil || s.err != nil)
		unguarded = unguarded || missing && a.rules(s.desired).Guard
		errs = append(errs, s.difference.immutable, err)
	}
	for _, object := range plan.undesired {
		err := a.prune(ctx, object)
		result.Written = result.Written || err == nil
		errs = append(errs, err)
	}
	return result, errors.Join(errs...)
}

// execute carries out a step. It returns the object after the step, or nil if the step could not begin, or if a creation failed.
func (a *Applier) execute(ctx context.Context, owner client.Object, s step, result *Result) (client.Object, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case s.live == nil:
		return a.create(ctx, owner, s, result)
	}
	contested, wait := a.contested(s.desired, s.live)
	switch {
	case contested != nil && s.pending() && s.drifted && wait > 0:
		contested.RetryAfter = wait
		return s.live, contested
	case s.pending():
		return a.update(ctx, owner, s, result)
	case contested != nil:
		return s.live, contested
	default:
		return s.live, nil
	}
}

// absent is the resource version of an apply that must create its object. If the object exists, the API server answers 409.
const absent = "1"

// create creates an object. If the object exists, create fails, because the plan was made without it. In that case, the cache lags, or
// the object lacks the label by which the cache selects objects.
func (a *Applier) create(ctx context.Context, owner client.Object, s step, result *Result) (client.Object, error) {
	body := s.rendered.DeepCopy()
	body.SetResourceVersion(absent)
	text, err := body.MarshalJSON()
	if err != nil {
		return nil, errRender(s.desired, err)
	}
	created, err := a.patch(ctx, s, client.RawPatch(types.ApplyPatchType, text), client.ForceOwnership)
	switch {
	case apierrors.IsConflict(err):
		if live, unreadable := a.read(ctx, s.desired); live != nil {
			err = a.checkOwnership(owner, s.desired, live)
		} else if unreadable != nil {
			err = unreadable
		}
		if err == nil {
			a.memories.set(s.desired, memory{exists: true})
			err = ErrChanged
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	result.Written, result.Created = true, append(result.Created, s.rendered.GetKind()+" "+created.GetName())
	a.memories.set(created, memory{uid: created.GetUID(), hash: s.rendered.hash, answer: a.answer(created, s.rendered)})
	return created, nil
}

// update changes an existing object. If the API server refuses the target, only the size is written.
func (a *Applier) update(ctx context.Context, owner client.Object, s step, result *Result) (client.Object, error) {
	changed, err := a.merge(ctx, owner, s, result)
	if apierrors.IsConflict(err) { // perhaps only the status has changed
		changed, err = a.merge(ctx, owner, s, result)
	}
	if !isRefusal(err) || s.rendered.sizeOnly || a.rules(s.desired).Size == nil {
		return changed, err
	}
	if size := a.step(owner, s.desired, s.live, true); size.pending() {
		if resized, sizeErr := a.merge(ctx, owner, size, result); sizeErr == nil {
			return resized, err
		}
	}
	return changed, err
}

// merge sends the difference between an object and its target, if that is still what the plan has found. A write of another process for a
// newer owner would show, at least in the hash. The object is read past the cache, because the cache drops managed fields.
func (a *Applier) merge(ctx context.Context, owner client.Object, s step, result *Result) (client.Object, error) {
	live, err := a.read(ctx, s.desired)
	if err != nil {
		return s.live, err
	}
	if live == nil || !a.stillDiffers(owner, s, live) {
		return s.live, ErrChanged
	}
	found, err := a.compare(live, s.rendered, managedBy(live, a.FieldOwner))
	if err != nil {
		return s.live, errRender(s.desired, err)
	}
	text, err := client.MergeFromWithOptions(found.live, client.MergeFromWithOptimisticLock{}).Data(found.target)
	if err != nil {
		return s.live, errRender(s.desired, err)
	}
	changed, err := a.patch(ctx, s, client.RawPatch(types.MergePatchType, text))
	if err != nil {
		return live, err
	}
	return changed, a.remember(s, live, changed, found, result)
}

// stillDiffers reports whether the live object differs from the desired one as the plan has found. Its status may have changed.
func (a *Applier) stillDiffers(owner client.Object, s step, live client.Object) bool {
	if live.GetResourceVersion() == s.live.GetResourceVersion() {
		return true
	}
	now := a.step(owner, s.desired, live, s.rendered.sizeOnly)
	return now.err == nil && now.difference.fingerprint == s.difference.fingerprint
}

// remember records how to recognize later changes by others. It returns an ObstacleError if somebody fights for the object. A write that
// left the object unchanged is no correction: the API server or a webhook has undone it, and would do so again.
func (a *Applier) remember(s step, live, changed client.Object, found difference, result *Result) error {
	known := a.memories.of(live)
	known.hash, known.answer = s.rendered.hash, a.answer(changed, s.rendered)
	undone := known.answer == s.rendered.hash+s.difference.fingerprint // although managed fields may have changed
	written := changed.GetResourceVersion() != live.GetResourceVersion() && !undone
	result.Written = result.Written || written
	corrects := s.drifted && written
	if corrects {
		result.Corrected = append(result.Corrected, correctionOf(s, live, found))
		known = known.corrects(result.Corrected[len(result.Corrected)-1], a.clock.Now())
	}
	a.memories.set(changed, known)
	contested, _ := a.contested(s.desired, changed)
	if contested == nil {
		return nil
	}
	if corrects {
		result.Corrected[len(result.Corrected)-1].Contested = true
	}
	return contested
}

// answer returns what still differs after a write of this rendering, empty if nothing does.
func (a *Applier) answer(changed client.Object, written rendering) string {
	left, err := a.compare(changed, written, nil)
	if err != nil || left.fingerprint == "" {
		return ""
	}
	return written.hash + left.fingerprint
}

// isRefusal reports whether the API server refused the content of a write, as opposed to an outage, a conflict or a terminating
// namespace. A webhook refuses with the code 400, unless it chooses another.
func isRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)) &&
		!apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// patch sends a patch. Field validation is off: the API server would parse the body twice to warn of duplicate fields.
func (a *Applier) patch(ctx context.Context, s step, patch client.Patch, opts ...client.PatchOption) (client.Object, error) {
	answer := empty(s.desired)
	opts = append(opts, client.FieldOwner(a.FieldOwner), client.FieldValidation(metav1.FieldValidationIgnore))
	if err := a.client.Patch(ctx, answer, patch, opts...); err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", s.rendered.GetKind(), s.desired.GetName(), err)
	}
	return answer, nil
}

// read asks the API server for an object. It returns nil if there is none.
func (a *Applier) read(ctx context.Context, desired client.Object) (client.Object, error) {
	live := empty(desired)
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return live, nil
}

// empty returns an object with only the type, name and namespace of the desired one. Decoding an answer into the desired object would
// merge the two.
func empty(desired client.Object) client.Object {
	object, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(desired).Elem()))
	object.SetName(desired.GetName())
	object.SetNamespace(desired.GetNamespace())
	return object
}

// prune deletes an object that is no longer desired, unless it has changed or another one has taken its name.
func (a *Applier) prune(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	err := a.client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	return nil
}
