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
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// The operator's writes to pods, in the form that testenv.Requests records.
const (
	writePod    = "patch pods"
	writeResize = "patch pods/resize"
)

var _ = Describe("Pods that change in place", func() {
	var o *operator
	var mc *cachev1alpha1.Memcached
	BeforeEach(func(ctx SpecContext) {
		o = newOperator(defaults)
		mc = settled(ctx, o, stable, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
		})
		fromTemplate(ctx, mc)
		o.nodes.follow(ctx, mc, 0, 1, 2)
	})

	image := func(image string) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = image }
	}
	memory := func(memory string) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Memory = ptr.To(resource.MustParse(memory)) }
	}
	pod := func(ctx context.Context, ordinal int) *corev1.Pod {
		GinkgoHelper()
		found := &corev1.Pod{}
		Expect(user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: nodeName(ordinal)}, found)).To(Succeed())
		return found
	}
	// begun changes the spec, reconciles, and lets the StatefulSet controller observe the change.
	begun := func(ctx context.Context, edit func(*cachev1alpha1.Memcached)) {
		GinkgoHelper()
		change(ctx, mc, edit)
		o.step(ctx, mc, writeArguments, writeStatefulSet, writeStatus)
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.UpdateStrategy.RollingUpdate.Partition).To(HaveValue(BeEquivalentTo(3)))
		observeSet(ctx, mc)
	}
	It("get a new image one by one, and the StatefulSet then has nothing to do", func(ctx SpecContext) {
		uids := uidsOf(ctx, mc)
		begun(ctx, image("memcached:1.7"))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("True/UpdatingInPlace"))
		Expect(message(ctx, mc, "Progressing")).To(Equal(
			"Updating in place, no pod is replaced, but the nodes restart without their items: 0 of 3 nodes are updated"))
		for _, ordinal := range []int{2, 1, 0} {
			if ordinal < 2 {
				o.wait(time.Minute)
			}
			Expect(o.try(ctx, mc, append([]string{writePod}, statusIf(ordinal < 2)...)...)).To(Succeed())
			o.step(ctx, mc) // the kubelet has not restarted memcached yet
			restart(ctx, pod(ctx, ordinal))
			Expect(o.try(ctx, mc, writePod)).To(Succeed())
			Expect(pod(ctx, ordinal).Labels[appsv1.ControllerRevisionHashLabelKey]).To(Equal("next"))
			Expect(pod(ctx, ordinal).Spec.Containers[0].Image).To(Equal("memcached:1.7"))
			Expect(pod(ctx, ordinal).Annotations).NotTo(HaveKey(memcached.InPlaceAnnotation))
			observeSet(ctx, mc)
		}
		Expect(uidsOf(ctx, mc)).To(Equal(uids))
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeStatefulSet, writeStatus)).To(Succeed())
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.UpdateStrategy.RollingUpdate.Partition).To(HaveValue(BeEquivalentTo(0)))
		observeSet(ctx, mc)
		o.step(ctx, mc)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
	})

	It("go on in another process, whatever step the first one has reached", func(ctx SpecContext) {
		begun(ctx, image("memcached:1.7"))
		nodes := o.nodes
		for range 40 {
			o = newOperator(defaults) // a new process for each step
			o.nodes.running = nodes.running
			_, err := o.Reconcile(ctx, request(mc))
			Expect(err).NotTo(HaveOccurred())
			for ordinal := range 3 {
				p := pod(ctx, ordinal)
				if state, changes := memcached.InPlaceStateOf(p); changes && p.Status.ContainerStatuses[0].RestartCount == state.Restarts["memcached"] {
					restart(ctx, p)
				}
			}
			observeSet(ctx, mc)
		}
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		for ordinal := range 3 {
			Expect(pod(ctx, ordinal).Status.ContainerStatuses[0].RestartCount).To(BeEquivalentTo(1))
		}
	})

	It("get their former image again if the new one cannot be pulled", func(ctx SpecContext) {
		former := pod(ctx, 2).Spec.Containers[0].Image
		begun(ctx, image("memcached:none"))
		Expect(o.try(ctx, mc, writePod)).To(Succeed())
		failing := pod(ctx, 2)
		failing.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: `Back-off pulling image "memcached:none": ErrImagePull: not found`,
		}}
		failing.Status.Conditions[0].Status = corev1.ConditionFalse
		Expect(user.Status().Update(ctx, failing)).To(Succeed())
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writePod, writeStatus)).To(Succeed())
		Expect(pod(ctx, 2).Spec.Containers[0].Image).To(Equal(former))
		restart(ctx, pod(ctx, 2))
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/ImagePullFailed"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring(
			"Pod cache-2 was not changed in place: the image memcached:none cannot be pulled: not found. It has its former images"))
		o.step(ctx, mc)
		Expect(pod(ctx, 1).Spec.Containers[0].Image).To(Equal(former))
		change(ctx, mc, image("memcached:1.8"))
		Expect(o.try(ctx, mc, writeArguments, writeStatefulSet, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
		observeSet(ctx, mc)
		Expect(o.try(ctx, mc, writePod)).To(Succeed())
		Expect(pod(ctx, 2).Spec.Containers[0].Image).To(Equal("memcached:1.8"))
	})

	It("wait without the permission, and say how to give it", func(ctx SpecContext) {
		begun(ctx, image("memcached:1.7"))
		o.refuse = func(status bool) error {
			if status {
				return nil
			}
			return apierrors.NewForbidden(corev1.Resource("pods"), "cache-2", errors.New(
				`User "system:serviceaccount:operators:manager" cannot patch resource "pods" in API group "" in the namespace "shop"`))
		}
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeStatus)).NotTo(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/InPlaceForbidden"))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("False/Stuck"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring(fmt.Sprintf("kubectl create role memcached-operator-in-place -n %s "+
			"--verb=patch --resource=pods,pods/resize && kubectl create rolebinding memcached-operator-in-place -n %[1]s "+
			"--role=memcached-operator-in-place --serviceaccount=operators:manager", mc.Namespace)))
		Expect(o.events()).To(ContainElement(ContainSubstring("InPlaceForbidden")))
		o.refuse = nil
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writePod, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})

	It("say beforehand whether they stay", func(ctx SpecContext) {
		pause(ctx, mc, true)
		change(ctx, mc, image("memcached:1.7"))
		o.step(ctx, mc, writeStatus)
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("; the pods will stay, but the nodes will restart without their items"))
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
		})
		o.step(ctx, mc, writeStatus)
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("; the nodes will be replaced, without their items"))
	})

	needsResize := func() {
		if !canResize() {
			Skip("this version of Kubernetes cannot change the resources of pods: see what replaces them")
		}
	}

	It("get more memory before memcached does, without a restart", func(ctx SpecContext) {
		needsResize()
		begun(ctx, memory("256Mi"))
		for _, ordinal := range []int{2, 1, 0} {
			o.wait(time.Minute)
			_ = o.try(ctx, mc, append([]string{writePod}, statusIf(ordinal < 2)...)...)
			Expect(o.try(ctx, mc, writeResize)).To(Succeed())
			o.step(ctx, mc) // the kubelet has not resized the container yet
			resized := pod(ctx, ordinal)
			resized.Status.ContainerStatuses[0].Resources = &resized.Spec.Containers[0].Resources
			Expect(user.Status().Update(ctx, resized)).To(Succeed())
			Expect(o.try(ctx, mc, writePod)).To(Succeed())
			Expect(resized.Spec.Containers[0].Resources.Limits.Memory().Value()).To(BeNumerically(">", 256<<20))
			observeSet(ctx, mc)
			o.nodes.look()
		}
		writes := []string{writeStatefulSet, writeArguments, writePod, writeStatus}
		for _, ordinal := range []int{2, 1, 0} {
			o.wait(time.Minute)
			Expect(o.try(ctx, mc, writes...)).To(Succeed())
			observeSet(ctx, mc)
			writes = []string{writeArguments, writePod, writeStatus}
			Expect(pod(ctx, ordinal).Annotations).To(HaveKey(memcached.WakeAnnotation), "so that the kubelet brings the ConfigMap at once")
			o.nodes.follow(ctx, mc, ordinal)
		}
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeArguments, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		for ordinal := range 3 {
			Expect(pod(ctx, ordinal).Status.ContainerStatuses[0].RestartCount).To(BeZero())
			Expect(o.nodes.running[nodeName(ordinal)].Value("-m")).To(Equal("256"))
		}
	})

	It("are replaced if the API server cannot change their resources", func(ctx SpecContext) {
		begun(ctx, memory("256Mi"))
		Expect(o.try(ctx, mc, writePod)).To(Succeed())
		o.refuse = func(subresource bool) error {
			if !subresource || !canResize() {
				return nil
			}
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
				Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{Name: "cache-2"},
			}}
		}
		_, err := o.Reconcile(ctx, request(mc))
		Expect(err).NotTo(HaveOccurred())
		o.refuse = nil
		Expect(o.try(ctx, mc, writeArguments, writeStatefulSet, writeStatus)).To(Succeed())
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.UpdateStrategy.RollingUpdate.Partition).To(HaveValue(BeEquivalentTo(0)))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("True/RollingOut"))
	})

	// Kubernetes 1.33 refuses to lower a memory limit of a running pod.
	It("keep their place if they cannot go back to their former resources", func(ctx SpecContext) {
		needsResize()
		begun(ctx, memory("256Mi"))
		Expect(o.try(ctx, mc, writePod)).To(Succeed())
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeResize)).To(Succeed())
		impossible := pod(ctx, 2)
		impossible.Status.ContainerStatuses[0].Resources = &pod(ctx, 1).Spec.Containers[0].Resources
		impossible.Status.Conditions = append(impossible.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: "no room",
		})
		Expect(user.Status().Update(ctx, impossible)).To(Succeed())
		Expect(o.try(ctx, mc, writePod)).To(Succeed())
		var resized bool
		o.refuse = func(subresource bool) error {
			if !subresource || resized { // the Memcached's status is a subresource, too
				return nil
			}
			resized = true
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "cache-2", field.ErrorList{
				field.Forbidden(field.NewPath("spec", "containers").Index(0).Child("resources", "limits"), "memory limits cannot be decreased"),
			})
		}
		for range 2 {
			o.wait(time.Minute)
			resized = false
			_, err := o.Reconcile(ctx, request(mc))
			Expect(err).NotTo(HaveOccurred())
			observeSet(ctx, mc)
		}
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.UpdateStrategy.RollingUpdate.Partition).To(HaveValue(BeEquivalentTo(3)))
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/InPlaceRefused"))
	})

	DescribeTable("are refused more memory: the others wait", func(ctx SpecContext, words, reason string, answer metav1.StatusReason) {
		needsResize()
		begun(ctx, memory("256Mi"))
		Expect(o.try(ctx, mc, writePod)).To(Succeed())
		refusal, refused := apierrors.NewForbidden(corev1.Resource("pods"), "cache-2", errors.New(words)), false
		refusal.ErrStatus.Reason = answer
		o.refuse = func(subresource bool) error {
			if subresource && !refused {
				refused = true
				return refusal
			}
			return nil
		}
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeStatus)).NotTo(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/" + reason))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("False/Stuck"))
		Expect(message(ctx, mc, "Degraded")).To(And(ContainSubstring("cache-2"), ContainSubstring(words)))
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeResize, writeStatus)).To(Succeed())
	},
		Entry("by a quota", "exceeded quota: small, requested: limits.memory=1", "QuotaExceeded", metav1.StatusReasonForbidden),
		Entry("by a LimitRange", "maximum memory usage per Container is 128Mi", "AdmissionDenied", metav1.StatusReasonForbidden),
		Entry("by a policy", "ValidatingAdmissionPolicy 'sizes' with binding 'all' denied request: too large", "AdmissionDenied", metav1.StatusReasonInvalid),
		Entry("by its cluster node", "node didn't have enough allocatable resources: memory", "InPlaceRefused", metav1.StatusReasonForbidden),
	)
})

func canResize() bool {
	GinkgoHelper()
	minor, err := testenv.MinorOf(config)
	Expect(err).NotTo(HaveOccurred())
	return minor >= testenv.ResizeSince
}

func statusIf(written bool) []string {
	if written {
		return []string{writeStatus}
	}
	return nil
}
