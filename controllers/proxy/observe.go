// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// observe builds the view of a MemcachedProxy from the cache.
func (r *Reconciler) observe(ctx context.Context, proxy *cachev1alpha1.MemcachedProxy) (memcachedproxy.View, error) {
	children, err := r.ReadChildren(ctx, proxy)
	view := memcachedproxy.View{Proxy: proxy, Children: children, Now: r.ServerClock.Now()}
	errs := []error{err}
	for i, pool := range proxy.Spec.Pools {
		mc, err := r.memcached(ctx, types.NamespacedName{Namespace: proxy.Namespace, Name: pool.Name})
		if i == 0 {
			view.Pool = mc
		} else {
			view.Copies = append(view.Copies, mc)
		}
		errs = append(errs, err)
	}
	var namesakeErr error
	view.Namesake, namesakeErr = r.memcached(ctx, client.ObjectKeyFromObject(proxy))
	var pods corev1.PodList
	podsErr := r.Client.List(ctx, &pods, client.InNamespace(proxy.Namespace), client.MatchingFields{controllers.InstanceIndex: proxy.Name})
	for i := range pods.Items {
		if pods.Items[i].Labels[memcached.NameLabel] == memcachedproxy.Name {
			view.Pods = append(view.Pods, pods.Items[i])
		}
	}
	if err := errors.Join(append(errs, namesakeErr, podsErr)...); err != nil {
		return view, fmt.Errorf("observe: %w", err)
	}
	return view, nil
}

// memcached returns the Memcached of this name, or nil if there is none.
func (r *Reconciler) memcached(ctx context.Context, name types.NamespacedName) (*cachev1alpha1.Memcached, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.Client.Get(ctx, name, mc); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return mc, nil
}
