// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// The tests count writes exactly, because a reconcile without a change must write nothing.
var _ = Describe("A Memcached", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	It("converges with one write to each child and two status writes, and then there are none", func(ctx SpecContext) {
		mc := newMemcached(ctx, 3)

		By("creating the children and saying so")
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
		Expect(o.result.RequeueAfter).To(Equal(30*time.Second), "a creation that a watch misses must be noticed")
		expectConditions(ctx, mc, "False/Creating", "Unknown/Creating", "True/Creating", "False/AsExpected")
		Expect(o.events()).To(BeEmpty(), "the author of a new Memcached knows that its nodes are started")

		By("having nothing to do while nothing happens")
		o.step(ctx, mc)
		Expect(o.result.RequeueAfter).To(BeZero())

		By("telling when the nodes are ready")
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		Expect(o.events()).To(ConsistOf("Normal Ready 3 of 3 nodes are ready"))
		Expect(status(ctx, mc)).To(And(
			HaveField("Nodes", Equal([]string{"cache-rev1-0", "cache-rev1-1", "cache-rev1-2"})),
			HaveField("Replicas", Equal(int32(3))),
			HaveField("ReadyReplicas", Equal(int32(3))),
			HaveField("UpdatedReplicas", Equal(int32(3))),
			HaveField("Image", Equal("memcached:1.6.45")),
			HaveField("ServiceName", Equal("cache-nodes")),
			HaveField("Selector", Equal("app.kubernetes.io/instance=cache,"+
				"app.kubernetes.io/managed-by=memcached-operator,app.kubernetes.io/name=memcached")),
		))

		By("having nothing to do any more, also in another process")
		o.step(ctx, mc)
		newOperator(defaults).step(ctx, mc)
		Expect(o.events()).To(BeEmpty())
	})

	It("has no event for a status that was not written", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		gone := apierrors.NewNotFound(schema.GroupResource{}, mc.Name)
		o.refuse = func(status bool) error {
			if status {
				return gone
			}
			return nil
		}
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
		o.step(ctx, mc, writeDeployment)
		Expect(o.events()).To(BeEmpty())
	})

	It("warns when nodes fail", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		removePods(ctx, mc)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/NotReady", "False/NotReady", "False/AsExpected", "False/AsExpected")
		Expect(o.events()).To(ConsistOf("Warning NotReady 0 of 1 nodes are ready, 1 are needed"))
	})

	It("is scaled through the scale subresource, and to nothing", func(ctx SpecContext) {
		mc := converged(ctx, o, 1)
		scale := &autoscalingv1.Scale{}
		Expect(user.SubResource("scale").Get(ctx, mc, scale)).To(Succeed())
		Expect(scale.Status).To(And(HaveField("Replicas", Equal(int32(1))), HaveField("Selector", ContainSubstring("instance=cache"))))
		scale.Spec.Replicas = 0
		Expect(user.SubResource("scale").Update(ctx, mc, client.WithSubResourceBody(scale))).To(Succeed())
		o.step(ctx, mc, writeDeployment, writeStatus)
		rollOut(ctx, mc)
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
		Expect(status(ctx, mc).Nodes).To(BeEmpty())
		live(ctx, mc, &corev1.Service{})
		live(ctx, mc, &policyv1.PodDisruptionBudget{})
	})

	It("loses its PodDisruptionBudget when that is disabled, and gets it back", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) })
		o.step(ctx, mc, deleteBudget, writeStatus)
		o.step(ctx, mc)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(true) })
		o.step(ctx, mc, writeBudget, writeStatus)
	})

	// The changed port keeps its name. An apply would add the operator's port, and the API server refuses two ports of one name.
	It("heals a port whose number or protocol somebody changed with one write", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		for _, change := range []func(*corev1.ServicePort){
			func(p *corev1.ServicePort) { p.Port = 80 },
			func(p *corev1.ServicePort) { p.Protocol = corev1.ProtocolUDP },
		} {
			before := live(ctx, mc, &corev1.Service{}).Spec.Ports
			service := live(ctx, mc, &corev1.Service{})
			change(&service.Spec.Ports[0])
			Expect(user.Update(ctx, service)).To(Succeed())
			o.corrects(ctx, mc, writeService)
			Expect(live(ctx, mc, &corev1.Service{}).Spec.Ports).To(Equal(before))
			o.step(ctx, mc)
		}
		deployment := live(ctx, mc, &appsv1.Deployment{})
		deployment.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 80
		Expect(user.Update(ctx, deployment)).To(Succeed())
		o.corrects(ctx, mc, writeDeployment, writeStatus)
		Expect(live(ctx, mc, deployment).Spec.Template.Spec.Containers[0].Ports).
			To(ConsistOf(HaveField("ContainerPort", BeEquivalentTo(11211))))
	})

	It("has nothing to do when somebody annotates it or adds to its children", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Annotations = map[string]string{"note": "hello"} })
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { d.Annotations["note"] = "hello" })
		report(ctx, mc, func(*appsv1.DeploymentStatus) {}) // a new annotation also changes the generation of a Deployment
		o.step(ctx, mc)
	})

	It("is deleted without a write", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		Expect(user.Delete(ctx, mc)).To(Succeed())
		o.step(ctx, mc)
	})

	It("tells the truth while it is deleted in the foreground, and creates nothing", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		Expect(user.Delete(ctx, mc, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Expect(user.Delete(ctx, live(ctx, mc, &corev1.Service{}))).To(Succeed())
		removePods(ctx, mc)
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		expectConditions(ctx, mc, "False/WaitingForDeletion", "False/NotReady", "True/WaitingForDeletion", "False/AsExpected")
		o.step(ctx, mc)
	})

	It("is not rolled by an upgrade of the operator, and adopts the newer default image with the next rollout", func(ctx SpecContext) {
		mc := converged(ctx, o, 3)
		before := live(ctx, mc, &appsv1.Deployment{})
		o = newOperator(memcached.Options{DefaultImage: "memcached:1.6.46"})
		o.step(ctx, mc, writeStatus)
		Expect(live(ctx, mc, &appsv1.Deployment{})).To(Equal(before))
		expectConditions(ctx, mc, "True/AllNodesReady", "True/AsExpected", "False/Outdated", "False/AsExpected")
		Expect(o.events()).To(ConsistOf(ContainSubstring("Normal Outdated The operator's defaults are now the image memcached:1.6.46; the next rollout adopts them. " +
			"To roll out now: kubectl patch memcached " + mc.Name + " -n " + mc.Namespace + ` --type=merge -p '{"spec":{"restartedAt":"'$(date -u +%FT%TZ)'"}}'`)))
		o.step(ctx, mc)

		By("scaling, which replaces no pod")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 4 })
		o.step(ctx, mc, writeDeployment, writeStatus)
		Expect(status(ctx, mc).Image).To(Equal("memcached:1.6.45"))

		By("changing the configuration, which does")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(false) })
		o.step(ctx, mc, writeDeployment, writeStatus)
		Expect(status(ctx, mc).Image).To(Equal("memcached:1.6.46"))
	})
})

// The API server rounds quantities up. If the operator did not round them first, each reconcile would find a difference.
var _ = DescribeTable("Resources that the API server rounds are written once",
	func(ctx SpecContext, name corev1.ResourceName, given, stored string) {
		list := corev1.ResourceList{name: resource.MustParse(given)}
		mc := newMemcached(ctx, 1, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Resources = cachev1alpha1.MemcachedResources{Limits: list, Requests: list}
		})
		o := newOperator(defaults)
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
		o.step(ctx, mc)

		resources := live(ctx, mc, &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Resources
		for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
			quantity := list[name]
			Expect(quantity.String()).To(Equal(stored))
		}
	},
	Entry(nil, corev1.ResourceCPU, "100500u", "101m"),
	Entry(nil, corev1.ResourceMemory, "1073741824500m", "1073741825"),
	Entry(nil, corev1.ResourceEphemeralStorage, "1000001u", "2"),
)

var _ = Describe("A Memcached without nodes", func() {
	It("has counts, so that clients can show them and wait for them", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 0)
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
		Expect(user.Get(ctx, client.ObjectKeyFromObject(mc), stored)).To(Succeed())
		Expect(stored.Object["status"]).To(And(
			HaveKeyWithValue("replicas", int64(0)), HaveKeyWithValue("readyReplicas", int64(0)), HaveKeyWithValue("updatedReplicas", int64(0)),
		))
	})
})
