// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// moves reconciles once, and expects exactly these writes, which come after a look past the cache.
func (o *operator) moves(ctx context.Context, mc *cachev1alpha1.Memcached, writes ...string) {
	GinkgoHelper()
	o.wait(5 * time.Second) // the status reports progress only every five seconds
	Expect(o.try(ctx, mc, writes...)).To(Succeed())
	Expect(o.requests.Lists()).To(Equal([]string{"list memcacheds", "list pods"}))
	Expect(o.requests.Gets()).To(ConsistOf(HavePrefix("get configmaps")))
}

// uidsOf returns the UIDs of the pods of a Memcached, by their names.
func uidsOf(ctx context.Context, mc *cachev1alpha1.Memcached) map[string]types.UID {
	GinkgoHelper()
	uids := map[string]types.UID{}
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		uids[pod.Name] = pod.UID
	}
	return uids
}

func podOf(ctx context.Context, mc *cachev1alpha1.Memcached, name string) *corev1.Pod {
	GinkgoHelper()
	found := &corev1.Pod{}
	Expect(user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, found)).To(Succeed())
	return found
}

func inTeam(mc *cachev1alpha1.Memcached) {
	mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
}

func inPlace(mc *cachev1alpha1.Memcached) {
	stable(mc)
	mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}

var _ = Describe("The pods of a StatefulSet", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	It("are replaced one after the other, the next when the new one is ready", func(ctx SpecContext) {
		mc := settled(ctx, o, stable)
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.UpdateStrategy).To(
			Equal(appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}))
		change(ctx, mc, inTeam)
		o.step(ctx, mc, writeStatefulSet, writeStatus)
		o.step(ctx, mc) // the StatefulSet's controller has not observed the template
		observeSet(ctx, mc)
		for _, name := range []string{"cache-2", "cache-1", "cache-0"} {
			o.moves(ctx, mc, deletePod, writeStatus)
			Expect(uidsOf(ctx, mc)).NotTo(HaveKey(name))
			o.step(ctx, mc)
			set := live(ctx, mc, &appsv1.StatefulSet{})
			ordinal := int(name[len(name)-1] - '0')
			pod := createNode(ctx, set, ordinal)
			o.step(ctx, mc)
			Expect(uidsOf(ctx, mc)).To(HaveLen(3))
			setReady(ctx, pod, corev1.ConditionTrue)
		}
		observeSet(ctx, mc)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		o.step(ctx, mc)
		newOperator(defaults).step(ctx, mc)
	})

	DescribeTable("are all replaced", func(ctx SpecContext, edit func(context.Context, *cachev1alpha1.Memcached)) {
		mc := settled(ctx, o, inPlace)
		before := uidsOf(ctx, mc)
		edit(ctx, mc)
		for range 5 {
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			observeSet(ctx, mc)
		}
		after := uidsOf(ctx, mc)
		Expect(after).To(HaveLen(3))
		for name, uid := range before {
			Expect(after[name]).NotTo(Equal(uid), name)
		}
		o.wait(time.Minute)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))

		By("and not again when the request is withdrawn")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.ReplacedAt = nil })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		observeSet(ctx, mc)
		o.step(ctx, mc)
		Expect(uidsOf(ctx, mc)).To(Equal(after))
	},
		Entry("by kubectl rollout restart", func(ctx context.Context, mc *cachev1alpha1.Memcached) {
			change(ctx, live(ctx, mc, &appsv1.StatefulSet{}), func(set *appsv1.StatefulSet) {
				set.Spec.Template.Annotations[memcached.KubectlRestartedAt] = "2026-11-25T00:00:00Z"
			})
		}),
		Entry("by spec.replacedAt", func(ctx context.Context, mc *cachev1alpha1.Memcached) {
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.ReplacedAt = &metav1.Time{Time: time.Unix(1e9, 0)} })
		}),
	)

	DescribeTable("are replaced neither by an upgrade of the operator nor by what others do",
		func(ctx SpecContext, change func(context.Context, *cachev1alpha1.Memcached), writes ...string) {
			for _, policy := range []func(*cachev1alpha1.Memcached){stable, inPlace} {
				o = newOperator(defaults)
				mc := settled(ctx, o, policy)
				before := uidsOf(ctx, mc)
				change(ctx, mc)
				images := podOf(ctx, mc, "cache-0").Spec.Containers[0].Image
				Expect(o.try(ctx, mc, writes...)).To(Succeed())
				for range 3 { // with InPlaceOrRecreate, the pods get the label of the new revision
					observeSet(ctx, mc)
					o.wait(time.Minute)
					Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
				}
				Expect(uidsOf(ctx, mc)).To(Equal(before))
				Expect(podOf(ctx, mc, "cache-0").Spec.Containers[0].Image).To(Equal(images))
				Expect(entriesOf(ctx, mc)).To(BeEmpty())
				Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
				o.step(ctx, mc)
			}
		},
		Entry("annotations on the template", func(ctx context.Context, mc *cachev1alpha1.Memcached) {
			change(ctx, live(ctx, mc, &appsv1.StatefulSet{}), func(set *appsv1.StatefulSet) {
				set.Spec.Template.Annotations["example.com/note"] = "theirs"
			})
		}),
		Entry("a webhook that changes the image of new pods", func(ctx context.Context, mc *cachev1alpha1.Memcached) {
			for name := range uidsOf(ctx, mc) {
				change(ctx, podOf(ctx, mc, name), func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "mirror.example.com/memcached:1" })
			}
		}),
		Entry("other defaults", func(context.Context, *cachev1alpha1.Memcached) {
			o = newOperator(memcached.Options{DefaultImage: "memcached:1.7", AgentImage: "memcached-operator:2"})
		}, writeStatefulSet, writeStatus),
	)

	It("stay if a look past the cache shows another node away, a pause, or a change of the pod itself", func(ctx SpecContext) {
		mc := settled(ctx, o, stable)
		change(ctx, mc, inTeam)
		o.step(ctx, mc, writeStatefulSet, writeStatus)
		observeSet(ctx, mc)
		cached := live(ctx, mc, &cachev1alpha1.Memcached{})

		By("another node")
		o.outdatedPods = pods(ctx, mc.Namespace, mc.Name)
		Expect(user.Delete(ctx, podOf(ctx, mc, "cache-0"))).To(Succeed())
		o.moves(ctx, mc, writeStatus)
		Expect(message(ctx, mc, "Progressing")).To(HaveSuffix("0 of 3 nodes are updated; cache-0 is being created"))
		o.outdatedPods = nil
		observeSet(ctx, mc)

		By("a pause")
		o.outdated = cached
		pause(ctx, mc, true)
		Expect(o.try(ctx, mc)).To(MatchError(ContainSubstring("latest version of the Memcached")))
		pause(ctx, mc, false)
		o.outdated = nil

		By("a change, which is no error")
		o.refuse = func(status bool) error {
			if !status {
				change(ctx, podOf(ctx, mc, "cache-2"), func(pod *corev1.Pod) { pod.Labels["theirs"] = "new" })
			}
			return nil
		}
		o.moves(ctx, mc, deletePod+" (409)", writeStatus)
		Expect(o.result.RequeueAfter).To(Equal(2 * time.Second))
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
		o.refuse = nil
		o.moves(ctx, mc, deletePod)
		Expect(uidsOf(ctx, mc)).NotTo(HaveKey("cache-2"))
	})

	It("are replaced, added and removed while no launcher can be asked", func(ctx SpecContext) {
		mc := settled(ctx, o, stable)
		o.nodes.silent = []string{"cache-0", "cache-1", "cache-2", "cache-3"}
		change(ctx, mc, inTeam)
		before := uidsOf(ctx, mc)
		for range 5 {
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			observeSet(ctx, mc)
		}
		for name, uid := range uidsOf(ctx, mc) {
			Expect(uid).NotTo(Equal(before[name]))
		}
		for _, size := range []int32{4, 2} {
			change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			observeSet(ctx, mc)
			Expect(uidsOf(ctx, mc)).To(HaveLen(int(size)))
		}
	})
})

// In these tests, no kubelet runs. So an evicted pod with a cluster node stays terminating forever, as on a lost one.
var _ = Describe("A pod of a StatefulSet on a lost cluster node", func() {
	const report = "Warning LostPodDeleted Pod cache-1 did not stop after its eviction from cluster node host-b: " +
		"deleted it without waiting, so that a new cache-1 can start"
	var o *operator
	var mc *cachev1alpha1.Memcached
	var pod *corev1.Pod

	deleted := func() float64 {
		GinkgoHelper()
		families, err := o.registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "memcached_operator_lost_pods_deleted_total" })
		return families[i].GetMetric()[0].GetCounter().GetValue()
	}
	exists := func(ctx context.Context) bool {
		GinkgoHelper()
		err := user.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return err == nil
	}
	// evict evicts the pod as the taint manager does, reconciles, and sets the clock to the end of its grace period.
	evict := func(ctx context.Context) {
		GinkgoHelper()
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
		})
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		Expect(user.Delete(ctx, pod)).To(Succeed())
		Expect(user.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		o.clock.SetTime(pod.DeletionTimestamp.Time)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		o.events()
	}

	BeforeEach(func(ctx SpecContext) {
		o = newOperator(defaults)
		mc = settled(ctx, o, stable)
		Expect(user.Delete(ctx, podOf(ctx, mc, "cache-1"))).To(Succeed())
		pod = createNode(ctx, live(ctx, mc, &appsv1.StatefulSet{}), 1)
		Expect(user.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "host-b"},
		})).To(Succeed())
		Expect(user.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		setReady(ctx, pod, corev1.ConditionTrue)
		DeferCleanup(func(ctx SpecContext) { // nothing else deletes the pod
			Expect(client.IgnoreNotFound(user.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
		})
	})

	It("is deleted for good ten seconds after its grace period, also beyond the size", func(ctx SpecContext) {
		evict(ctx)
		o.step(ctx, mc)
		Expect(o.result.RequeueAfter).To(Equal(10*time.Second), "no event comes")
		o.wait(10*time.Second - 1)
		o.step(ctx, mc)
		Expect(exists(ctx)).To(BeTrue())
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 1 })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		o.events()
		o.wait(1)
		Expect(o.try(ctx, mc, deletePod)).To(Succeed())
		Expect(exists(ctx)).To(BeFalse())
		Expect(o.events()).To(ConsistOf(report))
		Expect(deleted()).To(Equal(1.0))
	})

	It("is not lost because the clock of the operator is ahead of the API server's", func(ctx SpecContext) {
		evict(ctx)
		o.ServerClock = clocktesting.NewFakePassiveClock(o.clock.Now())
		o.wait(time.Hour)
		o.step(ctx, mc)
		Expect(exists(ctx)).To(BeTrue())
		Expect(o.result.RequeueAfter).To(Equal(10 * time.Second))
	})

	It("is deleted once, whatever the cache and somebody's ConfigMap say, and another pod of its name is not", func(ctx SpecContext) {
		evict(ctx)
		Expect(user.Delete(ctx, serversOf(ctx, mc))).To(Succeed())
		Expect(user.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "cache-servers"}})).To(Succeed())
		o.outdatedPods = pods(ctx, mc.Namespace, mc.Name)
		o.wait(10 * time.Second)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
		Expect(exists(ctx)).To(BeFalse())
		pod = createNode(ctx, live(ctx, mc, &appsv1.StatefulSet{}), 1)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(podOf(ctx, mc, "cache-1").DeletionTimestamp).To(BeNil())
		Expect(deleted()).To(Equal(1.0))
	})

	It("is reported if its deletion is refused, and deleted when that ends", func(ctx SpecContext) {
		evict(ctx)
		o.wait(10 * time.Second)
		o.refuse = func(status bool) error {
			if status {
				return nil
			}
			return apierrors.NewForbidden(corev1.Resource("pods"), "cache-1", errors.New("no"))
		}
		Expect(o.try(ctx, mc, writeStatus)).To(MatchError(ContainSubstring("forbidden")), "it is tried again")
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/AdmissionDenied"))
		Expect(message(ctx, mc, "Degraded")).To(HavePrefix("delete pod cache-1: pods is forbidden: no"))
		Expect(deleted()).To(BeZero())
		o.refuse = nil
		Expect(o.try(ctx, mc, deletePod, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
		Expect(o.events()).To(ContainElement(report))
	})
})
