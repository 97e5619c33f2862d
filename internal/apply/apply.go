// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of an owner into their desired state with as few requests as possible. It never changes an
// object of another owner.
//
// Words: the target is the live object with everything as desired. Drift is a difference between the two that somebody else has made, and a
// correction undoes it. An object is contested while somebody keeps undoing its corrections.
//
// What is to be written is first read past the cache, and each write carries the resource version of what was read. If that is not what was
// observed, nothing is written, because something else may be desired then. A creation is an apply with the resource version "1": if the
// object exists, although the cache does not hold it, the API server answers 409. A change is a merge patch from the live object to the
// target. It contains only what differs, so fields that a newer API server knows stay.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply/field"
)

// Applier writes the objects of owners.
type Applier struct {
	// Client writes. Live reads, and must not use the cache.
	Client client.Client
	Live   client.Reader
	Clock  clock.PassiveClock
	// FieldOwner is the field manager of every write. It must never change: fields of the old manager would stay forever.
	FieldOwner string
	// HashAnnotation is the key of the annotation with the hash of the desired object as it was last written.
	HashAnnotation string
	// Identity returns the labels that an object of an owner has.
	Identity func(owner, object client.Object) map[string]string
	// Rules returns the rules for the fields of an object of this Kind and name.
	Rules func(kind schema.GroupVersionKind, name string) field.Rules

	memories sync.Map // of memory, by keyOf
}

// Forget drops what this process remembers about an object.
func (a *Applier) Forget(object client.Object) { a.memories.Delete(keyOf(object)) }

// keyOf identifies an object without its UID.
func keyOf(object client.Object) string {
	return fmt.Sprintf("%T %s", object, client.ObjectKeyFromObject(object))
}

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
// exist, no object of a Guarded Kind is created, and only the size of existing ones is written. The returned error joins all errors, those
// of the plan too. It may contain ObstacleErrors, ErrChanged and errors of the API server.
func (a *Applier) Apply(ctx context.Context, plan Plan) (result Result, err error) {
	err = plan.Err
	unguarded := false
	for _, s := range plan.steps {
		rules := a.rules(s.desired)
		if unguarded && rules.Guarded {
			s = a.step(plan.owner, s.desired, s.live, true)
		}
		live, failure := a.take(ctx, plan.owner, s, &result)
		if live != nil {
			result.Objects = append(result.Objects, live)
		}
		unguarded = unguarded || rules.Guard && live == nil
		err = errors.Join(err, failure)
	}
	for _, object := range plan.undesired {
		failure := a.prune(ctx, object)
		result.Written = result.Written || failure == nil
		err = errors.Join(err, failure)
	}
	return result, err
}

// take takes a step. If the API server refuses an object, it still writes its size.
func (a *Applier) take(ctx context.Context, owner client.Object, s step, result *Result) (client.Object, error) {
	if !s.pending() {
		return s.live, nil
	}
	live, err := a.write(ctx, s, result)
	if isRefusal(err) && live != nil {
		if size := a.step(owner, s.desired, live, true); size.pending() && size.sizeOnly && !s.sizeOnly {
			live, _ = a.write(ctx, size, result)
		}
	}
	return live, err
}

// write creates an object, or sends the difference between it and its target. A write that leaves the object unchanged is no correction:
// the API server or a webhook has undone it, and would do so again. Managed fields may have changed all the same.
func (a *Applier) write(ctx context.Context, s step, result *Result) (client.Object, error) {
	known := a.known(cmp.Or(s.live, s.desired))
	changed, err := a.patch(ctx, s)
	if err != nil {
		a.memories.Store(keyOf(s.desired), known)
		return s.live, err
	}
	left := step{live: changed, rendered: s.rendered, sizeOnly: s.sizeOnly}
	_ = a.compare(&left) // nothing is left if it fails: the next plan tells
	known.uid, known.hash, known.left = changed.GetUID(), s.hash, left.fingerprint
	written := s.live == nil || changed.GetResourceVersion() != s.live.GetResourceVersion() && known.left != s.fingerprint
	result.Written = result.Written || written
	if s.live == nil {
		result.Created = append(result.Created, s.rendered.GetKind()+" "+changed.GetName())
	}
	if s.drifted && written {
		known = known.corrects(correctionOf(s), a.Clock.Now())
		result.Corrected = append(result.Corrected, known.last)
	}
	a.memories.Store(keyOf(changed), known)
	return changed, nil
}

// patch sends a write. Field validation is off: the API server would parse the body twice to warn of duplicate fields.
func (a *Applier) patch(ctx context.Context, s step) (client.Object, error) {
	opts := []client.PatchOption{client.FieldOwner(a.FieldOwner), client.FieldValidation(metav1.FieldValidationIgnore)}
	var text []byte
	var err error
	kind := types.MergePatchType
	if s.live != nil {
		text, err = client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{}).Data(s.target)
	} else {
		body := s.rendered.DeepCopy()
		body.SetResourceVersion("1") // a creation
		text, err = body.MarshalJSON()
		kind, opts = types.ApplyPatchType, append(opts, client.ForceOwnership)
	}
	changed := empty(s.desired)
	if err == nil {
		err = a.Client.Patch(ctx, changed, client.RawPatch(kind, text), opts...)
	}
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", s.rendered.GetKind(), s.desired.GetName(), err)
	}
	return changed, nil
}

// isRefusal reports whether the API server refused the content of a write, as opposed to an outage, a conflict or a terminating
// namespace. A webhook refuses with the code 400, unless it chooses another.
func isRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)) &&
		!apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
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
	only := client.Preconditions{UID: ptr.To(object.GetUID()), ResourceVersion: ptr.To(object.GetResourceVersion())}
	err := a.Client.Delete(ctx, object, only)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	return nil
}
