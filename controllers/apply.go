// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
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
	ctx context.Context, mc *cachev1alpha1.Memcached, observed memcached.Observed, desired memcached.Desired, invalid error,
) applyResult {
	if mc.DeletionTimestamp != nil {
		return applyResult{}
	}
	if live, last := observed.Workload(mc), mc.Status.LastApplied; live != nil && last != nil {
		r.applier.Recall(live.Object, last.AppliedHash)
	}
	plan := r.applier.Plan(mc, desired.Objects, observed.Children, sizeOnly(desired, invalid)...)
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
	a.TemplatePending = drifted && err != nil && templateDiffers(r.applier.Plan(mc, desired.Objects, result.Objects))
	a.objects, a.created, a.written = result.Objects, len(result.Created) > 0, result.Written
	if a.created {
		r.setVerified(mc)
	}
	r.emitCorrections(mc, result)
	if result.Written {
		logf.FromContext(ctx).Info("Applied the objects of the Memcached")
	}
	return a
}

// sizeOnly are the objects of which only the size is written. With an invalid spec, the pods that run stay as they are.
func sizeOnly(desired memcached.Desired, invalid error) []client.Object {
	if invalid != nil {
		return desired.Objects
	}
	return []client.Object{desired.Former}
}

// emitCorrections tells what others have done to the objects of a Memcached.
func (r *Reconciler) emitCorrections(mc *cachev1alpha1.Memcached, result apply.Result) {
	for _, correction := range result.Corrected {
		r.metrics.Corrected(correction.Kind)
		if correction.Complete {
			r.emitAbout(mc, corrected(correction), result.Objects, correction.Kind, correction.Name)
		}
	}
	if mc.Status.ObservedGeneration != mc.Generation || !meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady) {
		return // what is created now may never have been there
	}
	for _, object := range result.Created {
		kind, name, _ := strings.Cut(object, " ")
		r.emitAbout(mc, recreated(object), result.Objects, kind, name)
	}
}

// emitAbout emits an event that tells of one of the objects.
func (r *Reconciler) emitAbout(mc *cachev1alpha1.Memcached, e eventRecord, objects []client.Object, kind, name string) {
	for _, object := range objects {
		if child, ok := memcached.ChildOf(object); ok && child.Kind.Kind == kind && object.GetName() == name {
			e.related = object
		}
	}
	r.emit(mc, e)
}

// templateDiffers reports whether the pod template is not as desired.
func templateDiffers(plan apply.Plan) bool {
	return slices.ContainsFunc(memcached.Children, func(child memcached.Child) bool {
		return child.Workload && plan.Differs(child.Kind.Kind, memcached.PodTemplatePath...)
	})
}
