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
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
	"github.com/example/memcached-operator/internal/metrics"
)

// report reports a status in the metrics, and writes it if it has changed. Wait is for how long it need not be written.
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

// reportUnobserved reports that a Memcached could not be observed. It returns the error, so that the next try follows.
func (r *Reconciler) reportUnobserved(ctx context.Context, view memcached.View, err error) error {
	mc, written := view.Memcached, classify(nil, err)
	r.metrics.Reconciled(resultOf(written))
	if r.isTransient(client.ObjectKeyFromObject(mc), written) {
		return err
	}
	_, unwritten := r.report(ctx, mc, status.Unobserved(view, *written.Problem), written)
	return errors.Join(err, unwritten)
}

// writeStatus is the only writer of status, and emits the events for its transitions. The patch holds the UID, so that it never
// reaches another Memcached of the same name, and no resource version, since only we write the status.
func (r *Reconciler) writeStatus(ctx context.Context, mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) error {
	if !r.verified(mc) {
		if err := r.verifyFresh(ctx, mc); err != nil {
			return err
		}
	}
	base, updated := &cachev1alpha1.Memcached{Status: mc.Status}, &cachev1alpha1.Memcached{Status: status}
	// A count of 0 may have been stored or not, which looks the same.
	base.Status.Replicas, base.Status.ReadyReplicas, base.Status.UpdatedReplicas = -1, -1, -1
	updated.UID = mc.UID
	data, err := client.MergeFrom(base).Data(updated)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	answer := &cachev1alpha1.Memcached{}
	answer.Namespace, answer.Name = mc.Namespace, mc.Name
	err = r.client.Status().Patch(ctx, answer, client.RawPatch(client.Merge.Type(), data))
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status: %w", err))
	}
	transformMemcached(answer)
	r.mutations.RecordWrite(answer)
	now := r.clock.Now()
	r.states.update(client.ObjectKeyFromObject(mc), func(s *instanceState) { s.statusWrittenAt = now })
	r.emitEvents(mc, status)
	return nil
}

// progressStatusInterval is how often a status is written that only reports the progress of a Memcached that is not Ready.
// Clients that follow status.nodes must know that a node leaves while it still serves: gracefulShutdown.preStopDelaySeconds is 5
// unless the user says otherwise.
const progressStatusInterval = 5 * time.Second

// deferStatusWrite returns for how long a status need not be written, 0 for not at all. See ADR-0006.
func (r *Reconciler) deferStatusWrite(
	mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus, written memcached.Written,
) time.Duration {
	writtenAt := r.states.get(client.ObjectKeyFromObject(mc)).statusWrittenAt
	if writtenAt.IsZero() || written.Changed || written.Err != nil || !onlyProgressed(mc.Status, status) {
		return 0
	}
	return writtenAt.Add(progressStatusInterval).Sub(r.clock.Now())
}

// onlyProgressed reports whether the second status neither answers what the user did, nor is bad news, nor is Ready.
func onlyProgressed(before, after cachev1alpha1.MemcachedStatus) bool {
	had, has := before.Conditions, after.Conditions
	answers := before.ObservedGeneration != after.ObservedGeneration ||
		(progress(had) == cachev1alpha1.ReasonPaused) != (progress(has) == cachev1alpha1.ReasonPaused)
	worse := meta.IsStatusConditionTrue(had, cachev1alpha1.ConditionReady) ||
		meta.IsStatusConditionTrue(had, cachev1alpha1.ConditionAvailable) && !meta.IsStatusConditionTrue(has, cachev1alpha1.ConditionAvailable)
	return !answers && !worse && !meta.IsStatusConditionTrue(has, cachev1alpha1.ConditionReady) &&
		reasonOf(had, cachev1alpha1.ConditionDegraded) == reasonOf(has, cachev1alpha1.ConditionDegraded)
}

// emitEvents emits one event for each transition.
func (r *Reconciler) emitEvents(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) {
	for _, record := range transitions(mc.Status, status) {
		r.emit(mc, record)
	}
}

func (r *Reconciler) emit(mc *cachev1alpha1.Memcached, e eventRecord) {
	var related runtime.Object
	if e.related != nil {
		related = e.related
	}
	r.recorder.Eventf(mc, related, e.kind, e.reason, e.action, "%s", e.note)
}

// instance is what the metrics say of a Memcached. They have the conditions that are always there.
func instance(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) metrics.Instance {
	var conditions []metrics.Condition
	for _, condition := range status.Conditions {
		if condition.Type == cachev1alpha1.ConditionReconciling || condition.Type == cachev1alpha1.ConditionStalled {
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
