// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/internal/memcached"
)

// deleteLostPods deletes pods of lost cluster nodes, so that new pods can have their names. It records in written whether it deleted a
// pod, what was refused, and when to check again.
func (r *Reconciler) deleteLostPods(
	ctx context.Context, view memcached.View, plan memcached.Plan, written *memcached.Written,
) {
	mc := view.Memcached
	written.RetryAfter = memcached.Sooner(written.RetryAfter, plan.NextLostPod)
	if len(plan.LostPods) == 0 {
		return
	}
	if err := r.VerifyOnce(ctx, mc); err != nil { // the latest Memcached may be paused or deleted
		join(written, r.Classify(nil, err))
		return
	}
	for _, pod := range plan.LostPods {
		switch err := r.deleteLostPod(ctx, pod); {
		case err == nil:
			written.Changed = true
			r.metrics.LostPodDeleted()
			r.Recorder.Eventf(mc, pod, corev1.EventTypeWarning, "LostPodDeleted", "Delete",
				"Pod %s did not stop after its eviction from cluster node %s: deleted it without waiting, so that a new %s can start",
				pod.Name, pod.Spec.NodeName, pod.Name)
			logf.FromContext(ctx).Info("Deleted a pod that did not stop after its eviction", "pod", pod.Name, "node", pod.Spec.NodeName)
		case apierrors.IsNotFound(err):
		case apierrors.IsConflict(err):
			// The pod has changed, or another pod has its name. If only fields that the cache drops have changed, no event causes a
			// reconcile.
			written.RetryAfter = memcached.Sooner(written.RetryAfter, RecheckInterval)
		default:
			join(written, r.Classify(nil, fmt.Errorf("delete the pod %s of the lost cluster node %s: %w", pod.Name, pod.Spec.NodeName, err)))
		}
	}
}

// deleteLostPod deletes a pod if it has not changed since it was observed.
func (r *Reconciler) deleteLostPod(ctx context.Context, pod *corev1.Pod) error {
	return r.Client.Delete(ctx, pod, client.GracePeriodSeconds(0),
		client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
}
