// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// memcachedPort is where memcached serves.
const memcachedPort = 11211

// newNamespace makes a namespace for a story, in which Pod Security admits only restricted pods. It goes with the spec,
// and if that has failed, what explains the failure is printed before.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			explain(ctx, namespace.Name)
		}
		Expect(k8s.Delete(ctx, namespace)).To(Succeed())
	})
	return namespace.Name
}

// newMemcached creates a Memcached with that many nodes and returns it when it is Ready. The edits are made before.
func newMemcached(ctx context.Context, namespace string, size int32, edits ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := createMemcached(ctx, namespace, size, edits...)
	untilReady(ctx, mc)
	return mc
}

// createMemcached does the same and waits for nothing.
func createMemcached(ctx context.Context, namespace string, size int32, edits ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, edit := range edits {
		edit(mc)
	}
	Expect(k8s.Create(ctx, mc)).To(Succeed())
	return mc
}

// change edits the spec or the metadata of a Memcached and leaves the rest as it is in the cluster.
func change(ctx context.Context, mc *cachev1alpha1.Memcached, edit func(*cachev1alpha1.Memcached)) {
	GinkgoHelper()
	before := mc.DeepCopy()
	edit(mc)
	Expect(k8s.Patch(ctx, mc, client.MergeFrom(before))).To(Succeed())
}

// untilReady waits until the operator has seen the latest spec and says Ready, and reads the resource anew.
func untilReady(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
			return err
		}
		ready := apimeta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != mc.Generation || ready.Status != metav1.ConditionTrue {
			return fmt.Errorf("%s is not Ready at generation %d: %+v", mc.Name, mc.Generation, ready)
		}
		return nil
	}).Should(Succeed())
}

// podsOf returns the pods of a Memcached that are not about to end, sorted by name.
func podsOf(ctx context.Context, mc *cachev1alpha1.Memcached) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": mc.Name,
	})).To(Succeed())
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// serversOf returns the nodes in the status of a Memcached as a client uses them: by their names on the ring, and at the
// addresses of their pods.
func serversOf(ctx context.Context, mc *cachev1alpha1.Memcached) []traffic.Server {
	GinkgoHelper()
	var servers []traffic.Server
	for _, name := range mc.Status.Nodes {
		var pod corev1.Pod
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, &pod)).To(Succeed())
		servers = append(servers, traffic.Server{Name: name, Address: addressOf(&pod)})
	}
	return servers
}

func addressOf(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(memcachedPort))
}

// newClient returns a client of the servers, which is closed when the spec ends.
func newClient(servers []traffic.Server) *traffic.Client {
	GinkgoHelper()
	ring, err := traffic.NewRing(servers...)
	Expect(err).NotTo(HaveOccurred())
	c := traffic.NewClient(ring, dial)
	DeferCleanup(c.Close)
	return c
}
