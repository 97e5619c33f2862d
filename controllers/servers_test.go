// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// stable asks for a StatefulSet, whose nodes keep their names.
func stable(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet }

func serversOf(ctx context.Context, mc *cachev1alpha1.Memcached) *corev1.ConfigMap {
	GinkgoHelper()
	found := &corev1.ConfigMap{}
	Expect(user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Name + "-servers"}, found)).To(Succeed())
	return found
}

var _ = Describe("The ConfigMap with the servers of a Memcached", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	// listed returns a Memcached whose ConfigMap lists its servers.
	listed := func(ctx context.Context, size int32) *cachev1alpha1.Memcached {
		GinkgoHelper()
		mc := newMemcached(ctx, size, stable)
		o.step(ctx, mc, writeService, writeBudget, writeConfigMap, writeStatefulSet, writeStatus)
		o.step(ctx, mc)
		return mc
	}
	setSize := func(size int32) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size }
	}

	It("follows the size, with one write for each change", func(ctx SpecContext) {
		mc := listed(ctx, 2)
		Expect(status(ctx, mc).Servers).To(BeEmpty(), "until a pod exists")
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		host := "cache-nodes." + mc.Namespace + ".svc"
		servers := []string{"cache-0." + host + ":11211", "cache-1." + host + ":11211"}
		Expect(status(ctx, mc).Servers).To(Equal(servers))
		Expect(serversOf(ctx, mc).Data).To(Equal(map[string]string{
			"host": host, "port": "11211", "servers": servers[0] + "," + servers[1],
		}))
		By("growing when the new node has been ready once")
		change(ctx, mc, setSize(3))
		o.step(ctx, mc, writeStatefulSet, writeStatus)
		Expect(status(ctx, mc).Servers).To(HaveLen(2))
		rollOut(ctx, mc)
		o.step(ctx, mc, writeConfigMap, writeStatus)
		Expect(status(ctx, mc).Servers).To(HaveLen(3))
		Expect(serversOf(ctx, mc).Data["servers"]).To(HaveSuffix(",cache-2." + host + ":11211"))
		By("shrinking before the nodes have left")
		change(ctx, mc, setSize(1))
		o.step(ctx, mc, writeStatefulSet, writeConfigMap, writeStatus)
		Expect(serversOf(ctx, mc).Data["servers"]).To(Equal(servers[0]))
		By("staying, without servers, at size 0: pods that refer to it must start")
		change(ctx, mc, setSize(0))
		o.step(ctx, mc, writeStatefulSet, writeConfigMap, writeStatus)
		Expect(serversOf(ctx, mc).Data).To(HaveKeyWithValue("servers", ""))
		Expect(status(ctx, mc).Servers).To(BeEmpty())
		o.step(ctx, mc)
		newOperator(defaults).step(ctx, mc)
	})

	It("is corrected as a whole: others may add nothing to what applications read", func(ctx SpecContext) {
		mc := listed(ctx, 1)
		want := serversOf(ctx, mc).Data
		change(ctx, serversOf(ctx, mc), func(c *corev1.ConfigMap) {
			c.Data["servers"], c.Data["LD_PRELOAD"], c.BinaryData = "example.org:11211", "/theirs.so", map[string][]byte{"bytes": {1}}
		})
		Expect(o.try(ctx, mc, writeConfigMap)).To(Succeed())
		Expect(serversOf(ctx, mc).Data).To(Equal(want))
		Expect(serversOf(ctx, mc).BinaryData).To(BeEmpty())
		o.step(ctx, mc)
		By("creating it again")
		Expect(user.Delete(ctx, serversOf(ctx, mc))).To(Succeed())
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeConfigMap)).To(Succeed())
		By("finding it without the label that the cache selects by")
		change(ctx, serversOf(ctx, mc), func(c *corev1.ConfigMap) { c.Labels = nil })
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeConfigMap)).To(Succeed())
		Expect(serversOf(ctx, mc).Labels).NotTo(BeEmpty())
		By("adopting it")
		change(ctx, serversOf(ctx, mc), func(c *corev1.ConfigMap) { c.OwnerReferences = nil })
		Expect(o.try(ctx, mc, writeConfigMap)).To(Succeed())
		Expect(metav1.IsControlledBy(serversOf(ctx, mc), mc)).To(BeTrue())
	})
})
