// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// These specs check what users of either workload rely on, from the creation to the deletion of a Memcached. One spec needs a cluster
// with only one cluster node.
var _ = Describe("A Memcached with settings of every kind", Label(onLocalCluster), func() {
	for _, workload := range workloads {
		Context("whose nodes a "+string(workload)+" runs", Ordered, func() {
			var mc *cachev1alpha1.Memcached
			read := func(ctx context.Context, object client.Object) client.Object {
				GinkgoHelper()
				Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), object)).To(Succeed())
				return object
			}
			annotate := func(ctx context.Context, annotations map[string]cachev1alpha1.AnnotationValue) {
				GinkgoHelper()
				k8s.Change(ctx, mc, func() { mc.Spec.Service.Annotations = annotations })
				k8s.UntilReady(ctx, mc)
			}

			BeforeAll(func(ctx SpecContext) {
				mc = k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1, clustertest.RunBy(workload), leavesQuickly, withSettings)
			}, NodeTimeout(2*time.Minute))

			It("serves", SpecTimeout(time.Minute), func(ctx SpecContext) { k8s.MustServe(ctx, mc, 100) })

			It("controls every object that it needs", SpecTimeout(time.Minute), func(ctx SpecContext) {
				policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
				for _, object := range append(objectsOf(mc), policy) {
					Expect(k8s.Reread(ctx, object)).To(Succeed())
					Expect(metav1.IsControlledBy(object, mc)).To(BeTrue(), "%T", object)
					Expect(object.GetOwnerReferences()).To(HaveLen(1), "%T", object)
				}
				if workload == cachev1alpha1.WorkloadStatefulSet {
					Expect(metav1.IsControlledBy(&k8s.Pods(ctx, mc)[0], read(ctx, workloadOf(mc)))).To(BeTrue())
				}
			})

			It("has the resources and options of the spec, before and after a change", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
				mustHave := func(memory, threads string) {
					GinkgoHelper()
					node := k8s.ConnectTo(ctx, k8s.Servers(ctx, mc)[0].Address)
					Expect(node.Stats(ctx, "settings")).To(And(HaveKeyWithValue("maxbytes", memory), HaveKeyWithValue("num_threads", threads)))
				}
				resources := k8s.Pods(ctx, mc)[0].Spec.Containers[0].Resources
				Expect(resources.Requests.Cpu().String()).To(Equal("20m"))
				Expect(resources.Limits.Memory()).To(Equal(resources.Requests.Memory()), "computed")
				mustHave("67108864", "1")
				k8s.Change(ctx, mc, func() { mc.Spec.Config.Memory, mc.Spec.Config.Threads = ptr.To(resource.MustParse("96Mi")), 2 })
				k8s.UntilReady(ctx, mc)
				mustHave("100663296", "2")
			})

			It("has the annotations and the budget of the spec, whatever they become", SpecTimeout(time.Minute), func(ctx SpecContext) {
				pods := k8s.Incarnations(ctx, mc)
				Expect(read(ctx, &corev1.Service{}).GetAnnotations()).To(HaveKeyWithValue("example.com/zone", "a"))
				annotate(ctx, map[string]cachev1alpha1.AnnotationValue{"example.com/zone": "b", "example.com/owner": "shop"})
				Expect(read(ctx, &corev1.Service{}).GetAnnotations()).To(And(
					HaveKeyWithValue("example.com/zone", "b"), HaveKeyWithValue("example.com/owner", "shop")))
				annotate(ctx, nil)
				Expect(read(ctx, &corev1.Service{}).GetAnnotations()).NotTo(HaveKey(HavePrefix("example.com/")))

				Expect(read(ctx, &policyv1.PodDisruptionBudget{})).To(HaveField("Spec.MinAvailable", HaveValue(Equal(intstr.FromInt32(1)))))
				k8s.Change(ctx, mc, func() {
					budget := &mc.Spec.PodDisruptionBudget
					budget.MinAvailable, budget.MaxUnavailable = nil, ptr.To(intstr.FromString("50%"))
				})
				k8s.UntilReady(ctx, mc)
				Expect(read(ctx, &policyv1.PodDisruptionBudget{})).To(And(HaveField("Spec.MinAvailable", BeNil()),
					HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromString("50%"))))))
				Expect(k8s.Incarnations(ctx, mc)).To(Equal(pods), "pods and restarts")
			})

			It("can have no nodes: the Service and the budget stay", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
				children := childrenOf(ctx, mc)
				scale(ctx, mc, 0)
				k8s.UntilReady(ctx, mc)
				Eventually(ctx, k8s.Incarnations).WithArguments(mc).Should(BeEmpty())
				Eventually(ctx, k8s.Object(mc)).Should(HaveField("Status", And(HaveField("Nodes", BeEmpty()), HaveField("Servers", BeEmpty()))))
				for i, now := range childrenOf(ctx, mc) {
					Expect(now.uid).To(Equal(children[i].uid), now.kind)
				}
			})

			It("never has two nodes on a cluster node if the spec forbids it", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
				k8s.Change(ctx, mc, func() { mc.Spec.Size, mc.Spec.Scheduling.Affinity = 2, apart(mc) })
				k8s.UntilCondition(ctx, mc, cachev1alpha1.ConditionDegraded, And(
					HaveField("Reason", cachev1alpha1.ReasonUnschedulable), HaveField("Message", ContainSubstring("anti-affinity"))))
				k8s.UntilCondition(ctx, mc, cachev1alpha1.ConditionAvailable, HaveField("Reason", cachev1alpha1.ReasonMinimumNodesReady))
				scale(ctx, mc, 1)
				k8s.UntilReady(ctx, mc)
				k8s.MustServe(ctx, mc, 100)
			})

			It("leaves nothing behind", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
				Expect(k8s.Delete(ctx, mc)).To(Succeed())
				Eventually(ctx, func() []string { return remains(ctx, mc.Namespace) }).Should(BeEmpty())
			})
		})
	}
})

func withSettings(mc *cachev1alpha1.Memcached) {
	mc.Spec.Config.Threads = 1
	mc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}
	mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/zone": "a"}
	mc.Spec.PodDisruptionBudget.MinAvailable = ptr.To(intstr.FromInt32(1))
	mc.Spec.NetworkPolicy.Enabled = ptr.To(true)
}

// apart returns an affinity that keeps the nodes of a Memcached on different cluster nodes.
func apart(mc *cachev1alpha1.Memcached) *cachev1alpha1.Affinity {
	nodes := map[string]cachev1alpha1.LabelValue{"app.kubernetes.io/instance": cachev1alpha1.LabelValue(mc.Name)}
	return &cachev1alpha1.Affinity{PodAntiAffinity: &cachev1alpha1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []cachev1alpha1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &cachev1alpha1.LabelSelector{MatchLabels: nodes},
		}},
	}}
}
