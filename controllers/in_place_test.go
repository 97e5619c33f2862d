// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
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

// canResize reports whether the API server has the subresource that changes the resources of pods.
func canResize() bool {
	GinkgoHelper()
	minor, err := testenv.MinorOf(config)
	Expect(err).NotTo(HaveOccurred())
	return minor >= testenv.ResizeSince
}

var _ = Describe("Pods that change in place", func() {
	var o *operator
	var mc *cachev1alpha1.Memcached
	var before map[string]string
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
	imageOf := func(ctx context.Context, name string) string { return podOf(ctx, mc, name).Spec.Containers[0].Image }
	// resized imitates a kubelet that has applied the resources of the pod.
	resized := func(ctx context.Context, name string) {
		GinkgoHelper()
		pod := podOf(ctx, mc, name)
		pod.Status.ContainerStatuses[0].Resources = &pod.Spec.Containers[0].Resources
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
	}
	// unpulled imitates a kubelet that cannot pull the pod's image.
	unpulled := func(ctx context.Context, name string) {
		GinkgoHelper()
		pod := podOf(ctx, mc, name)
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: `Back-off pulling image "memcached:none": ErrImagePull: not found`,
		}}
		setReady(ctx, pod, corev1.ConditionFalse)
	}
	// refusing makes the API server refuse the first writes to pods, or to their subresource resize, in each reconcile.
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
		before = map[string]string{}
		for name, uid := range uidsOf(ctx, mc) {
			before[name] = string(uid)
		}
	})
	stayed := func(ctx context.Context) {
		GinkgoHelper()
		for name, uid := range uidsOf(ctx, mc) {
			Expect(string(uid)).To(Equal(before[name]))
		}
	}

	It("get a new image one by one, with one patch each, and the label of the new revision at the end", func(ctx SpecContext) {
		change(ctx, mc, image("memcached:1.7"))
		for range 14 {
			o.wait(5*time.Second)
			o.requests.Reset()
			_, err := o.Reconcile(ctx, request(mc))
			fmt.Println("WRITES", o.requests.Writes(), err, message(ctx, mc, "Progressing"), o.nodes.look(), o.requests.Lists(), o.requests.Gets())
			for _, name := range names {
				p := podOf(ctx, mc, name)
				a := askedOf(p)
				fmt.Println("   ", name, p.Spec.Containers[0].Image, p.Status.ContainerStatuses[0].RestartCount, p.Labels[appsv1.ControllerRevisionHashLabelKey], a.Image, a.Former)
				if a.Former != nil && p.Status.ContainerStatuses[0].RestartCount == 0 { restart(ctx, p) }
			}
			observeSet(ctx, mc)
		}
	})
	It("get MEM", func(ctx SpecContext) {
		change(ctx, mc, more)
		for range 14 {
			o.wait(5*time.Second)
			o.requests.Reset()
			_, err := o.Reconcile(ctx, request(mc))
			fmt.Println("WRITES", o.requests.Writes(), err, message(ctx, mc, "Progressing"), o.nodes.look(), o.requests.Lists(), o.requests.Gets())
			for _, name := range names {
				p := podOf(ctx, mc, name)
				a := askedOf(p)
				fmt.Println("   ", name, p.Spec.Containers[0].Resources, p.Labels[appsv1.ControllerRevisionHashLabelKey], a.Resources, a.Former)
				resized(ctx, name)
			}
			fmt.Println(entriesOf(ctx, mc))
			o.nodes.follow(ctx, mc)
			observeSet(ctx, mc)
		}
	})
	It("get ARGS", func(ctx SpecContext) {
		mc = settled(ctx, o, stable)
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = 2 })
		for range 8 {
			o.wait(5*time.Second)
			o.requests.Reset()
			_, err := o.Reconcile(ctx, request(mc))
			fmt.Println("WRITES", o.requests.Writes(), err, message(ctx, mc, "Progressing"), o.nodes.look(), o.requests.Lists(), o.requests.Gets())
			fmt.Println(entriesOf(ctx, mc))
			o.nodes.follow(ctx, mc)
			observeSet(ctx, mc)
		}
	})
	_ = imageOf
	_ = strings.Cut
	_ = time.Second
	_ = fmt.Sprint
	_ = errors.New
	_ = apierrors.IsConflict
	_ = metav1.Now
	_ = schema.GroupKind{}
	_ = field.NewPath
	_ = rollout.Assign
	_ = resized
	_ = unpulled
	_ = refusing
	_ = stayed
	_ = more
})
