// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		s.err = fmt.Errorf("%w %s: %w", ErrRender, desired.GetName(), err)
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

// step is what has to be done about one desired object.
type step struct {
	desired client.Object
	// live is the existing object, or nil.
	live     client.Object
	rendered rendering
	// difference is how the live object differs from the rendering.
	difference difference
	// drifted reports that the operator's last write was this rendering. Every difference is then somebody else's change.
	drifted bool
	// inTheWay is the conflict that an earlier attempt to create the object met, or nil. The other owner's object may be gone now.
	inTheWay *ConflictError
	// immutable is an *ImmutableError if an immutable field differs. In that case, the rendering contains the live value. Otherwise,
	// immutable is nil.
	immutable error
	// err is why the object cannot be written, or nil.
	err error
}

// pending reports whether the step writes anything.
func (s step) pending() bool {
	return s.err == nil && (s.live == nil || !s.difference.none())
}

// outcome is the result of a step.
type outcome struct {
	// live is the object after the step. It is nil if the step could not begin, or if a creation failed.
	live client.Object
	// created reports that the step created the object. written reports that the step created or changed it.
	created, written bool
	// correction describes the changes by others that the step undid. It is nil if there were none.
	correction *Correction
	// asDesired reports that the object is as desired. An error then only says that somebody else keeps changing it.
	asDesired bool
	err       error
}

// find returns the object with the type, namespace and name of the wanted one, or nil.
func find(objects []client.Object, wanted client.Object) client.Object {
	for _, object := range objects {
		if reflect.TypeOf(object) == reflect.TypeOf(wanted) && object.GetName() == wanted.GetName() &&
			object.GetNamespace() == wanted.GetNamespace() {
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
		if find(desired, object) != nil || object.GetDeletionTimestamp() != nil {
			continue
		}
		if metav1.IsControlledBy(object, owner) || a.orphaned(owner, object) && a.differ.sizeField(object) == nil {
			left = append(left, object)
		}
	}
	return left
}

// keepImmutable copies the live values of immutable fields into the rendering. Otherwise, the API server would refuse the whole
// write. It returns an *ImmutableError about the first field that differs, or nil.
func (a *Applier) keepImmutable(live client.Object, s *step) error {
	var differs error
	for _, path := range a.rules(*s).Immutable {
		if !s.difference.touches(path) {
			continue
		}
		if differs == nil {
			differs = &ImmutableError{
				Kind: s.rendered.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName(), Field: strings.Join(path, "."),
			}
		}
		fields, err := a.differ.fields(live)
		if err != nil {
			return err
		}
		value, found, _ := unstructured.NestedFieldNoCopy(fields.Object, path...)
		if !found {
			unstructured.RemoveNestedField(s.rendered.Object, path...)
			continue
		}
		if err := unstructured.SetNestedField(s.rendered.Object, value, path...); err != nil {
			return err
		}
	}
	return differs
}
