// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// readiness counts the nodes of a Memcached that are ready and not terminating. It watches, so it misses nothing.
type readiness struct {
	mutex  sync.Mutex
	ready  map[types.UID]bool
	least  int
	broken error
}

// followReadiness follows the nodes of a Memcached until the spec ends.
func followReadiness(ctx context.Context, mc *cachev1alpha1.Memcached) *readiness {
	GinkgoHelper()
	r := &readiness{ready: map[types.UID]bool{}}
	nodes := clustertest.PodsOf(mc)
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, nodes...)).To(Succeed())
	for i := range pods.Items {
		r.note(watch.Added, &pods.Items[i])
	}
	r.least = len(r.ready)
	// Starts at the list, so that no change between the two is missed.
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: pods.ResourceVersion}}
	changes := clustertest.Must(k8s.Watch(context.WithoutCancel(ctx), &corev1.PodList{}, append(nodes, since)...))
	DeferCleanup(changes.Stop)
	go r.follow(changes.ResultChan())
	return r
}

func (r *readiness) follow(changes <-chan watch.Event) {
	for change := range changes {
		if pod, ok := change.Object.(*corev1.Pod); ok {
			r.note(change.Type, pod)
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.broken = errors.New("the watch of the pods has ended")
}

func (r *readiness) note(change watch.EventType, pod *corev1.Pod) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if change != watch.Deleted && pod.DeletionTimestamp == nil && clustertest.Ready(pod) {
		r.ready[pod.UID] = true
	} else {
		delete(r.ready, pod.UID)
	}
	r.least = min(r.least, len(r.ready))
}

// fewest returns the smallest number of nodes that were ready at the same time so far.
func (r *readiness) fewest() int {
	GinkgoHelper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	Expect(r.broken).NotTo(HaveOccurred())
	return r.least
}
