// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
	"github.com/example/memcached-operator/internal/metrics"
)

// report updates the metrics, and writes the status if it has changed. Wait is how long the write is deferred, 0 if it is not.
func (r *Reconciler) report(
	ctx context.Context, mc *cachev1alpha1.Memcached, current cachev1alpha1.MemcachedStatus, written memcached.Written,
) (wait time.Duration, _ error) {
	r.metrics.Observe(instance(mc, current))
	if equality.Semantic.DeepEqual(mc.Status, current) {
		return 0, nil
	}
	if wait := r.deferStatusWrite(mc, current, written); wait > 0 {
		return wait, nil
	}
	return 0, r.writeStatus(ctx, mc, current)
}

// reportUnobserved writes the status of a Memcached that could not be observed. It returns the error, so that the reconcile is retried.
func (r *Reconciler) reportUnobserved(ctx context.Context, view memcached.View, err error) error {
	mc, written := view.Memcached, r.Classify(nil, err)
	r.metrics.Reconciled(resultOf(written))
	if r.IsTransient(client.ObjectKeyFromObject(mc), written) {
		return err
	}
	_, unwritten := r.report(ctx, mc, status.Unobserved(view, *written.Problem), written)
	return errors.Join(err, unwritten)
}

// writeStatus writes the status and emits events for its transitions. Nothing else writes the status.
func (r *Reconciler) writeStatus(ctx context.Context, mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) error {
	base, updated := &cachev1alpha1.Memcached{Status: mc.Status}, &cachev1alpha1.Memcached{Status: status}
	updated.ResourceVersion = mc.ResourceVersion // otherwise, a patch of an old one would mix two statuses
	// In Go, a count of 0 and a missing count are equal. With -1 in the base, the patch always contains the counts.
	base.Status.Replicas, base.Status.ReadyReplicas, base.Status.UpdatedReplicas = -1, -1, -1
	data, err := client.MergeFrom(base).Data(updated)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	answer := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
	if err := r.Client.Status().Patch(ctx, answer, client.RawPatch(client.Merge.Type(), data)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status: %w", err))
	}
	r.known.update(client.ObjectKeyFromObject(mc), func(k *known) { k.written, k.writtenAt = answer.ResourceVersion, r.Clock.Now() })
	for _, record := range transitions(mc.Status, status) {
		r.emit(mc, record)
	}
	return nil
}

// progressStatusInterval is the shortest time between status writes that only report progress. By default, a stopping node still
// serves for this long (gracefulShutdown.preStopDelaySeconds), so clients that follow status.nodes leave it in time.
const progressStatusInterval = 5 * time.Second

// deferStatusWrite returns how long to defer the write of a status, 0 or less for not at all. Only progress can wait.
func (r *Reconciler) deferStatusWrite(
	mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus, written memcached.Written,
) time.Duration {
	writtenAt := r.known.get(client.ObjectKeyFromObject(mc)).writtenAt
	if writtenAt.IsZero() || written.Changed || written.Err != nil || !onlyProgressed(mc.Status, status) {
		return 0
	}
	return writtenAt.Add(progressStatusInterval).Sub(r.Clock.Now())
}

// onlyProgressed reports whether a status only shows progress. It shows more if the Memcached was or is Ready, is no longer
// available, has a new spec, was paused or resumed, or has another reason of Degraded than before.
func onlyProgressed(before, after cachev1alpha1.MemcachedStatus) bool {
	had, has := before.Conditions, after.Conditions
	answers := before.ObservedGeneration != after.ObservedGeneration ||
		(progress(had) == cachev1alpha1.ReasonPaused) != (progress(has) == cachev1alpha1.ReasonPaused)
	worse := meta.IsStatusConditionTrue(had, cachev1alpha1.ConditionReady) ||
		meta.IsStatusConditionTrue(had, cachev1alpha1.ConditionAvailable) && !meta.IsStatusConditionTrue(has, cachev1alpha1.ConditionAvailable)
	return !answers && !worse && !meta.IsStatusConditionTrue(has, cachev1alpha1.ConditionReady) &&
		reasonOf(had, cachev1alpha1.ConditionDegraded) == reasonOf(has, cachev1alpha1.ConditionDegraded)
}

// instance returns what the metrics show of a Memcached. It leaves out the conditions that a Memcached has only at times.
func instance(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) metrics.Instance {
	var conditions []metrics.Condition
	for _, condition := range status.Conditions {
		switch condition.Type {
		case cachev1alpha1.ConditionReconciling, cachev1alpha1.ConditionStalled, cachev1alpha1.ConditionNeedsAttention:
			continue
		}
		conditions = append(conditions, metrics.Condition{Type: condition.Type, Status: string(condition.Status)})
	}
	var itemMemory int64
	if mc.Spec.Config.Memory != nil {
		itemMemory = mc.Spec.Config.Memory.Value()
	}
	return metrics.Instance{
		Namespace:      mc.Namespace,
		Name:           mc.Name,
		Desired:        mc.Spec.Size,
		Ready:          status.ReadyReplicas,
		ItemMemory:     itemMemory,
		MaxConnections: mc.Spec.Config.MaxConnections,
		Stuck:          progress(status.Conditions) == cachev1alpha1.ReasonStuck,
		Conditions:     conditions,
	}
}
