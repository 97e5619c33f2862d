// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// transientGracePeriod is for how long the API server may fail to decide before that is reported. A webhook may fail for ever, and
// everything else that there is to report must not wait for it.
const transientGracePeriod = time.Minute

// isTransient reports whether the API server has failed to decide for a short time only, so that there is nothing to report.
func (r *Reconciler) isTransient(name types.NamespacedName, result applyResult) bool {
	since, now := r.states.get(name).transientSince, r.clock.Now()
	switch {
	case !result.transient && !since.IsZero():
		r.states.update(name, func(s *instanceState) { s.transientSince = time.Time{} })
	case result.transient && since.IsZero():
		r.states.update(name, func(s *instanceState) { s.transientSince = now })
		since = now
	}
	return result.transient && now.Sub(since) < transientGracePeriod
}

// apply writes the desired objects of a Memcached, unless it is paused or being deleted. Invalid says why the spec cannot be
// carried out, nil if it can.
func (r *Reconciler) apply(
	ctx context.Context, mc *cachev1alpha1.Memcached, observed memcached.Observed, desired []client.Object, invalid error,
) applyResult {
	if mc.DeletionTimestamp != nil {
		return applyResult{}
	}
	plan := r.applier.Plan(mc, desired, observed.Children)
	if invalid != nil { // the pods that run stay as they are; all else is as it should be
		plan = r.applier.PlanPartial(mc, desired, observed.Children)
	}
	drifted := templateDiffers(plan)
	if mc.Spec.Paused {
		a := classify(errors.Join(invalid, plan.Err()))
		a.Pending, a.TemplatePending = plan.Pending(), drifted
		return a
	}
	if err := r.verifyBeforeWrites(ctx, mc, observed, plan); err != nil {
		return classify(err)
	}
	result, err := r.applier.Apply(ctx, plan)
	a := classify(errors.Join(invalid, err))
	a.TemplatePending = drifted && err != nil && templateDiffers(r.applier.Plan(mc, desired, result.Objects))
	a.objects, a.created, a.written = result.Objects, len(result.Created) > 0, result.Written
	r.emitCorrections(mc, result)
	if result.Written {
		logf.FromContext(ctx).Info("Applied the objects of the Memcached")
	}
	return a
}

// emitCorrections tells what others have done to the objects of a Memcached.
func (r *Reconciler) emitCorrections(mc *cachev1alpha1.Memcached, result apply.Result) {
	for _, correction := range result.Corrected {
		r.metrics.Corrected(correction.Kind)
		if correction.Complete {
			r.emit(mc, corrected(correction))
		}
	}
	if mc.Status.ObservedGeneration != mc.Generation || !meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady) {
		return // what is created now may never have been there
	}
	for _, object := range result.Created {
		r.emit(mc, recreated(object))
	}
}

// templateDiffers reports whether the pod template is not as desired.
func templateDiffers(plan apply.Plan) bool {
	return slices.ContainsFunc(memcached.Children, func(child memcached.Child) bool {
		return child.Workload && plan.Differs(child.Kind.Kind, memcached.PodTemplatePath...)
	})
}
