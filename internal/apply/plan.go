// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Plan lists the writes that bring the objects of an owner into their desired state.
type Plan struct {
	owner client.Object
	steps []step
	// undesired are the objects to delete.
	undesired []client.Object
	// first is the object to write before the objects of Guarded Kinds (field.Rules), or nil.
	first client.Object
}

// Before returns the plan, changed so that this desired object is written before all objects of Guarded Kinds (field.Rules). If
// that write fails, no object of a Guarded Kind is created, and only the size of existing ones is written.
func (p Plan) Before(first client.Object) Plan {
	p.first = first
	return p
}

// Plan compares desired with observed objects. Observed objects may belong to other owners. The plan deletes observed objects of this
// owner that are not desired.
//
// Desired objects must have apiVersion and kind. Go encodes some fields even when they are empty, such as a Deployment's strategy. If
// the API server has a default for such a field, the object must set the field. Objects in sizeOnly are not created, and only their
// size is written. For a Kind without a size (field.Rules), sizeOnly has no effect.
func (a *Applier) Plan(owner client.Object, desired, observed []client.Object, sizeOnly ...client.Object) Plan {
	plan := Plan{owner: owner, undesired: a.undesired(owner, desired, observed)}
	for _, object := range desired {
		live, partly := find(observed, object), slices.Contains(sizeOnly, object) && a.differ.sizeField(object) != nil
		if live != nil || !partly {
			plan.steps = append(plan.steps, a.compare(owner, object, live, partly))
		}
	}
	return plan
}

func (a *Applier) compare(owner, desired, live client.Object, sizeOnly bool) step {
	s := step{desired: desired, live: live}
	if live != nil {
		s.err = a.checkOwnership(owner, desired, live)
	} else if s.inTheWay = a.conflicts.known(desired); s.inTheWay != nil && s.inTheWay.RetryAfter > 0 {
		s.err = s.inTheWay
	}
	if s.err != nil {
		return s
	}
	var err error
	if s.rendered, err = a.differ.render(owner, desired); err == nil && sizeOnly {
		s.rendered, err = a.differ.sizeOf(s.rendered)
	}
	if err == nil && live != nil {
		err = a.compareWith(live, &s)
	}
	if err != nil {
		s.err = &RenderError{Name: desired.GetName(), Err: err}
	}
	return s
}

// compareWith compares a live object with the step's rendering, and stores the result in the step.
func (a *Applier) compareWith(live client.Object, s *step) error {
	s.drifted = a.contests.drifted(live, s.rendered, a.differ.applied(live, s.rendered))
	var err error
	s.difference, err = a.differ.compare(live, s.rendered)
	if s.immutable = a.keepImmutable(live, s); s.immutable != nil {
		s.difference, err = a.differ.compare(live, s.rendered)
	}
	if err == nil && a.answers.futile(live, s.rendered, s.difference) {
		s.difference = difference{}
	}
	return err
}

// FirstPending reports whether the object passed to Before has to be written.
func (p Plan) FirstPending() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return p.isFirst(s) && s.pending() })
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

// Changing reports whether the plan changes or deletes existing objects.
func (p Plan) Changing() bool {
	for _, s := range p.steps {
		if s.pending() && s.live != nil {
			return true
		}
	}
	return len(p.undesired) > 0
}

// Missing reports whether the plan creates or adopts an object. An object does not count if another owner's object was found to have
// its name.
func (p Plan) Missing() bool {
	for _, s := range p.steps {
		if s.err == nil && (s.live == nil && s.inTheWay == nil || s.live != nil && metav1.GetControllerOfNoCopy(s.live) == nil) {
			return true
		}
	}
	return false
}

// Differs reports whether a live object of this kind differs from the desired one, in this field or below it, in a way that a write
// could change.
func (p Plan) Differs(kind string, field ...string) bool {
	return slices.ContainsFunc(p.steps, func(s step) bool {
		return s.desired.GetObjectKind().GroupVersionKind().Kind == kind && s.difference.touches(field)
	})
}

// Err joins the errors that are known before anything is written.
func (p Plan) Err() error {
	var errs []error
	for _, s := range p.steps {
		if s.err == nil && s.inTheWay != nil {
			s.err = s.inTheWay
		}
		errs = append(errs, s.immutable, s.err)
	}
	return errors.Join(errs...)
}
