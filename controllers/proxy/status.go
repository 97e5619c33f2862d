// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// report writes the status if it has changed, and emits events for its transitions. Nothing else writes the status.
func (r *Reconciler) report(
	ctx context.Context, proxy *cachev1alpha1.MemcachedProxy, status cachev1alpha1.MemcachedProxyStatus,
) error {
	if equality.Semantic.DeepEqual(proxy.Status, status) {
		return nil
	}
	base, updated := &cachev1alpha1.MemcachedProxy{Status: proxy.Status}, &cachev1alpha1.MemcachedProxy{Status: status}
	// In Go, a count of 0 and a missing count are equal. With -1 in the base, the patch always contains the counts.
	base.Status.Replicas, base.Status.ReadyReplicas, base.Status.UpdatedReplicas = -1, -1, -1
	if written, err := r.PatchStatus(ctx, proxy, base, updated); !written {
		return err
	}
	r.EmitTransitions(proxy, proxy.Status.Conditions, status.Conditions)
	return nil
}
