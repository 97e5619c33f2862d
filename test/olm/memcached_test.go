// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"fmt"
	"net"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// memcachedPort is where memcached serves.
const memcachedPort = 11211

// newNamespace makes a namespace for a story, in which Pod Security admits pods of a level and better. It goes with the
// story, and if that has failed, what explains the failure is printed before.
func newNamespace(ctx context.Context, podSecurity string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "olm-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": podSecurity},
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

// explain prints what a person would look at after a failure in a namespace.
func explain(ctx context.Context, namespace string) {
	for _, command := range [][]string{
		{"get", "--namespace", namespace, "memcached,deployment,pod,job,subscription,installplan,clusterserviceversion,operatorgroup", "-o", "wide"},
		{"describe", "--namespace", namespace, "subscription,clusterserviceversion,memcached,pod"},
		{"events", "--namespace", namespace},
		{"logs", "--namespace", namespace, "--selector", "control-plane=controller-manager", "--prefix", "--tail=100"},
		{"get", "--namespace", olmNamespace, "catalogsource,job,pod", "-o", "wide"},
		{"logs", "--namespace", olmNamespace, "deployment/catalog-operator", "--tail=50"},
		{"logs", "--namespace", olmNamespace, "deployment/olm-operator", "--tail=50"},
	} {
		// What fails has printed why.
		_, _ = run(ctx, repository, "kubectl", command...)
	}
}

// createMemcached creates a Memcached.
func createMemcached(ctx context.Context, namespace string, size int32) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	Expect(k8s.Create(ctx, mc)).To(Succeed())
	return mc
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

// newClient returns a client of the nodes of a Memcached, which is closed when the story ends.
func newClient(ctx context.Context, mc *cachev1alpha1.Memcached) *traffic.Client {
	GinkgoHelper()
	var servers []traffic.Server
	for _, name := range mc.Status.Nodes {
		var pod corev1.Pod
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, &pod)).To(Succeed())
		servers = append(servers, traffic.Server{Name: name, Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(memcachedPort))})
	}
	ring, err := traffic.NewRing(servers...)
	Expect(err).NotTo(HaveOccurred())
	// The tests run in the network of the pods.
	c := traffic.NewClient(ring, nil)
	DeferCleanup(c.Close)
	return c
}

// mustServe fails unless real memcached stores keys on the nodes of a Memcached, and gives all of them back.
func mustServe(ctx context.Context, mc *cachev1alpha1.Memcached, keys int) {
	GinkgoHelper()
	cache := newClient(ctx, mc)
	Expect(cache.Write(ctx, keys, 100)).To(Succeed())
	Expect(cache.Read(ctx, keys)).To(Equal(traffic.Hits{Keys: keys, Hits: keys}))
}

// restarts returns the nodes of a Memcached by their pods, with how often memcached was restarted in each.
func restarts(ctx context.Context, mc *cachev1alpha1.Memcached) map[types.UID]int32 {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": mc.Name,
	})).To(Succeed())
	counts := map[types.UID]int32{}
	for _, pod := range pods.Items {
		counts[pod.UID] = 0
		for _, container := range pod.Status.ContainerStatuses {
			counts[pod.UID] += container.RestartCount
		}
	}
	return counts
}
