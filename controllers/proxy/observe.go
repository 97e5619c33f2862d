// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// get returns the MemcachedProxy, nil if there is none.
func (r *Reconciler) get(ctx context.Context, name types.NamespacedName) (*cachev1alpha1.MemcachedProxy, error) {
	proxy := &cachev1alpha1.MemcachedProxy{}
	if err := r.client.Get(ctx, name, proxy); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get the MemcachedProxy: %w", err)
	}
	latest, _ := r.mutations.Latest(proxy, true)
	proxy, _ = latest.(*cachev1alpha1.MemcachedProxy)
	return proxy, nil
}

// observe reads all that is known of a MemcachedProxy, from the cache and from what was written since.
func (r *Reconciler) observe(ctx context.Context, proxy *cachev1alpha1.MemcachedProxy) (memcachedproxy.View, error) {
	view := memcachedproxy.View{Proxy: proxy, Now: r.serverClock.Now()}
	var errs []error
	for _, child := range memcachedproxy.Children {
		named := child.Named(client.ObjectKeyFromObject(proxy))
		found, pending, err := controllers.ReadChild(ctx, r.client, r.live, r.mutations, named, child.Expected(proxy))
		if found != nil {
			view.Children = append(view.Children, found)
		}
		view.PendingCreate = view.PendingCreate || pending
		errs = append(errs, err)
	}
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
	podsErr := r.client.List(ctx, &pods, client.InNamespace(proxy.Namespace), client.MatchingFields{controllers.InstanceIndex: proxy.Name})
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

// memcached returns a Memcached, nil if there is none.
func (r *Reconciler) memcached(ctx context.Context, name types.NamespacedName) (*cachev1alpha1.Memcached, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.client.Get(ctx, name, mc); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return mc, nil
}
