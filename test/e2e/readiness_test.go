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
)

// readiness follows how many nodes of a Memcached are ready and not about to end. It watches, so it misses nothing.
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
	nodes := []client.ListOption{client.InNamespace(mc.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": mc.Name,
	}}
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, nodes...)).To(Succeed())
	for i := range pods.Items {
		r.note(watch.Added, &pods.Items[i])
	}
	r.least = len(r.ready)
	// From the list on, so that no change between the two is missed.
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: pods.ResourceVersion}}
	changes, err := k8s.Watch(context.WithoutCancel(ctx), &corev1.PodList{}, append(nodes, since)...)
	Expect(err).NotTo(HaveOccurred())
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
	if change != watch.Deleted && pod.DeletionTimestamp == nil && isReady(pod) {
		r.ready[pod.UID] = true
	} else {
		delete(r.ready, pod.UID)
	}
	r.least = min(r.least, len(r.ready))
}

// fewest returns the smallest number of nodes that were ready at the same time until now.
func (r *readiness) fewest() int {
	GinkgoHelper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	Expect(r.broken).NotTo(HaveOccurred())
	return r.least
}
