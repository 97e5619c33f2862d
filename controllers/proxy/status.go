// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// report writes a status if it has changed. It is the only writer of status, and emits the events for its transitions.
func (r *Reconciler) report(
	ctx context.Context, proxy *cachev1alpha1.MemcachedProxy, status cachev1alpha1.MemcachedProxyStatus,
) error {
	if equality.Semantic.DeepEqual(proxy.Status, status) {
		return nil
	}
	base, updated := &cachev1alpha1.MemcachedProxy{Status: proxy.Status}, &cachev1alpha1.MemcachedProxy{Status: status}
	// A count of 0 may have been stored or not, which looks the same.
	base.Status.Replicas, base.Status.ReadyReplicas, base.Status.UpdatedReplicas = -1, -1, -1
	if written, err := r.PatchStatus(ctx, proxy, base, updated); !written {
		return err
	}
	r.EmitTransitions(proxy, proxy.Status.Conditions, status.Conditions)
	return nil
}
