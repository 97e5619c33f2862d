// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"reflect"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
)

// write carries out a plan.
func (r *Reconciler) write(ctx context.Context, view memcached.View, plan memcached.Plan, changes apply.Plan) memcached.Written {
	written := r.apply(ctx, view, plan, changes)
	r.takeSteps(ctx, view, plan, &written)
	written.RetryAfter = memcached.Sooner(written.RetryAfter, plan.NextStep)
	return written
}

// apply writes the objects of a Memcached, unless it is paused or being deleted.
func (r *Reconciler) apply(ctx context.Context, view memcached.View, plan memcached.Plan, changes apply.Plan) memcached.Written {
	mc := view.Memcached
	if mc.DeletionTimestamp != nil {
		return memcached.Written{}
	}
	if mc.Spec.Paused {
		written := r.Classify(plan.Problem, changes.Err)
		written.Pending, written.TemplatePending = changes.Pending, templateDiffers(mc, changes)
		return written
	}
	result, err := r.Applier.Apply(ctx, changes)
	written := r.Classify(plan.Problem, err)
	written.TemplatePending = err != nil && templateDiffers(mc, changes) &&
		templateDiffers(mc, r.Applier.Plan(ctx, mc, false, false, plan.Objects, result.Objects))
	written.Objects, written.Created, written.Changed = result.Objects, len(result.Created) > 0, result.Written
	if result.Written {
		logf.FromContext(ctx).Info("Applied the objects of the Memcached")
	}
	r.emitCorrections(view, result)
	return written
}

// changes returns what has to be written for a plan. With a problem, running pods stay as they are.
func (r *Reconciler) changes(ctx context.Context, view memcached.View, plan memcached.Plan) apply.Plan {
	return r.Applier.Plan(ctx, view.Memcached, view.Last.Generation > 0, plan.Problem != nil, plan.Objects, view.Children)
}

// emitCorrections counts the changes by others that were undone. It emits events about them, and about undone deletions.
func (r *Reconciler) emitCorrections(view memcached.View, result apply.Result) {
	mc := view.Memcached
	for _, correction := range result.Corrected {
		r.metrics.Corrected(correction.Kind)
		if !correction.Contested {
			r.emitAbout(mc, corrected(mc, correction), result.Objects, correction.Kind, correction.Name)
		}
	}
	for _, object := range result.Created {
		if kind, name, _ := strings.Cut(object, " "); wasThere(view, kind, name) {
			r.emitAbout(mc, recreated(object), result.Objects, kind, name)
		}
	}
}

// wasThere reports whether the last status shows that the child of this kind and name existed. The status names only the Services and the
// workloads. The other children existed if the Memcached was Ready with the current spec.
func wasThere(view memcached.View, kind, name string) bool {
	mc, last := view.Memcached, view.Last
	switch {
	case kind == "Service" && name == mc.Name, memcached.IsWorkload(kind) && name == mc.Name+memcached.ProxySuffix:
		return mc.Status.Proxies != nil
	case kind == "Service":
		return mc.Status.ServiceName != ""
	case memcached.IsWorkload(kind):
		return mc.Status.Image != "" && string(memcached.WorkloadKind(mc)) == kind
	}
	return last.Generation == mc.Generation && last.IsTrue(cachev1alpha1.ConditionReady)
}

// Bounds of the events about corrections of one Memcached. Others can make the operator correct as often as they write.
const (
	correctionEvents   = 25
	correctionInterval = 5 * time.Minute
)

// emitAbout emits an event about a correction, unless there have been too many. The related object is the one with this kind and name.
func (r *Reconciler) emitAbout(mc *cachev1alpha1.Memcached, e eventRecord, objects []client.Object, kind, name string) {
	allowed := false
	r.states.update(client.ObjectKeyFromObject(mc), func(s *instanceState) {
		if s.corrections == nil {
			s.corrections = rate.NewLimiter(rate.Every(correctionInterval), correctionEvents)
		}
		allowed = s.corrections.AllowN(r.Clock.Now(), 1)
	})
	if !allowed {
		return
	}
	for _, object := range objects {
		if reflect.TypeOf(object).Elem().Name() == kind && object.GetName() == name {
			e.related = object
		}
	}
	r.emit(mc, e)
}

const podTemplate = "spec.template"

// templateDiffers reports whether the live pod template of the nodes differs from the desired one.
func templateDiffers(mc *cachev1alpha1.Memcached, changes apply.Plan) bool {
	return changes.Differs(string(memcached.WorkloadKind(mc)), podTemplate)
}
