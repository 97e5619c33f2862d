// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// flood pauses and resumes a Memcached as fast as the manager follows, and expects few events.
func (i installation) flood(t *testing.T) {
	g := NewWithT(t)
	const times = 40
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "flood"}}
	g.Expect(i.Admin.Create(t.Context(), mc)).To(Succeed())
	for range times {
		i.pause(t, mc, true)
		i.pause(t, mc, false)
	}
	var events []eventsv1.Event
	g.Eventually(func() []eventsv1.Event {
		list := &eventsv1.EventList{}
		g.Expect(i.Admin.List(t.Context(), list, client.InNamespace("default"))).To(Succeed())
		events = nil
		for _, event := range list.Items {
			if event.Regarding.Name == mc.Name {
				events = append(events, event)
			}
		}
		return events
	}, "60s").Should(ContainElement(And(HaveField("Reason", "Paused"), HaveField("Series", Not(BeNil())))),
		"events of the same note are a series")
	g.Expect(len(events)).To(BeNumerically("<", times/4), "%v", events)
}

// pause sets spec.paused and waits until the status shows it.
func (i installation) pause(t *testing.T, mc *cachev1alpha1.Memcached, paused bool) {
	t.Helper()
	g := NewWithT(t)
	before := mc.DeepCopy()
	mc.Spec.Paused = paused
	g.Expect(i.Admin.Patch(t.Context(), mc, client.MergeFrom(before))).To(Succeed())
	g.Eventually(func() bool {
		progressing := meta.FindStatusCondition(i.Conditions(t, mc)(), cachev1alpha1.ConditionProgressing)
		return progressing != nil && progressing.Reason == cachev1alpha1.ReasonPaused
	}, "60s").Should(Equal(paused))
}
