// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// report writes a status if it has changed. It is the only writer of status, and emits the events for its transitions. The patch holds
// the UID, so that it never reaches another MemcachedProxy of the same name, and no resource version, since only we write the status.
func (r *Reconciler) report(
	ctx context.Context, proxy *cachev1alpha1.MemcachedProxy, status cachev1alpha1.MemcachedProxyStatus,
) error {
	if equality.Semantic.DeepEqual(proxy.Status, status) {
		return nil
	}
	if !r.verified(proxy) {
		if err := r.verifyFresh(ctx, proxy); err != nil {
			return err
		}
	}
	base, updated := &cachev1alpha1.MemcachedProxy{Status: proxy.Status}, &cachev1alpha1.MemcachedProxy{Status: status}
	// A count of 0 may have been stored or not, which looks the same.
	base.Status.Replicas, base.Status.ReadyReplicas, base.Status.UpdatedReplicas = -1, -1, -1
	updated.UID = proxy.UID
	data, err := client.MergeFrom(base).Data(updated)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	answer := &cachev1alpha1.MemcachedProxy{}
	answer.Namespace, answer.Name = proxy.Namespace, proxy.Name
	if err := r.client.Status().Patch(ctx, answer, client.RawPatch(client.Merge.Type(), data)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status: %w", err))
	}
	answer.ManagedFields = nil
	r.mutations.RecordWrite(answer)
	for _, condition := range status.Conditions {
		before := meta.FindStatusCondition(proxy.Status.Conditions, condition.Type)
		if before == nil {
			before = &metav1.Condition{Type: condition.Type}
		}
		r.emit(proxy, *before, condition)
	}
	return nil
}

// emit emits the event for one condition that has changed. Whoever has just created a MemcachedProxy knows that it is being created.
func (r *Reconciler) emit(proxy *cachev1alpha1.MemcachedProxy, before, after metav1.Condition) {
	if before.Status == after.Status && before.Reason == after.Reason {
		return
	}
	eventType, reason, action := eventOf(before, after)
	if reason != "" {
		r.recorder.Eventf(proxy, nil, eventType, reason, action, "%s", after.Message)
	}
}

// eventOf is the event for a condition that has changed. Its reason is empty if another condition's event says the same.
func eventOf(before, after metav1.Condition) (eventType, reason, action string) {
	isTrue, wasTrue := after.Status == metav1.ConditionTrue, before.Status == metav1.ConditionTrue
	switch {
	case after.Type == cachev1alpha1.ConditionProgressing:
		return progressEvent(before, after)
	case after.Type == cachev1alpha1.ConditionReady && isTrue:
		return corev1.EventTypeNormal, cachev1alpha1.ConditionReady, "Observe"
	case after.Type == cachev1alpha1.ConditionAvailable && wasTrue:
		return corev1.EventTypeWarning, after.Reason, "Observe"
	case after.Type == cachev1alpha1.ConditionDegraded && isTrue:
		return corev1.EventTypeWarning, after.Reason, "Reconcile"
	case after.Type == cachev1alpha1.ConditionDegraded && wasTrue:
		return corev1.EventTypeNormal, "Recovered", "Reconcile"
	default:
		return "", "", ""
	}
}

func progressEvent(before, after metav1.Condition) (eventType, reason, action string) {
	switch {
	case after.Reason == cachev1alpha1.ReasonStuck:
		return corev1.EventTypeWarning, after.Reason, "Reconcile"
	case after.Status == metav1.ConditionTrue && before.Reason != "":
		return corev1.EventTypeNormal, after.Reason, "Reconcile"
	default:
		return "", "", ""
	}
}
