// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Plan is what is to be done so that the objects of an owner are as desired.
type Plan struct {
	owner client.Object
	steps []step
	// undesired are the objects to be deleted.
	undesired []client.Object
}

// step is what is to be done about one desired object.
type step struct {
	desired client.Object
	// live is what there is, nil if there is none.
	live     client.Object
	rendered *unstructured.Unstructured
	// holds says that the live object is as desired.
	holds bool
	// err says why nothing can be done.
	err error
}

// Plan compares the objects of an owner with what is desired. Observed are the live objects that may belong to it; those
// that do and are not desired are to be deleted. Desired objects have their apiVersion and kind, and those fields set that
// Go writes even if they are empty and that the API server fills: a Deployment's strategy, the targetPort of a Service.
func (a *Applier) Plan(owner client.Object, desired, observed []client.Object) Plan {
	plan := Plan{owner: owner, undesired: undesired(owner, desired, observed)}
	for _, object := range desired {
		plan.steps = append(plan.steps, a.compare(owner, object, find(observed, object)))
	}
	return plan
}

func (a *Applier) compare(owner, desired, live client.Object) step {
	s := step{desired: desired, live: live}
	if live != nil {
		if s.err = a.ownership(owner, desired, live); s.err != nil {
			return s
		}
	}
	var err error
	if s.rendered, err = a.gate.render(owner, desired); err == nil && live != nil {
		s.holds, err = a.gate.holds(live, s.rendered)
	}
	if err != nil {
		s.err = &RenderError{Name: desired.GetName(), Err: err}
	}
	return s
}

// Pending says whether the plan is to write anything.
func (p Plan) Pending() bool {
	for _, s := range p.steps {
		if s.err == nil && !s.holds {
			return true
		}
	}
	return len(p.undesired) > 0
}

// Changing says whether the plan is to change or delete what exists.
func (p Plan) Changing() bool {
	for _, s := range p.steps {
		if s.err == nil && !s.holds && s.live != nil {
			return true
		}
	}
	return len(p.undesired) > 0
}

// Missing says whether the plan is to create anything.
func (p Plan) Missing() bool {
	for _, s := range p.steps {
		if s.live == nil {
			return true
		}
	}
	return false
}

// Err returns the errors that are known before anything is written, joined.
func (p Plan) Err() error {
	var errs []error
	for _, s := range p.steps {
		errs = append(errs, s.err)
	}
	return errors.Join(errs...)
}
