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

// Plan is what is to be done so that the objects of an owner are as desired.
type Plan struct {
	owner client.Object
	steps []step
	// undesired are the objects to be deleted.
	undesired []client.Object
	// first is written before guarded objects, nil for none.
	first client.Object
}

// Before returns the plan with a desired object to write before guarded ones. If that write fails, guarded objects are not created,
// and of existing ones only the size is written.
func (p Plan) Before(first client.Object) Plan {
	p.first = first
	return p
}

// Plan compares the objects of an owner with what is desired. Observed are the live objects that may belong to it. Those that do belong to
// it, or did before they lost their owner, are deleted if they are not desired. Desired objects have their apiVersion and kind, and those
// fields set that Go writes even if they are empty and that the API server fills: a Deployment's strategy, the targetPort of a Service. Of
// the objects in sizeOnly whose Kind has a size, only that is written, and nothing if they do not exist.
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

// compareWith finds out how a live object differs from what was rendered in the step.
func (a *Applier) compareWith(live client.Object, s *step) error {
	s.drifted = a.differ.applied(live, s.rendered) || a.contests.wrote(live, s.rendered.hash)
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

// FirstPending reports whether the object named by Before has to be written.
func (p Plan) FirstPending() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return p.isFirst(s) && s.pending() })
}

// Pending returns the kinds of the objects to create, change or delete, each once.
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

// Changing reports whether the plan is to change or delete what exists.
func (p Plan) Changing() bool {
	for _, s := range p.steps {
		if s.pending() && s.live != nil {
			return true
		}
	}
	return len(p.undesired) > 0
}

// Missing reports whether the plan creates or adopts anything, with no known obstacle.
func (p Plan) Missing() bool {
	for _, s := range p.steps {
		if s.err == nil && (s.live == nil && s.inTheWay == nil || s.live != nil && metav1.GetControllerOfNoCopy(s.live) == nil) {
			return true
		}
	}
	return false
}

// Differs reports whether a live object of a kind differs from the desired one at or below a field.
func (p Plan) Differs(kind string, field ...string) bool {
	return slices.ContainsFunc(p.steps, func(s step) bool {
		return s.desired.GetObjectKind().GroupVersionKind().Kind == kind && s.difference.touches(field)
	})
}

// Err returns the errors that are known before anything is written, joined.
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
