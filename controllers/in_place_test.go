// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// restart imitates the kubelet, which restarts memcached with the image of the pod.
func restart(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	status := &pod.Status.ContainerStatuses[0]
	status.RestartCount++
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	setReady(ctx, pod, corev1.ConditionTrue)
}

var _ = Describe("Pods that change in place", func() {
	var o *operator
	var mc *cachev1alpha1.Memcached
	var before map[string]types.UID
	names := []string{"cache-2", "cache-1", "cache-0"}
	const former = "memcached:1.6.45"

	image := func(image string) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = image }
	}
	more := func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Memory = ptr.To(resource.MustParse("256Mi")) }
	askedOf := func(pod *corev1.Pod) memcached.Asked {
		GinkgoHelper()
		asked, found := memcached.AskedOf(pod.Annotations)
		Expect(found).To(BeTrue())
		return asked
	}
	// resized imitates a kubelet that has applied the resources of the pod.
	resized := func(ctx context.Context, name string) {
		GinkgoHelper()
		pod := podOf(ctx, mc, name)
		pod.Status.ContainerStatuses[0].Resources = &pod.Spec.Containers[0].Resources
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
	}
	// refusing makes the API server refuse the first write of pods, or of their subresource resize.
	refusing := func(subresource bool, err error) {
		refused := false
		o.refuse = func(sub bool) error {
			if sub == subresource && !refused { // the status of the Memcached is a subresource, too
				refused = true
				return err
			}
			return nil
		}
	}

	BeforeEach(func(ctx SpecContext) {
		o = newOperator(defaults)
		mc = settled(ctx, o, inPlace)
		before = uidsOf(ctx, mc)
	})

	It("get a new image one by one, with one patch each, and the label of the new revision at the end", func(ctx SpecContext) {
		change(ctx, mc, image("memcached:1.7"))
		for i, more := range [][]string{nil, {writeStatefulSet}, {writePod, writePod}} { // the template after the first node, then labels
			Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template.Spec.Containers[0].Image).To(
				Equal(map[bool]string{true: "memcached:1.7", false: former}[i == 2]), "a new pod starts as its neighbours do")
			o.moves(ctx, mc, append(more, writePod, writeStatus)...)
			Expect(message(ctx, mc, "Progressing")).To(Equal(fmt.Sprintf("Restarting in place, without their items: "+
				"%d of 3 nodes are updated; %s restarts with another image in place", i, names[i])))
			pod := podOf(ctx, mc, names[i])
			Expect(pod.Spec.Containers[0].Image).To(Equal("memcached:1.7"))
			Expect(askedOf(pod)).To(And(HaveField("Image", "memcached:1.7"), HaveField("Former", Equal(&memcached.FormerPod{PodImage: former}))))
			o.goes(ctx, mc, 1) // the kubelet has not restarted memcached yet
			restart(ctx, pod)
		}
		o.moves(ctx, mc, writePod, writeStatus)
		for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
			Expect(pod.UID).To(Equal(before[pod.Name]))
			Expect(pod.Labels).To(HaveKeyWithValue(appsv1.ControllerRevisionHashLabelKey, live(ctx, mc, &appsv1.StatefulSet{}).Status.UpdateRevision))
			Expect(askedOf(&pod).Former).To(BeNil())
		}
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		observeSet(ctx, mc)
		o.nodes.look()
		o.step(ctx, mc)
		Expect(o.nodes.look()).To(BeEmpty())
	})

	It("wait without the permission, and say how to give it", func(ctx SpecContext) {
		change(ctx, mc, image("memcached:1.7"))
		refusing(false, apierrors.NewForbidden(corev1.Resource("pods"), "cache-2", errors.New(
			`User "system:serviceaccount:operators:manager" cannot patch resource "pods" in API group "" in the namespace "shop"`)))
		Expect(o.try(ctx, mc, writeStatus)).NotTo(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/ChangeRefused"))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("False/Stuck"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring(fmt.Sprintf("kubectl create role memcached-operator-in-place -n %s "+
			"--verb=patch --resource=pods,pods/resize && kubectl create rolebinding memcached-operator-in-place -n %[1]s "+
			"--role=memcached-operator-in-place --serviceaccount=operators:manager", mc.Namespace)))
		Expect(o.events()).To(ContainElement(ContainSubstring("ChangeRefused")))
		o.moves(ctx, mc, writePod, writeStatus) // the first write is refused only once
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})

	needsResize := func() {
		minor, err := testenv.MinorOf(config)
		Expect(err).NotTo(HaveOccurred())
		if minor < testenv.ResizeSince {
			Skip("this version of Kubernetes cannot change the resources of pods: see what replaces them")
		}
	}

	It("get more memory before memcached does, without a restart", func(ctx SpecContext) {
		needsResize()
		resources := askedOf(podOf(ctx, mc, "cache-0")).Resources
		change(ctx, mc, more)
		for i, name := range names {
			writes := []string{writeResize, writePod, writeStatus}
			switch i {
			case 1:
				writes = append(writes, writeStatefulSet)
			case 2:
				writes = append(writes, writePod) // the label of cache-1
			}
			o.moves(ctx, mc, writes...)
			pod := podOf(ctx, mc, name)
			Expect(pod.Spec.Containers[0].Resources.Limits.Memory().Value()).To(BeNumerically(">", 256<<20))
			Expect(askedOf(pod).Former.Resources).To(Equal(resources))
			Expect(entriesOf(ctx, mc)).To(HaveLen(i), "the kubelet has not resized the container yet")
			observeSet(ctx, mc)
			resized(ctx, name)
			writes = []string{writeArguments, writePod, writeStatus}
			if i == 1 {
				writes = append(writes, writePod) // the label of cache-2
			}
			o.moves(ctx, mc, writes...)
			Expect(podOf(ctx, mc, name).Annotations).To(HaveKeyWithValue(memcached.WakeAnnotation, "1"), "so that the kubelet brings the entry at once")
			o.nodes.follow(ctx, mc)
		}
		o.moves(ctx, mc, writePod, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
			Expect(pod.Status.ContainerStatuses[0].RestartCount).To(BeZero())
			Expect(o.nodes.entries[pod.UID].Value("-m")).To(Equal("256"))
		}
	})

	DescribeTable("are replaced if the API server can never change their resources", func(ctx SpecContext, err error) {
		change(ctx, mc, more)
		refusing(true, err)
		o.moves(ctx, mc, writePod, writePod, writeStatus)
		Expect(askedOf(podOf(ctx, mc, "cache-2"))).To(And(HaveField("Refused.Forever", true), HaveField("Former", BeNil())))
		Expect(o.try(ctx, mc, writeStatefulSet, writeStatus)).To(Succeed())
		observeSet(ctx, mc)
		o.refuse = nil
		o.moves(ctx, mc, deletePod, writeStatus)
		Expect(uidsOf(ctx, mc)).NotTo(HaveKey("cache-2"))
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	},
		Entry("for lack of the subresource", &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
			Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{Name: "cache-2"},
		}}),
		Entry("because they are invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "cache-2", field.ErrorList{
			field.Invalid(field.NewPath("spec"), "", "Pod QOS Class may not change as a result of resizing"),
		})),
	)

	// Kubernetes 1.33 refuses to lower a memory limit of a running pod.
	It("keep their place if they cannot go back to their former resources", func(ctx SpecContext) {
		needsResize()
		change(ctx, mc, more)
		o.moves(ctx, mc, writeResize, writePod, writeStatus)
		impossible := podOf(ctx, mc, "cache-2")
		impossible.Status.ContainerStatuses[0].Resources = &podOf(ctx, mc, "cache-1").Spec.Containers[0].Resources
		impossible.Status.Conditions = append(impossible.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: "no room",
		})
		Expect(user.Status().Update(ctx, impossible)).To(Succeed())
		o.moves(ctx, mc, writePod, writeStatus)
		Expect(askedOf(podOf(ctx, mc, "cache-2")).Refused.Words).To(ContainSubstring("no room"))
		refusing(true, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "cache-2", field.ErrorList{
			field.Forbidden(field.NewPath("spec", "containers").Index(0).Child("resources", "limits"), "memory limits cannot be decreased"),
		}))
		for range 3 {
			o.wait(15 * time.Second)
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(askedOf(podOf(ctx, mc, "cache-2")).Refused.Kept).To(BeTrue())
			o.refuse = nil
		}
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/ChangeRefused"))
		Expect(uidsOf(ctx, mc)).To(Equal(before))
		Expect(podOf(ctx, mc, "cache-2").Spec.Containers[0].Resources).To(Equal(impossible.Spec.Containers[0].Resources), "asked only once")
	})

	DescribeTable("are refused more memory: the others wait", func(ctx SpecContext, words, reason string, answer metav1.StatusReason) {
		needsResize()
		change(ctx, mc, more)
		refusal := apierrors.NewForbidden(corev1.Resource("pods"), "cache-2", errors.New(words))
		refusal.ErrStatus.Reason = answer
		refusing(true, refusal)
		Expect(o.try(ctx, mc, writePod, writeStatus)).NotTo(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/" + reason))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("False/Stuck"))
		Expect(message(ctx, mc, "Degraded")).To(And(ContainSubstring("cache-2"), ContainSubstring(words)))
		o.moves(ctx, mc, writeResize, writeStatus)
	},
		Entry("by a quota", "exceeded quota: small, requested: limits.memory=1", "QuotaExceeded", metav1.StatusReasonForbidden),
		Entry("by a policy", "ValidatingAdmissionPolicy 'sizes' with binding 'all' denied request: too large", "AdmissionDenied", metav1.StatusReasonInvalid),
		Entry("by its cluster node", "node didn't have enough allocatable resources: memory", "ChangeRefused", metav1.StatusReasonForbidden),
	)
})
