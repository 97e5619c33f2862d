// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// get returns the Memcached, nil if there is none. The operator creates none, so one that is not in the cache is gone.
func (r *Reconciler) get(ctx context.Context, name types.NamespacedName) (*cachev1alpha1.Memcached, error) {
	mc := &cachev1alpha1.Memcached{}
	if err := r.client.Get(ctx, name, mc); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get the Memcached: %w", err)
	}
	latest, _ := r.mutations.Latest(mc, true)
	mc, _ = latest.(*cachev1alpha1.Memcached)
	return mc, nil
}

// observe reads all that is known of a Memcached, from the cache and from what was written since. Unconfirmed says that
// something was created which the cache has not received.
func (r *Reconciler) observe(ctx context.Context, mc *cachev1alpha1.Memcached) (_ memcached.Observed, unconfirmed bool, _ error) {
	var observed memcached.Observed
	reads := reads{Reconciler: r, name: client.ObjectKeyFromObject(mc)}
	observed.Deployment = read(ctx, &reads, &appsv1.Deployment{}, mc.Status.Image != "")
	observed.Service = read(ctx, &reads, &corev1.Service{}, mc.Status.ServiceName != "")
	observed.PodDisruptionBudget = read(ctx, &reads, &policyv1.PodDisruptionBudget{}, mayHaveBudget(mc))
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingFields{instanceIndex: mc.Name})
	observed.Pods = pods.Items
	if err := errors.Join(reads.err, err); err != nil {
		return observed, false, fmt.Errorf("observe: %w", err)
	}
	return observed, reads.unconfirmed, nil
}

// mayHaveBudget says whether there may be a PodDisruptionBudget that the cache does not hold and that nothing else will find: the
// spec has changed, and it wants none.
func mayHaveBudget(mc *cachev1alpha1.Memcached) bool {
	told := mc.Status.ObservedGeneration
	return told != 0 && told != mc.Generation && !ptr.Deref(mc.Spec.PodDisruptionBudget.Enabled, true)
}

// reads are the reads of one observation.
type reads struct {
	*Reconciler
	name types.NamespacedName
	// unconfirmed says that one of the objects was created and is not in the cache yet.
	unconfirmed bool
	err         error
}

// read returns an object of the name, nil if there is none. One that is known to exist and is not in the cache may have
// lost the label that the cache selects by: then the API server is asked, since what is desired depends on what is there.
func read[T client.Object](ctx context.Context, r *reads, object T, known bool) T {
	var none T
	err := r.client.Get(ctx, r.name, object)
	object.SetNamespace(r.name.Namespace)
	object.SetName(r.name.Name)
	latest, unconfirmed := r.mutations.Latest(object, err == nil)
	if latest == nil && apierrors.IsNotFound(err) && known {
		latest, err = object, r.live.Get(ctx, r.name, object)
	}
	r.unconfirmed = r.unconfirmed || unconfirmed
	if client.IgnoreNotFound(err) != nil {
		r.err = errors.Join(r.err, err)
		return none
	}
	if found, ok := latest.(T); ok && (err == nil || unconfirmed) {
		return found
	}
	return none
}
