// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A StatefulSet whose pods the API server refuses", func() {
	It("says so within ten seconds, in the API server's words, and names the field that helps", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := settled(ctx, o, stable)
		set := live(ctx, mc, &appsv1.StatefulSet{})
		o.events()
		Expect(user.Delete(ctx, podOf(ctx, mc, "cache-2"), client.GracePeriodSeconds(0))).To(Succeed())
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("False/NotReady"))
		Expect(o.result.RequeueAfter).To(Equal(5*time.Second), "no watch tells what the controller of the StatefulSet says")

		const words = "is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2"
		Expect(user.Create(ctx, &corev1.Event{ // as the controller of StatefulSets records it
			ObjectMeta:     metav1.ObjectMeta{Namespace: mc.Namespace, Name: "cache.1"},
			InvolvedObject: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: mc.Namespace, Name: "cache", UID: set.UID},
			Reason:         "FailedCreate", Type: corev1.EventTypeWarning, Source: corev1.EventSource{Component: "statefulset-controller"},
			Message:        `create Pod cache-2 in StatefulSet cache failed error: pods "cache-2" ` + words,
			FirstTimestamp: metav1.NewTime(o.clock.Now()), LastTimestamp: metav1.NewTime(o.clock.Now()), Count: 1,
		})).To(Succeed())
		o.wait(5 * time.Second)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("False/QuotaExceeded"))
		Expect(message(ctx, mc, "Degraded")).To(HavePrefix("pods " + words + ". Lower spec.size, or raise the quota. See "))
		Expect(o.result.RequeueAfter).To(Equal(55*time.Second), "after a minute without a pod, its template may be written")

		By("having its pod after all")
		setReady(ctx, createNode(ctx, set, 2), corev1.ConditionTrue)
		o.step(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		Expect(o.events()).To(ConsistOf(HavePrefix("Warning QuotaExceeded"), HavePrefix("Normal Recovered"), HavePrefix("Normal Ready")))
	})
})
