// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestMoveSeenByALaggingCache moves the nodes to a StatefulSet and back. Just before each change of a size, and at the end, it starts
// processes whose caches show earlier versions of the two workloads. Such a process must take only steps that it would also take with a
// current cache. Any other step would stop nodes that the user wants, with their keys.
func TestMoveSeenByALaggingCache(t *testing.T) {
	m := newMoving(t)
	m.moments = m.moments[len(m.moments)-1:]
	m.moveTo(cachev1alpha1.WorkloadStatefulSet)
	m.until(func(now sizes) bool { return now.deployment == 0 })
	m.moveTo(cachev1alpha1.WorkloadDeployment)
	m.until(func(now sizes) bool { return now == sizes{2, -1} })
	for i := range m.moments {
		if i+1 == len(m.moments) || m.moments[i].sizes() != m.moments[i+1].sizes() {
			checkLagging(t, m.moments[:i+1])
		}
	}
}

// checkLagging starts processes while the API server holds the objects of the last of these moments. Their caches hold the workloads of
// earlier moments. Each size must stay, or become what a process with a current cache would write.
func checkLagging(t *testing.T, moments []moment) {
	t.Helper()
	now := moments[len(moments)-1]
	before, right, start := now.sizes(), sizesAfter(t, now, now.server(), now.server()), moments[0].server()
	for i, deployment := range versions[*appsv1.Deployment](moments) {
		for j, set := range versions[*appsv1.StatefulSet](moments) {
			// The cache holds the pods of the later of the two moments. The process writes the names of these pods into the status. If the
			// status names a pod of a StatefulSet and the cache lacks this StatefulSet, the process reads the StatefulSet from the API server.
			pods := moments[max(i, j)]
			cached := slices.Concat(
				now.without(&appsv1.Deployment{}, &appsv1.StatefulSet{}, &corev1.Pod{}), deployment, set, pods.only(&corev1.Pod{}),
			).server()
			got := sizesAfter(t, now, start, cached, cached) // start is a cache that holds the first moment
			undone := got.deployment != before.deployment && got.deployment != right.deployment ||
				got.set != before.set && got.set != right.set
			if undone {
				t.Errorf("moment %d seen with the Deployment of %d and the StatefulSet of %d: the sizes change from %+v to %+v, want %+v",
					len(moments)-1, i, j, before, got, right)
			}
		}
	}
}

// sizesAfter returns the sizes of the workloads after a new process has reconciled once with each of these caches.
func sizesAfter(t *testing.T, now moment, caches ...client.Reader) sizes {
	t.Helper()
	server := now.server()
	var cache client.Reader
	operator := process(server, clocktesting.NewFakePassiveClock(time.Now()), func() client.Reader { return cache })
	for _, cache = range caches {
		// The reconcile may fail, as long as it does no harm.
		_, _ = operator.Reconcile(t.Context(), reconcile.Request{NamespacedName: movingName})
	}
	return momentOf(t, server).sizes()
}

// versions returns the different versions of the object of type T. The key is the index of the first moment that has the version.
func versions[T client.Object](moments []moment) map[int]moment {
	var object T
	found, last := map[int]moment{}, moment{nil}
	for i := range moments {
		if now := moments[i].only(object); !reflect.DeepEqual(last, now) {
			found[i], last = now, now
		}
	}
	return found
}

// sizes are the numbers of nodes that the two workloads ask for, -1 for a workload that does not exist.
type sizes struct{ deployment, set int32 }

func (m moment) sizes() sizes {
	found := sizes{-1, -1}
	for _, object := range m {
		switch w := object.(type) {
		case *appsv1.Deployment:
			found.deployment = *w.Spec.Replicas
		case *appsv1.StatefulSet:
			found.set = *w.Spec.Replicas
		}
	}
	return found
}

func (m moment) only(types ...client.Object) moment { return m.filter(true, types) }

func (m moment) without(types ...client.Object) moment { return m.filter(false, types) }

func (m moment) filter(keep bool, types []client.Object) moment {
	return slices.DeleteFunc(slices.Clone(m), func(object client.Object) bool {
		return keep != slices.ContainsFunc(types, func(other client.Object) bool { return reflect.TypeOf(object) == reflect.TypeOf(other) })
	})
}
