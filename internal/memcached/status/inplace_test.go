// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func inPlaceRows(t *testing.T) []statusCase {
	inPlace := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
	}
	mc := memcachedtest.Cache(3, inStatefulSet, inPlace)
	row := func(name string, plan memcached.InPlace, changes ...func(*statusCase)) statusCase {
		set := makeStatefulSet(t, mc, setCounts(3, 1, 3), revisions("a", "b"))
		c := statusCase{name: name, mc: mc, others: []client.Object{set}, pods: setPods("a", "a", "b"), inPlace: &plan}
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	paused := func(c *statusCase) {
		c.mc = memcachedtest.Cache(3, inStatefulSet, inPlace, memcachedtest.Paused, memcachedtest.Image("memcached:2"))
		c.others, c.pods = []client.Object{makeStatefulSet(t, mc, setCounts(3, 3, 3))}, setPods("a", "a", "a")
		c.written = memcached.Written{Pending: []string{"StatefulSet"}, TemplatePending: true}
		c.ready = "Unknown Paused: spec.paused holds back: the StatefulSet"
	}
	inFile := func(c *statusCase) {
		c.mc = c.mc.DeepCopy()
		c.mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile
	}
	const sameVersion = "items are kept only with the same version of memcached"
	const held = "False Paused: spec.paused holds back: the StatefulSet; "
	return []statusCase{
		row("in place: one of three", memcached.InPlace{Open: true, Done: 1}, func(c *statusCase) {
			c.changing = "UpdatingInPlace: Updating in place, no pod is replaced: 1 of 3 nodes are updated"
		}),
		row("in place: without their items", memcached.InPlace{Open: true, Done: 1, OtherImage: true}, func(c *statusCase) {
			c.changing = "UpdatingInPlace: Updating in place, no pod is replaced, but the nodes restart without their items: 1 of 3 nodes are updated"
		}),
		row("in place: another image, items in a file", memcached.InPlace{Open: true, Done: 1, OtherImage: true}, inFile, func(c *statusCase) {
			c.changing = "UpdatingInPlace: Updating in place, no pod is replaced; " + sameVersion + ": 1 of 3 nodes are updated"
		}),
		row("in place: a node waits", memcached.InPlace{Open: true, Done: 1, Blocked: "Pod cache-1 waits for its resources"}, func(c *statusCase) {
			c.changing = "UpdatingInPlace: Pod cache-1 waits for its resources"
		}),
		row("in place: paused in the middle", memcached.InPlace{Open: true, Done: 1}, func(c *statusCase) {
			c.mc = memcachedtest.Cache(3, inStatefulSet, inPlace, memcachedtest.Paused)
			c.ready = "Unknown Paused: spec.paused holds back: the rest of a change in place"
			c.progressing = "False Paused: spec.paused holds back: the rest of a change in place; the pods will stay, and change in place" + resume
		}),
		row("in place: refused", memcached.InPlace{Open: true, Done: 1, Problem: &memcached.Problem{
			Reason: cachev1alpha1.ReasonInPlaceRefused, Message: "no room",
		}}, func(c *statusCase) {
			c.ready, c.degraded = "False InPlaceRefused: no room", "True InPlaceRefused: no room"
			c.progressing = seeDegraded
		}),
		row("in place: forbidden", memcached.InPlace{Open: true}, func(c *statusCase) {
			c.written = memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonInPlaceForbidden, Message: "no"}}
			c.ready, c.degraded = "False InPlaceForbidden: no", "True InPlaceForbidden: no"
			c.progressing = seeDegraded
		}),
		row("in place: paused before", memcached.InPlace{Open: true}, paused, func(c *statusCase) {
			c.progressing = held + "the pods will stay, and change in place" + resume
		}),
		row("in place: paused before, without their items", memcached.InPlace{Open: true, OtherImage: true}, paused, func(c *statusCase) {
			c.progressing = held + "the pods will stay, but the nodes will restart without their items" + resume
		}),
		row("in place: paused before, another image, items in a file", memcached.InPlace{Open: true, OtherImage: true}, paused, inFile, func(c *statusCase) {
			c.progressing = held + "the pods will stay; " + sameVersion + resume
		}),
		row("not in place: paused before", memcached.InPlace{}, paused, func(c *statusCase) {
			c.progressing = held + "the nodes will be replaced, without their items" + resume
		}),
	}
}

func TestARestartWithAnotherImageIsNoCrash(t *testing.T) {
	for code, crashes := range map[int32]bool{0: false, 1: true} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "cache-0", Annotations: map[string]string{memcached.InPlaceAnnotation: "{}"}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				Name: memcached.ContainerName, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed"}},
			}}},
		}
		if problem := crashing(pod); (problem != nil) != crashes {
			t.Errorf("exit code %d: %v", code, problem)
		}
	}
}
