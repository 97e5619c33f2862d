// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/metrics"
)

// writeStatus is the only writer of status, and sends the events for what it tells. The patch holds the UID, so that it never
// reaches another Memcached of the same name, and no resource version, since only we write the status.
func (r *Reconciler) writeStatus(ctx context.Context, mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) error {
	if r.unconfirmed(mc, false) {
		if err := r.confirm(ctx, mc); err != nil {
			return err
		}
	}
	base, updated := &cachev1alpha1.Memcached{Status: mc.Status}, &cachev1alpha1.Memcached{Status: status}
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
	reduceMemcached(answer)
	r.mutations.RecordWrite(answer)
	r.told.Store(client.ObjectKeyFromObject(mc), r.clock.Now())
	r.tell(mc, status)
	return nil
}

// tellProgress is how often a status is written that tells nothing but how far a Memcached has come that is not Ready. Who
// follows status.nodes must know that a node leaves while it still serves: gracefulShutdown.preStopDelaySeconds is 5 unless
// the user says otherwise.
const tellProgress = 5 * time.Second

// canWait is for how long a status need not be written. See ADR-0006.
func (r *Reconciler) canWait(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus, applied applied) time.Duration {
	value, _ := r.told.Load(client.ObjectKeyFromObject(mc))
	told, ok := value.(time.Time)
	if !ok || applied.written || applied.err != nil || !onlyProgressed(mc.Status, status) {
		return 0
	}
	return told.Add(tellProgress).Sub(r.clock.Now())
}

// onlyProgressed says whether the second status is no answer to what the user did, no bad news, and not Ready.
func onlyProgressed(before, after cachev1alpha1.MemcachedStatus) bool {
	had, has := before.Conditions, after.Conditions
	answers := before.ObservedGeneration != after.ObservedGeneration ||
		(progress(had) == cachev1alpha1.ReasonPaused) != (progress(has) == cachev1alpha1.ReasonPaused)
	worse := meta.IsStatusConditionTrue(had, cachev1alpha1.ConditionReady) ||
		meta.IsStatusConditionTrue(had, cachev1alpha1.ConditionAvailable) && !meta.IsStatusConditionTrue(has, cachev1alpha1.ConditionAvailable)
	return !answers && !worse && !meta.IsStatusConditionTrue(has, cachev1alpha1.ConditionReady) &&
		reasonOf(had, cachev1alpha1.ConditionDegraded) == reasonOf(has, cachev1alpha1.ConditionDegraded)
}

// tell sends the events for the transitions.
func (r *Reconciler) tell(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) {
	for _, notice := range transitions(mc.Status, status) {
		r.recorder.Eventf(mc, nil, notice.kind, notice.reason, notice.action, "%s", notice.note)
	}
}

// instance is what the metrics say of a Memcached.
func instance(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus) metrics.Instance {
	var conditions []metrics.Condition
	for _, condition := range status.Conditions {
		conditions = append(conditions, metrics.Condition{Type: condition.Type, Status: string(condition.Status)})
	}
	return metrics.Instance{
		Namespace:  mc.Namespace,
		Name:       mc.Name,
		Desired:    mc.Spec.Size,
		Ready:      status.ReadyReplicas,
		Conditions: conditions,
	}
}
