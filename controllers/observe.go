// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// instanceIndex finds the pods of a Memcached without looking at those of all others.
const instanceIndex = "instance"

func indexPods(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, instanceIndex, func(pod client.Object) []string {
		return []string{pod.GetLabels()[memcached.InstanceLabel]}
	})
	if err != nil {
		return fmt.Errorf("index pods by instance: %w", err)
	}
	return nil
}

// get returns the Memcached, nil if there is none.
func (r *Reconciler) get(ctx context.Context, request reconcile.Request) (*cachev1alpha1.Memcached, error) {
	return latest(ctx, r, request, &cachev1alpha1.Memcached{})
}

// observe reads all that is known of a Memcached, from the cache and from what was written since.
func (r *Reconciler) observe(ctx context.Context, mc *cachev1alpha1.Memcached) (memcached.Observed, error) {
	var observed memcached.Observed
	var err error
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mc)}
	if observed.Deployment, err = latest(ctx, r, request, &appsv1.Deployment{}); err != nil {
		return observed, err
	}
	if observed.Service, err = latest(ctx, r, request, &corev1.Service{}); err != nil {
		return observed, err
	}
	if observed.PodDisruptionBudget, err = latest(ctx, r, request, &policyv1.PodDisruptionBudget{}); err != nil {
		return observed, err
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingFields{instanceIndex: mc.Name}); err != nil {
		return observed, fmt.Errorf("list pods: %w", err)
	}
	observed.Pods = pods.Items
	return observed, nil
}

// latest reads an object of the name of the request, nil if there is none.
func latest[T client.Object](ctx context.Context, r *Reconciler, request reconcile.Request, object T) (T, error) {
	var none T
	err := r.client.Get(ctx, request.NamespacedName, object)
	if client.IgnoreNotFound(err) != nil {
		return none, fmt.Errorf("get %T: %w", object, err)
	}
	object.SetNamespace(request.Namespace)
	object.SetName(request.Name)
	if found, ok := r.memory.Latest(object, !apierrors.IsNotFound(err)).(T); ok {
		return found, nil
	}
	return none, nil
}
