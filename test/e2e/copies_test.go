// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// Two caches hold the same items, and two proxies serve clients from both caches. So clients notice nothing when a node ends.
var _ = Describe("Two copies of a cache", Label(onLocalCluster), func() {
	It("lose no hit with a node, nor then with its twin while a proxy ends", SpecTimeout(9*time.Minute), func(ctx SpecContext) {
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
			c.replace(ctx, c.caches[0], 0, event.do)
			By("then its twin, and memcached of a proxy")
			c.replace(ctx, c.caches[1], 0, func(pod *corev1.Pod) {
				event.do(pod)
				memcachedOf(&proxiesOf(ctx, c.front)[0]).signal(syscall.SIGKILL)
			})
			clients.mustHaveNoticedNothing(ctx, event.name, int64(ownersPerProxy*len(clients.proxies)))
		}
	})

	It("lose no hit when all of their nodes are drained", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		c := newCopies(ctx)
		before := c.pods(ctx)
		clients := c.startOwners(ctx)
		node := before[0].Spec.NodeName
		DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "uncordon", node) })
		drain := clustertest.Must(gexec.Start(exec.CommandContext(ctx, "kubectl", "drain", node, "--pod-selector=copies="+c.namespace,
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
		for _, pod := range c.pods(ctx) {
			for i := range before {
				Expect(pod.UID).NotTo(Equal(before[i].UID), pod.Name)
			}
		}
	})

	It("lose no hit when one kubectl apply changes the image, the configuration and the memory of both", SpecTimeout(9*time.Minute), func(ctx SpecContext) {
		c := newCopies(ctx)
		before := clustertest.Incarnations(c.pods(ctx))
		clients := c.startOwners(ctx)
		for _, mc := range c.caches {
			k8s.Change(ctx, mc, func() {
				mc.Spec.Image, mc.Spec.Config.Threads = strings.TrimPrefix(mc.Status.Image, "docker.io/library/"), 2
				mc.Spec.Config.Memory = ptr.To(resource.MustParse("96Mi"))
			})
		}
		Eventually(ctx, func(g Gomega) {
			for name, incarnation := range clustertest.Incarnations(c.pods(ctx)) {
				g.Expect(incarnation.Pod).NotTo(Equal(before[name].Pod), name)
			}
		}).WithTimeout(4 * time.Minute).Should(Succeed())
		memcachedOf(&proxiesOf(ctx, c.front)[0]).signal(syscall.SIGKILL)
		c.untilReady(ctx)
		clients.mustHaveNoticedNothing(ctx, "changes of both", int64(ownersPerProxy*len(clients.proxies)))
	})
})

// copies are two caches with the same items, and a MemcachedProxy for both. Each of the three has two pods. One
// PodDisruptionBudget covers the nodes of both caches.
type copies struct {
	namespace string
	caches    []*cachev1alpha1.Memcached
	front     *cachev1alpha1.MemcachedProxy
}

func newCopies(ctx context.Context) *copies {
	GinkgoHelper()
	c := &copies{namespace: k8s.NewNamespace(ctx)}
	label := map[string]string{"copies": c.namespace}
	Expect(k8s.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "copies"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: label},
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	})).To(Succeed())
	for _, names := range [][2]string{{"first", "second"}, {"second", "first"}} {
		c.caches = append(c.caches, k8s.CreateMemcached(ctx, c.namespace, 2, clustertest.Named(names[0]), func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Workload, mc.Spec.Config.Dump = cachev1alpha1.WorkloadStatefulSet, ptr.To(true)
			mc.Spec.FillFrom = &cachev1alpha1.MemcachedFillFrom{Name: names[1]}
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"copies": cachev1alpha1.LabelValue(c.namespace)}
			mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false)
		}))
	}
	c.untilReady(ctx)
	c.front = newProxy(ctx, c.caches...)
	return c
}

// untilReady waits until both caches are Ready. Its timeout is long enough to replace all four nodes, one after another.
func (c *copies) untilReady(ctx context.Context) {
	GinkgoHelper()
	for _, mc := range c.caches {
		Eventually(ctx, func(g Gomega) {
			ready := k8s.Condition(ctx, g, mc, cachev1alpha1.ConditionReady)
			g.Expect(ready.ObservedGeneration).To(Equal(mc.Generation))
			g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
		}).WithTimeout(8 * time.Minute).Should(Succeed())
	}
}

func (c *copies) pods(ctx context.Context) (pods []corev1.Pod) {
	GinkgoHelper()
	for _, mc := range c.caches {
		pods = append(pods, k8s.Pods(ctx, mc)...)
	}
	return pods
}

// replace calls the function do, which ends the pod or the container of a node. It waits until the new pod, or the pod with the
// restarted container, is ready.
func (*copies) replace(ctx context.Context, mc *cachev1alpha1.Memcached, ordinal int, do func(*corev1.Pod)) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: fmt.Sprintf("%s-%d", mc.Name, ordinal)}}
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
