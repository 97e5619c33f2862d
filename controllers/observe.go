// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// InstanceIndex is the name of the index of pods by their Memcached.
const InstanceIndex = "instance"

func indexFields(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &corev1.Pod{}, InstanceIndex, func(pod client.Object) []string {
		return []string{pod.GetLabels()[memcached.InstanceLabel]}
	})
}

// observe builds the View of a Memcached from the cache.
func (r *Reconciler) observe(ctx context.Context, mc *cachev1alpha1.Memcached) (memcached.View, error) {
	children, childrenErr := r.readChildren(ctx, mc)
	pods, podsErr := r.pods(ctx, mc)
	observed := memcached.Observed{Children: children}
	for _, pod := range pods {
		if pod.Labels[memcached.NameLabel] == memcached.ProxyName {
			observed.Proxies = append(observed.Proxies, pod)
		} else {
			observed.Pods = append(observed.Pods, pod)
		}
	}
	view := memcached.NewView(mc, observed, r.ServerClock.Now())
	if err := errors.Join(childrenErr, podsErr); err != nil {
		return view, fmt.Errorf("observe: %w", err)
	}
	view.Agents = r.agents.track(view)
	if set := status.LacksPods(view); set != nil {
		view.Refused = r.refusal(ctx, view, set)
		view = view.With(view.Observed)
	}
	return view, nil
}

// The API server has no index of events: each read takes it as long as there are events in the namespace. refusalInterval is the shortest
// time between two reads for a StatefulSet, and refusalReads is how many there are in a second for all of them. An earlier refusal counts
// for refusalLasts.
const (
	refusalInterval = 4 * time.Second
	refusalReads    = 2
	refusalLasts    = 10 * time.Minute
)

// refusal returns why the API server refuses pods of a StatefulSet, or "". Its controller tells that only in events, which are read past
// the cache. After a failure of this read, the last explanation stays.
func (r *Reconciler) refusal(ctx context.Context, view memcached.View, set *memcached.Workload) (refusal string) {
	name, now := client.ObjectKeyFromObject(view.Memcached), r.Clock.Now()
	known := r.states.get(name)
	since := now.Sub(known.refusalReadAt)
	if since > refusalLasts {
		known.refusal = ""
	}
	if since < refusalInterval || !r.refusals.AllowN(now, 1) {
		return known.refusal
	}
	var told eventsv1.EventList
	var named corev1.PodList // the cache may lack it
	err := errors.Join(r.Live.List(ctx, &told, client.InNamespace(view.Memcached.Namespace), client.MatchingFields{
		"regarding.uid": string(set.GetUID()), "reason": "FailedCreate",
	}, client.Limit(100)), r.Live.List(ctx, &named, client.InNamespace(view.Memcached.Namespace), client.MatchingFields{
		"metadata.name": status.MissingPod(view, set),
	}))
	if err != nil {
		logf.FromContext(ctx).Info("The events of a StatefulSet that lacks pods cannot be read", "reason", err.Error())
		return known.refusal
	}
	refusal = status.RefusalIn(view, set, told.Items, named.Items)
	r.states.update(name, func(s *instanceState) { s.refusal, s.refusalReadAt = refusal, now })
	return refusal
}

// pods returns the nodes and proxies of a Memcached.
func (r *Reconciler) pods(ctx context.Context, mc *cachev1alpha1.Memcached) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingFields{InstanceIndex: mc.Name})
	return pods.Items, err
}

// Get returns the Memcached, or nil if the cache does not hold it. It returns ErrStale if the cache lacks the last status that this process
// has written: a patch of an older status would be refused.
func (r *Reconciler) Get(ctx context.Context, name types.NamespacedName) (*cachev1alpha1.Memcached, error) {
	cached := &cachev1alpha1.Memcached{}
	if err := r.Client.Get(ctx, name, cached); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get the Memcached: %w", err)
	}
	// A restored cluster may have lower resource versions. So this ends at some time.
	known := r.known.get(name)
	order, err := resourceversion.CompareResourceVersion(known.written, cached.GetResourceVersion())
	if err == nil && order > 0 && r.Clock.Since(known.writtenAt) < RecheckInterval {
		return nil, ErrStale
	}
	return cached, nil
}

// readChildren returns the existing objects that have the names of the Memcached's children.
func (r *Reconciler) readChildren(ctx context.Context, mc *cachev1alpha1.Memcached) (children []client.Object, _ error) {
	var errs []error
	for _, child := range memcached.Children {
		found, err := r.read(ctx, child.Named(client.ObjectKeyFromObject(mc)), child.Expected != nil && child.Expected(mc))
		if found != nil {
			children = append(children, found)
		}
		errs = append(errs, err)
	}
	return children, errors.Join(errs...)
}

// read returns the child as the cache holds it, or nil if there is none. If the cache lacks an expected child, the child may have lost the
// label by which the cache selects objects. So read asks the API server for it.
func (r *Reconciler) read(ctx context.Context, object client.Object, expected bool) (client.Object, error) {
	name := client.ObjectKeyFromObject(object)
	err := r.Client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) && expected {
		err = r.Live.Get(ctx, name, object)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object, nil
}
