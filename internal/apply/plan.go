// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Plan lists the writes that bring the objects of an owner into their desired state.
type Plan struct {
	owner      client.Object
	reconciled bool
	steps      []step
	// undesired are the objects to delete.
	undesired []client.Object
	// Unobserved are existing objects of the owner that were not observed. What is desired has to be decided again with them.
	Unobserved []client.Object
}

// step is what has to be done about one desired object.
type step struct {
	desired client.Object
	// live is the existing object, or nil.
	live       client.Object
	rendered   rendering
	difference difference
	// drifted reports that the operator's last write was this rendering. Every difference is then somebody else's change.
	drifted bool
	// err is why the object cannot be written, or nil.
	err error
}

// pending reports whether the step writes anything.
func (s step) pending() bool {
	return s.err == nil && (s.live == nil || s.difference.fingerprint != "")
}

// Plan compares desired with observed objects. Observed objects may belong to other owners. The plan deletes observed objects of this
// owner that are not desired. If the owner was reconciled before, Plan asks the API server for desired objects that were not observed: they
// may lack the label by which the cache selects objects, or belong to somebody else.
//
// Desired objects are written in their order, so objects of a Kind that is a Guard come first. They must have apiVersion and kind. Go
// encodes some fields even when they are empty, such as a Deployment's strategy. If the API server has a default for such a field, the
// object must set the field. Objects in sizeOnly are not created, and only their size is written. For a Kind without a size (field.Rules),
// sizeOnly has no effect.
func (a *Applier) Plan(
	ctx context.Context, owner client.Object, reconciled bool, desired, observed []client.Object, sizeOnly ...client.Object,
) Plan {
	plan := Plan{owner: owner, reconciled: reconciled, undesired: a.undesired(owner, desired, observed)}
	for _, object := range desired {
		live, partly := find(observed, object), slices.Contains(sizeOnly, object) && a.rules(object).Size != nil
		var err error
		if live == nil && (reconciled || a.memories.of(object).exists) {
			live, err = a.read(ctx, object)
			if live != nil && a.checkOwnership(owner, object, live) == nil {
				plan.Unobserved = append(plan.Unobserved, live)
			}
		}
		if live != nil || !partly {
			s := a.step(owner, object, live, partly)
			s.err = errors.Join(s.err, err)
			plan.steps = append(plan.steps, s)
		}
	}
	return plan
}

func (a *Applier) step(owner, desired, live client.Object, sizeOnly bool) step {
	s := step{desired: desired, live: live}
	var err error
	if s.rendered, err = a.render(owner, desired); err == nil && sizeOnly {
		s.rendered, err = a.sizeOf(s.rendered)
	}
	if s.err = errRender(desired, err); live == nil || err != nil {
		return s
	}
	if s.err = a.checkOwnership(owner, desired, live); s.err != nil {
		return s
	}
	known := a.memories.of(live)
	s.drifted = cmp.Or(known.hash, live.GetAnnotations()[a.HashAnnotation]) == s.rendered.hash
	s.difference, err = a.compare(live, s.rendered, nil)
	if known.answer == s.rendered.hash+s.difference.fingerprint {
		s.difference = difference{immutable: s.difference.immutable}
	}
	s.err = errRender(desired, err)
	return s
}

// Pending returns the kind of each object that the plan writes or deletes.
func (p Plan) Pending() []string {
	var kinds []string
	for _, s := range p.steps {
		if s.pending() {
			kinds = append(kinds, s.desired.GetObjectKind().GroupVersionKind().Kind)
		}
	}
	for _, object := range p.undesired {
		kinds = append(kinds, reflect.Indirect(reflect.ValueOf(object)).Type().Name())
	}
	return kinds
}

// Rewrites reports whether the plan writes anything but the first objects of an owner.
func (p Plan) Rewrites() bool {
	return len(p.undesired) > 0 || slices.ContainsFunc(p.steps, func(s step) bool { return s.pending() && (p.reconciled || s.live != nil) })
}

// Differs reports whether a live object of this kind differs from the desired one, in this field or below it, in a way that a write
// could change.
func (p Plan) Differs(kind, field string) bool {
	return slices.ContainsFunc(p.steps, func(s step) bool {
		return s.desired.GetObjectKind().GroupVersionKind().Kind == kind && s.difference.touches(field)
	})
}

// Err joins the errors that are known before anything is written.
func (p Plan) Err() error {
	var errs []error
	for _, s := range p.steps {
		errs = append(errs, s.difference.immutable, s.err)
	}
	return errors.Join(errs...)
}

// find returns the object with the type, namespace and name of the wanted one, or nil.
func find(objects []client.Object, wanted client.Object) client.Object {
	for _, object := range objects {
		if keyOf(object) == keyOf(wanted) {
			return object
		}
	}
	return nil
}

// undesired returns the observed objects to delete. They are not desired, and belong to the owner or are orphaned (see orphaned).
// Orphaned workloads stay, because their pods must not end.
func (a *Applier) undesired(owner client.Object, desired, observed []client.Object) []client.Object {
	var left []client.Object
	for _, object := range observed {
		ours := metav1.IsControlledBy(object, owner) || a.orphaned(owner, object) && a.rules(object).Size == nil
		if ours && find(desired, object) == nil && object.GetDeletionTimestamp() == nil {
			left = append(left, object)
		}
	}
	return left
}
