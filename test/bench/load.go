// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	// size is the number of nodes of each Memcached.
	size = 3
	// perNamespace is the number of Memcacheds in a namespace: the controllers of Kubernetes are slow with thousands in one.
	perNamespace = 50
	// writers is how many requests the benchmark itself has in flight when it creates many objects.
	writers = 16
)

func namespaceOf(i int) string { return fmt.Sprintf("caches-%03d", i/perNamespace) }

// memcachedNumber returns the i-th Memcached, with a spec as small as it can be.
func memcachedNumber(i int) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: fmt.Sprintf("cache-%05d", i)},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
}

// createNamespaces creates the namespaces of n Memcacheds. With accounts, it waits for the service accounts of the pods.
func (r *rig) createNamespaces(ctx context.Context, n int, accounts bool) error {
	count := (n + perNamespace - 1) / perNamespace
	isDefault := func(object client.Object) bool { return object.GetName() == "default" }
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, err := r.tally(following, metadataList(corev1.SchemeGroupVersion.WithKind("ServiceAccount")), isDefault)
	if err != nil {
		return err
	}
	before := &corev1.NamespaceList{}
	if err := r.k8s.List(ctx, before); err != nil {
		return err
	}
	err = inParallel(count, func(i int) error {
		return r.k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i * perNamespace)}})
	})
	if err != nil || !accounts {
		return err
	}
	_, err = ready.reach(ctx, len(before.Items)+count)
	return err
}

// createMemcacheds creates n Memcacheds at once and returns when the first request was sent.
func (r *rig) createMemcacheds(ctx context.Context, n int) (time.Time, error) {
	began := time.Now()
	return began, inParallel(n, func(i int) error { return r.k8s.Create(ctx, memcachedNumber(i)) })
}

// inParallel calls do with 0 to n-1, some at the same time, and returns the first error.
func inParallel(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(writers)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// isReady says whether the operator calls the Memcached ready, in the version that the user wants.
func isReady(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	if !ok || mc.Status.ObservedGeneration != mc.Generation {
		return false
	}
	for _, condition := range mc.Status.Conditions {
		if condition.Type == cachev1alpha1.ConditionReady {
			return condition.Status == metav1.ConditionTrue
		}
	}
	return false
}

// resize changes the size of a Memcached.
func (r *rig) resize(ctx context.Context, i int, size int32) error {
	return r.patch(ctx, memcachedNumber(i), func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
}

// patch sends what change does to a Memcached.
func (r *rig) patch(ctx context.Context, mc *cachev1alpha1.Memcached, change func(*cachev1alpha1.Memcached)) error {
	before := &cachev1alpha1.Memcached{ObjectMeta: *mc.ObjectMeta.DeepCopy()}
	after := before.DeepCopy()
	change(after)
	return r.k8s.Patch(ctx, ptr.To(*after), client.MergeFrom(before))
}

func memcachedList() *cachev1alpha1.MemcachedList { return &cachev1alpha1.MemcachedList{} }
