// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	// size is the number of nodes of each Memcached.
	size = 3
	// perNamespace is the number of Memcacheds in a namespace. With thousands of them in one namespace, the controllers of Kubernetes
	// would be slow.
	perNamespace = 50
	// writers is how many requests the benchmark sends at the same time to create objects.
	writers = 16
)

func namespaceOf(i int) string { return fmt.Sprintf("caches-%03d", i/perNamespace) }

// memcachedNumber returns the Memcached with the number i. Apart from the changes, it has the smallest possible spec.
func memcachedNumber(i int, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: fmt.Sprintf("cache-%05d", i)},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, change := range changes {
		change(mc)
	}
	return mc
}

// createNamespaces creates the namespaces of n Memcacheds. If accounts is true, it waits for the default service accounts, which pods
// need.
func (t *testbed) createNamespaces(ctx context.Context, n int, accounts bool) {
	count := (n + perNamespace - 1) / perNamespace
	isDefault := func(object client.Object) bool { return object.GetName() == "default" }
	ready := t.countObjects(ctx, metadataList(corev1.SchemeGroupVersion.WithKind("ServiceAccount")), isDefault)
	defer ready.stop()
	before := &corev1.NamespaceList{}
	check(t.k8s.List(ctx, before))
	check(inParallel(count, func(i int) error {
		return t.k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i * perNamespace)}})
	}))
	if accounts {
		ready.waitFor(ctx, len(before.Items)+count)
	}
}

func (t *testbed) createMemcacheds(ctx context.Context, n int, changes ...func(*cachev1alpha1.Memcached)) time.Time {
	began := time.Now()
	check(inParallel(n, func(i int) error { return t.k8s.Create(ctx, memcachedNumber(i, changes...)) }))
	return began
}

// createReady creates n Memcacheds as fast as possible. It returns the time at which it began, and how long it took until all were
// Ready.
func (t *testbed) createReady(
	ctx context.Context, ready *counter, n int, changes ...func(*cachev1alpha1.Memcached),
) (began time.Time, took time.Duration) {
	began = t.createMemcacheds(ctx, n, changes...)
	during("waiting for Memcacheds to be ready", func() { took = ready.waitFor(ctx, n).Sub(began) })
	return began, took
}

// inParallel calls the function do with 0 to n-1, and returns the first error. The constant writers limits how many calls run at the same
// time.
func inParallel(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(writers)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

func isReady(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	return ok && mc.Status.ObservedGeneration == mc.Generation &&
		meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
}

func (t *testbed) resize(ctx context.Context, i int, size int32) error {
	return t.patch(ctx, memcachedNumber(i), func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
}

// patch changes a Memcached without reading it first.
func (t *testbed) patch(ctx context.Context, mc *cachev1alpha1.Memcached, change func(*cachev1alpha1.Memcached)) error {
	before := &cachev1alpha1.Memcached{ObjectMeta: *mc.ObjectMeta.DeepCopy()}
	after := before.DeepCopy()
	change(after)
	return t.k8s.Patch(ctx, ptr.To(*after), client.MergeFrom(before))
}

func memcachedList() *cachev1alpha1.MemcachedList { return &cachev1alpha1.MemcachedList{} }
