// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Plan lists the writes that bring the objects of an owner into their desired state.
type Plan struct {
	owner client.Object
	steps []step
	// undesired are the objects to delete.
	undesired []client.Object
	// Pending is the kind of each object that the plan writes or deletes. Rewrites reports that these are not only the first objects of an
	// owner.
	Pending  []string
	Rewrites bool
	// Unobserved are objects of the owner that were not observed as they are now. What is desired has to be decided again with them: this
	// plan does not write them.
	Unobserved []client.Object
	// Err joins the errors that are known before anything is written.
	Err error
}

// ErrChanged means that an object is not what was compared, so that nothing was written. A new comparison helps.
var ErrChanged = errors.New("the object has changed since it was read")

// step is what has to be done about one desired object.
type step struct {
	desired client.Object
	// live is the existing object of the owner, or nil.
	live client.Object
	// rendered holds the fields of the desired object that are to be written, or with sizeOnly its size. hash is the hash of them.
	rendered *unstructured.Unstructured
	hash     string
	sizeOnly bool
	// drifted reports that the operator's last write was this rendering. Every difference is then somebody else's change.
	drifted bool
	// The change to write leads from before, which is the live object, to target.
	before, target *unstructured.Unstructured
	// paths are the fields that differ, and fields the names of the outermost, sorted.
	paths  *fieldpath.Set
	fields []string
	// fingerprint is a hash of the differing fields and their live values, empty if there are none.
	fingerprint string
	// obstacle says what there is to tell although the object can be written: somebody fights for it, or an immutable field differs, which
	// has the live value in the target.
	obstacle error
	// err is why the object cannot be written, or nil.
	err error
}

// pending reports whether the step writes anything. An object of which only the size is rendered is not created.
func (s step) pending() bool {
	return s.err == nil && (s.live == nil && !s.sizeOnly || s.fingerprint != "")
}

// Plan compares desired with observed objects. Observed objects may belong to other owners. The plan deletes observed objects of this
// owner that are not desired. What is to be written is first read from the API server. An object that is to be created is only read if the
// owner was reconciled before, or this process has tried to create the object: it may lack the label by which the cache selects objects, or
// belong to somebody else.
//
// Desired objects are written in their order, so objects of a Kind that is a Guard come first. They must have apiVersion and kind. Go
// encodes some fields even when they are empty, such as a Deployment's strategy. If the API server has a default for such a field, the
// object must set the field. With sizeOnly, objects with a size (field.Rules) are not created, and only their size is written.
func (a *Applier) Plan(ctx context.Context, owner client.Object, reconciled, sizeOnly bool, desired, observed []client.Object) Plan {
	plan := Plan{owner: owner}
	for _, object := range desired {
		s := a.step(owner, object, find(observed, object), sizeOnly)
		_, tried := a.memories.Load(keyOf(object))
		if s.pending() && (s.live != nil || reconciled || tried) {
			s = a.confirm(ctx, &plan, s)
		}
		plan.Err = errors.Join(plan.Err, s.obstacle, s.err)
		plan.steps = append(plan.steps, s)
		if s.pending() {
			plan.Pending = append(plan.Pending, s.rendered.GetKind())
			plan.Rewrites = plan.Rewrites || reconciled || s.live != nil
		}
	}
	for _, object := range observed {
		if find(desired, object) == nil && a.deletes(owner, object) {
			plan.undesired, plan.Rewrites = append(plan.undesired, object), true
			plan.Pending = append(plan.Pending, reflect.TypeOf(object).Elem().Name())
		}
	}
	return plan
}

// deletes reports whether the owner deletes this object if it is not desired. The object belongs to the owner, or is orphaned. Orphaned
// workloads stay, because their pods must not end.
func (a *Applier) deletes(owner, object client.Object) bool {
	return object.GetDeletionTimestamp() == nil &&
		(metav1.IsControlledBy(object, owner) || a.orphaned(owner, object) && a.rules(object).Size == nil)
}

// confirm makes a step again with what the API server holds. If that is not what was observed, the step fails.
func (a *Applier) confirm(ctx context.Context, plan *Plan, s step) step {
	live, observed := empty(s.desired), s.live
	switch err := a.Live.Get(ctx, client.ObjectKeyFromObject(live), live); {
	case client.IgnoreNotFound(err) != nil:
		s.err = err
	case err != nil && observed != nil:
		s.live, s.err = nil, ErrChanged
	case err == nil:
		s = a.step(plan.owner, s.desired, live, s.sizeOnly)
		if s.err == nil && (observed == nil || observed.GetResourceVersion() != live.GetResourceVersion()) {
			s.err, plan.Unobserved = ErrChanged, append(plan.Unobserved, live)
		}
	}
	return s
}

// step compares a desired object with the live one. With sizeOnly, it compares only the size, if there is one.
func (a *Applier) step(owner, desired, live client.Object, sizeOnly bool) step {
	s := step{desired: desired, live: live, sizeOnly: sizeOnly && a.rules(desired).Size != nil}
	err := a.render(owner, &s)
	if err == nil && live != nil {
		if s.err = a.checkOwnership(owner, desired, live); s.err != nil {
			s.live = nil
			return s
		}
		known := a.known(live)
		s.drifted = cmp.Or(known.hash, live.GetAnnotations()[a.HashAnnotation]) == s.hash
		err = a.compare(&s)
		if known.hash == s.hash && known.left == s.fingerprint {
			s.fingerprint, s.fields = "", nil
		}
		a.fight(&s, known)
	}
	if err != nil {
		s.err = fmt.Errorf("render %s: %w", desired.GetName(), err)
	}
	return s
}

// Differs reports whether a live object of this kind differs from the desired one, in this field or below it, in a way that a write
// could change.
func (p Plan) Differs(kind, field string) bool {
	below := func(name string) bool { return strings.HasPrefix(name+".", field+".") }
	return slices.ContainsFunc(p.steps, func(s step) bool {
		return s.desired.GetObjectKind().GroupVersionKind().Kind == kind && slices.ContainsFunc(s.fields, below)
	})
}

// find returns the object with the type and name of the wanted one, or nil.
func find(objects []client.Object, wanted client.Object) client.Object {
	for _, object := range objects {
		if object.GetName() == wanted.GetName() && reflect.TypeOf(object) == reflect.TypeOf(wanted) {
			return object
		}
	}
	return nil
}
