// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// Node i of both copies holds the same items, and two proxies serve clients from both. So clients notice nothing when a node ends.
var _ = Describe("A cache with two copies", Label(onLocalCluster), func() {
	It("loses no hit with a node, nor then with the same node of the other copy while a proxy ends", SpecTimeout(9*time.Minute), func(ctx SpecContext) {
		cacheDNS(ctx)
		c := newCopies(ctx)
		for _, event := range []struct {
			name string
			do   func(*corev1.Pod)
		}{
			{"deleted without notice", func(pod *corev1.Pod) { Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed()) }},
			{"killed for its memory", func(pod *corev1.Pod) { memcachedOf(pod).signal(syscall.SIGKILL) }},
		} {
			clients := c.startOwners(ctx)
			By("a node is " + event.name)
			c.replace(ctx, c.mc.Name+"-0", event.do)
			By("then the same node of the other copy, and memcached of a proxy")
			c.replace(ctx, c.mc.Name+"-b-0", func(pod *corev1.Pod) {
				event.do(pod)
				memcachedOf(&proxiesOf(ctx, c.mc)[0]).signal(syscall.SIGKILL)
			})
			clients.mustHaveNoticedNothing(ctx, event.name, int64(ownersPerProxy*len(clients.proxies)))
		}
	})

	It("loses no hit when all of its nodes are drained", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		c := newCopies(ctx)
		before := k8s.Pods(ctx, c.mc)
		clients := c.startOwners(ctx)
		node := before[0].Spec.NodeName
		DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "uncordon", node) })
		drain := clustertest.Must(gexec.Start(exec.CommandContext(ctx, "kubectl", "drain", node,
			"--pod-selector=app.kubernetes.io/name=memcached,app.kubernetes.io/instance="+c.mc.Name,
			"--ignore-daemonsets", "--delete-emptydir-data", "--timeout=6m"), GinkgoWriter, GinkgoWriter))
		DeferCleanup(func(ctx SpecContext) { Eventually(ctx, drain.Kill()).Should(gexec.Exit()) })
		Eventually(ctx, func(g Gomega) { // new pods need this cluster node: it is uncordoned as soon as the drain has begun
			found := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
			g.Expect(k8s.Reread(ctx, found)).To(Succeed())
			g.Expect(found.Spec.Unschedulable).To(BeTrue())
		}).WithPolling(50 * time.Millisecond).Should(Succeed())
		k8s.Kubectl(ctx, "uncordon", node)
		Eventually(ctx, drain).WithTimeout(6 * time.Minute).Should(gexec.Exit(0))
		c.untilReady(ctx)
		clients.mustHaveNoticedNothing(ctx, "a drain", 0)
		for _, pod := range k8s.Pods(ctx, c.mc) {
			for i := range before {
				Expect(pod.UID).NotTo(Equal(before[i].UID), pod.Name)
			}
		}
	})

	It("loses no hit when one kubectl apply changes the image, the configuration and the memory", SpecTimeout(9*time.Minute), func(ctx SpecContext) {
		c := newCopies(ctx)
		before := k8s.Incarnations(ctx, c.mc)
		clients := c.startOwners(ctx)
		k8s.Change(ctx, c.mc, func() {
			c.mc.Spec.Image, c.mc.Spec.Config.Threads = strings.TrimPrefix(c.mc.Status.Image, "docker.io/library/"), 2
			c.mc.Spec.Config.Memory = ptr.To(resource.MustParse("96Mi"))
		})
		Eventually(ctx, func(g Gomega) {
			for name, incarnation := range k8s.Incarnations(ctx, c.mc) {
				g.Expect(incarnation.Pod).NotTo(Equal(before[name].Pod), name)
			}
		}).WithTimeout(4 * time.Minute).Should(Succeed())
		memcachedOf(&proxiesOf(ctx, c.mc)[0]).signal(syscall.SIGKILL)
		c.untilReady(ctx)
		clients.proxies = proxiesOf(ctx, c.mc) // new ones, for the image is also theirs: a client may have lost both old ones, then the killed one
		clients.mustHaveNoticedNothing(ctx, "changes of all nodes", int64(3*ownersPerProxy*len(clients.proxies)))
	})
})

// copies is a cache with two copies of two nodes each, and two proxies.
type copies struct{ mc *cachev1alpha1.Memcached }

func newCopies(ctx context.Context) *copies {
	GinkgoHelper()
	c := &copies{}
	c.mc = k8s.CreateMemcached(ctx, k8s.NewNamespace(ctx), 2, clustertest.Named("copies"),
		clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet), onOneHost, func(mc *cachev1alpha1.Memcached) { mc.Spec.Copies = 2 })
	c.untilReady(ctx)
	return c
}

// onOneHost lets nodes share a cluster node. Otherwise, copies need as many cluster nodes as there are copies.
func onOneHost(mc *cachev1alpha1.Memcached) {
	spread := apart(mc).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	mc.Spec.Scheduling.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: spread}},
	}}
}

// untilReady waits until the cache is Ready. Its timeout is long enough to replace all four nodes, one after another.
func (c *copies) untilReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		ready := k8s.Condition(ctx, g, c.mc, cachev1alpha1.ConditionReady)
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
	}).WithTimeout(8 * time.Minute).Should(Succeed())
}

// replace calls the function do, which ends the pod or the container of a node. It waits until the new pod, or the pod with the
// restarted container, is ready.
func (c *copies) replace(ctx context.Context, name string, do func(*corev1.Pod)) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.mc.Namespace, Name: name}}
	Expect(k8s.Reread(ctx, pod)).To(Succeed())
	before := clustertest.Incarnations([]corev1.Pod{*pod})
	do(pod)
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Reread(ctx, pod)).To(Succeed())
		g.Expect(clustertest.Incarnations([]corev1.Pod{*pod})).NotTo(Equal(before))
		g.Expect(clustertest.Ready(pod)).To(BeTrue())
	}).WithTimeout(3 * time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
}

// cacheDNS lets the cluster's DNS server cache its answers for 30 s, as kubeadm configures it by default. The end of the spec undoes this.
func cacheDNS(ctx context.Context) {
	GinkgoHelper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}
	Expect(k8s.Reread(ctx, config)).To(Succeed())
	former := config.Data["Corefile"]
	use := func(ctx context.Context, corefile string) {
		k8s.Change(ctx, config, func() { config.Data["Corefile"] = corefile })
		k8s.Kubectl(ctx, "rollout", "restart", "deployment/coredns", "--namespace", config.Namespace)
		k8s.Kubectl(ctx, "rollout", "status", "deployment/coredns", "--namespace", config.Namespace, "--timeout=1m")
	}
	DeferCleanup(func(ctx SpecContext) { use(ctx, former) })
	use(ctx, strings.Replace(strings.Replace(former, "ttl 5", "ttl 30", 1), "errors\n", "errors\n    cache 30\n", 1))
}
