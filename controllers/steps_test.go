// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// moves reconciles once, and expects exactly these writes, which come after a look past the cache.
func (o *operator) moves(ctx context.Context, mc *cachev1alpha1.Memcached, writes ...string) {
	GinkgoHelper()
	o.wait(5 * time.Second) // the status reports progress only every five seconds
	Expect(o.try(ctx, mc, writes...)).To(Succeed())
	Expect(o.requests.Lists()).To(ContainElement("list pods"))
	Expect(o.requests.Gets()).To(ContainElements(HavePrefix("get configmaps"), Equal("get statefulsets")))
}

// goes reconciles as often as that, and lets the StatefulSet controller and memcached's parents do their work each time.
func (o *operator) goes(ctx context.Context, mc *cachev1alpha1.Memcached, times int) {
	GinkgoHelper()
	for range times {
		o.wait(time.Minute)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		observeSet(ctx, mc)
		o.nodes.follow(ctx, mc)
	}
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
		o.moves(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		o.step(ctx, mc)
		newOperator(defaults).step(ctx, mc)
	})

	DescribeTable("are all replaced", func(ctx SpecContext, edit func(context.Context, *cachev1alpha1.Memcached)) {
		mc := settled(ctx, o, inPlace)
		before := uidsOf(ctx, mc)
		edit(ctx, mc)
		o.goes(ctx, mc, 6)
		after := uidsOf(ctx, mc)
		Expect(after).To(HaveLen(3))
		for name, uid := range before {
			Expect(after[name]).NotTo(Equal(uid), name)
		}
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))

		By("and not again when the request is withdrawn")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.ReplacedAt = nil })
		o.goes(ctx, mc, 1)
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
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("; cache-0 "))
		o.outdatedPods = nil
		observeSet(ctx, mc)

		By("a pause")
		o.outdated = cached
		pause(ctx, mc, true)
		o.beginsAnew(ctx, mc)
		pause(ctx, mc, false)
		o.outdated = nil

		By("a change of the pod: a conflict is no error")
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
})

var _ = Describe("The arguments of a StatefulSet's nodes", func() {
	var o *operator
	var mc *cachev1alpha1.Memcached
	BeforeEach(func(ctx SpecContext) {
		o = newOperator(defaults)
		mc = settled(ctx, o, stable)
		o.step(ctx, mc)
		Expect(o.nodes.look()).To(BeEmpty())
	})

	threads := func(n int32) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = n }
	}
	numbers := func(ctx context.Context) map[string]int64 {
		GinkgoHelper()
		found := map[string]int64{}
		for name, entry := range entriesOf(ctx, mc) {
			found[name] = entry.Number
		}
		return found
	}
	arguments := func(ctx context.Context) *corev1.ConfigMap {
		GinkgoHelper()
		found := &corev1.ConfigMap{}
		Expect(user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Name + memcached.ArgumentsSuffix}, found)).To(Succeed())
		return found
	}

	It("change node by node, with eight writes for three nodes, and at rest nobody is asked", func(ctx SpecContext) {
		uids := uidsOf(ctx, mc)
		Expect(entriesOf(ctx, mc)).To(BeNil())
		change(ctx, mc, threads(2))
		o.moves(ctx, mc, writeArguments, writeStatus)
		Expect(numbers(ctx)).To(Equal(map[string]int64{"cache-2": 1}))
		Expect(summary(ctx, mc, "Progressing")).To(Equal("True/RollingOut"))
		o.step(ctx, mc)
		Expect(o.nodes.look()).To(ContainElement("cache-2"))
		Expect(o.result.RequeueAfter).To(Equal(2 * time.Second))
		o.nodes.follow(ctx, mc)
		o.moves(ctx, mc, writeArguments, writeStatefulSet, writeStatus)
		Expect(numbers(ctx)).To(Equal(map[string]int64{"cache-2": 1, "cache-1": 1}))
		observeSet(ctx, mc)
		o.nodes.follow(ctx, mc)
		o.nodes.look()
		o.moves(ctx, mc, writeArguments, writeStatus)
		Expect(o.nodes.look()).To(Equal([]string{"cache-0", "cache-1"}), "cache-2 has said that it runs them")
		o.nodes.follow(ctx, mc)
		o.wait(5 * time.Second)
		o.moves(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		Expect(uidsOf(ctx, mc)).To(Equal(uids))
		for _, uid := range uids {
			Expect(o.nodes.entries[uid].Value("-t")).To(Equal("2"))
		}
		o.nodes.look()
		for _, o := range []*operator{o, newOperator(defaults)} {
			o.step(ctx, mc)
			Expect(o.requests.Lists()).To(BeEmpty())
			Expect(o.nodes.look()).To(BeEmpty())
			Expect(o.result.RequeueAfter).To(BeZero())
		}

		By("and one who does not see the entries does not write them anew from the answers")
		another := newOperator(defaults)
		another.nodes, another.Nodes, another.stale = o.nodes, o.nodes, true
		Expect(another.try(ctx, mc)).To(Succeed())

		By("and their ConfigMap goes with the last pod that it was for")
		change(ctx, mc, inTeam)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		for left := range 3 {
			observeSet(ctx, mc)
			o.wait(5 * time.Second)
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
			Expect(len(numbers(ctx))).To(BeNumerically(">=", 3-left-1))
		}
		observeSet(ctx, mc)
		o.wait(5 * time.Second)
		Expect(o.try(ctx, mc, deleteArguments, writeStatus)).To(Succeed())
		Expect(entriesOf(ctx, mc)).To(BeNil())
		o.step(ctx, mc)
	})

	It("go on in another process, and stay as they are during a pause", func(ctx SpecContext) {
		change(ctx, mc, threads(2))
		o.moves(ctx, mc, writeArguments, writeStatus)
		pause(ctx, mc, true)
		o.nodes.follow(ctx, mc)
		o.nodes.look()
		o.step(ctx, mc, writeStatus)
		o.step(ctx, mc)
		Expect(numbers(ctx)).To(Equal(map[string]int64{"cache-2": 1}))
		Expect(o.nodes.look()).To(BeEmpty())
		pause(ctx, mc, false)
		another := newOperator(defaults)
		another.nodes, another.Nodes = o.nodes, o.nodes
		another.moves(ctx, mc, writeArguments, writeStatefulSet, writeStatus)
		Expect(numbers(ctx)).To(Equal(map[string]int64{"cache-2": 1, "cache-1": 1}))
	})

	It("do not change if a look past the cache shows a newer entry", func(ctx SpecContext) {
		change(ctx, mc, threads(2))
		o.moves(ctx, mc, writeArguments, writeStatus)
		o.nodes.follow(ctx, mc)
		another := newOperator(defaults)
		another.nodes, another.Nodes = o.nodes, o.nodes
		another.moves(ctx, mc, writeArguments, writeStatefulSet, writeStatus)
		config := arguments(ctx)
		o.outdatedArguments = config.DeepCopy()
		delete(o.outdatedArguments.Data, "cache-1") // the cache lacks what the other process has just written
		o.outdatedArguments.ResourceVersion = "1"
		third := newOperator(defaults)
		third.nodes, third.Nodes, third.outdatedArguments = o.nodes, o.nodes, o.outdatedArguments
		third.moves(ctx, mc, writeStatus)
		Expect(arguments(ctx).ResourceVersion).To(Equal(config.ResourceVersion))
	})

	It("cannot be written: the size of the StatefulSet is, and nodes are replaced", func(ctx SpecContext) {
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name + memcached.ArgumentsSuffix}}
		Expect(user.Create(ctx, theirs)).To(Succeed())
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size, mc.Spec.Config.Threads = 4, 2 })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
		Expect(message(ctx, mc, "Degraded")).To(Equal(
			"ConfigMap cache-arguments exists already and belongs to nobody: delete or rename one of the two"))
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Replicas).To(HaveValue(BeEquivalentTo(4)))
		Expect(arguments(ctx).Data).To(BeEmpty())
		Expect(user.Delete(ctx, theirs)).To(Succeed())
		o.wait(time.Minute)
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(numbers(ctx)).To(HaveLen(1))
		Expect(metav1.IsControlledBy(arguments(ctx), mc)).To(BeTrue())
	})

	It("come back from the nodes if somebody deletes them; a manager that keeps changing them is named", func(ctx SpecContext) {
		change(ctx, mc, threads(2))
		o.goes(ctx, mc, 5)
		before := entriesOf(ctx, mc)
		Expect(user.Delete(ctx, arguments(ctx))).To(Succeed())
		o.goes(ctx, mc, 4)
		Expect(entriesOf(ctx, mc)).To(HaveLen(3))
		for name, entry := range entriesOf(ctx, mc) {
			Expect(entry.List).To(Equal(before[name].List))
			Expect(entry.Number).To(Equal(before[name].Number))
		}
		for range 3 {
			o.wait(30 * time.Second)
			change(ctx, arguments(ctx), func(c *corev1.ConfigMap) { c.Data["mine"] = "too" })
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/FieldContested"))
		Expect(arguments(ctx).Data).NotTo(HaveKey("mine"))

		By("while nodes are replaced nevertheless")
		change(ctx, mc, inTeam)
		o.goes(ctx, mc, 5)
		for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
			Expect(pod.Labels).To(HaveKeyWithValue("team", "a"))
		}
	})
})
