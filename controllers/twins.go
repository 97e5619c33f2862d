// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// twins returns, sorted by name, the Memcacheds that fill their nodes from mc, and the Memcached from which mc fills its own nodes. The
// argument named is the name of the latter. If it is empty, twins leaves that Memcached out.
func (r *Reconciler) twins(ctx context.Context, mc client.Object, named string) ([]*cachev1alpha1.Memcached, error) {
	var found cachev1alpha1.MemcachedList
	err := r.Client.List(ctx, &found, client.InNamespace(mc.GetNamespace()), client.MatchingFields{FillFromIndex: mc.GetName()})
	if err != nil {
		return nil, fmt.Errorf("list the twins: %w", err)
	}
	var twins []*cachev1alpha1.Memcached
	for i := range found.Items {
		if twin := &found.Items[i]; twin.Name != mc.GetName() {
			twins = append(twins, twin)
		}
	}
	isNamed := func(twin *cachev1alpha1.Memcached) bool { return twin.Name == named }
	if named != "" && named != mc.GetName() && !slices.ContainsFunc(twins, isNamed) {
		twin, err := r.Get(ctx, types.NamespacedName{Namespace: mc.GetNamespace(), Name: named})
		if err != nil {
			return nil, err
		}
		if twin != nil {
			twins = append(twins, twin)
		}
	}
	slices.SortFunc(twins, func(a, b *cachev1alpha1.Memcached) int { return strings.Compare(a.Name, b.Name) })
	return twins, nil
}

// observeTwins reads the StatefulSet, the pods and the arguments of each twin.
func (r *Reconciler) observeTwins(ctx context.Context, mc *cachev1alpha1.Memcached) ([]memcached.View, error) {
	twins, err := r.twins(ctx, mc, memcached.FillsFrom(mc))
	if err != nil {
		return nil, err
	}
	var views []memcached.View
	for _, twin := range twins {
		set, arguments := &appsv1.StatefulSet{}, &corev1.ConfigMap{}
		set.Namespace, set.Name = twin.Namespace, twin.Name
		arguments.Namespace, arguments.Name = twin.Namespace, twin.Name+memcached.ArgumentsSuffix
		var observed memcached.Observed
		var errs []error
		for _, object := range []client.Object{set, arguments} {
			found, err := r.read(ctx, object, false)
			if found != nil {
				observed.Children = append(observed.Children, found)
			}
			errs = append(errs, err)
		}
		pods, err := r.pods(ctx, twin)
		if err := errors.Join(append(errs, err)...); err != nil {
			return nil, fmt.Errorf("observe the twin %s: %w", twin.Name, err)
		}
		observed.Pods = pods
		views = append(views, memcached.NewView(twin, observed, r.ServerClock.Now()))
	}
	return views, nil
}

// twinLocks holds a lock for each Memcached that has or had a twin.
type twinLocks struct{ locks sync.Map }

func (l *twinLocks) lock(name types.NamespacedName) *sync.Mutex {
	lock, _ := l.locks.LoadOrStore(name, &sync.Mutex{})
	return lock.(*sync.Mutex) //nolint:forcetypeassert // nothing else is stored
}

// getLocked returns the Memcached, or nil if there is none. It locks a Memcached that has twins, and these twins. After that, it reads
// the Memcached again, because the wait for a lock can be long.
func (r *Reconciler) getLocked(ctx context.Context, name types.NamespacedName) (_ *cachev1alpha1.Memcached, unlock func(), _ error) {
	mc, err := r.Get(ctx, name)
	if err != nil || mc == nil {
		return nil, func() {}, err
	}
	unlock, locked, err := r.lockTwins(ctx, mc)
	if err == nil && locked {
		mc, err = r.Get(ctx, name)
	}
	return mc, unlock, err
}

// lockTwins keeps twins from being reconciled at the same time. Otherwise, each reconcile might stop a node, and the two nodes might
// be the only ones with some items. Before its steps, a reconcile that waited for the lock reads past the
// cache what the twin's reconcile has written. Locks are taken in the order of names, so there is no deadlock.
func (r *Reconciler) lockTwins(ctx context.Context, mc *cachev1alpha1.Memcached) (unlock func(), locked bool, _ error) {
	twins, err := r.twins(ctx, mc, memcached.FillsFrom(mc))
	if err != nil || len(twins) == 0 {
		return func() {}, false, err
	}
	names := []string{mc.Name}
	for _, twin := range twins {
		names = append(names, twin.Name)
	}
	slices.Sort(names)
	var locks []*sync.Mutex
	for _, name := range names {
		lock := r.twinLocks.lock(types.NamespacedName{Namespace: mc.Namespace, Name: name})
		lock.Lock()
		locks = append(locks, lock)
	}
	return func() {
		for _, lock := range locks {
			lock.Unlock()
		}
	}, true, nil
}

// wakeTwins enqueues the twins of a Memcached, because they depend on its spec. The versions are the Memcached before and after
// an update, or the created or deleted Memcached.
func (r *Reconciler) wakeTwins(ctx context.Context, q queue, versions ...client.Object) {
	for _, version := range versions {
		mc, ok := version.(*cachev1alpha1.Memcached)
		if !ok {
			continue
		}
		if named := memcached.FillsFrom(mc); named != "" {
			Enqueue(q, 0, types.NamespacedName{Namespace: mc.Namespace, Name: named})
		}
		twins, err := r.twins(ctx, mc, "")
		if err != nil {
			continue // reading the cache fails only while the process ends
		}
		for _, twin := range twins {
			Enqueue(q, 0, client.ObjectKeyFromObject(twin))
		}
	}
}
