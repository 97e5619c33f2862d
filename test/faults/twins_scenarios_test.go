// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// twinName is the name of the second Memcached, in scenarios with two.
const twinName = "twin"

// twinScenarios are the scenarios of two Memcacheds that name each other in spec.fillFrom.
var twinScenarios = []scenario{
	{name: "twins-image-change", faults: unknownFaults, setup: func(r *scenarioRun) {
		running(2, statefulSetNodes, func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.Dump = ptr.To(true) })(r)
		twin := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: twinName}, Spec: cachev1alpha1.MemcachedSpec{Size: 2}}
		filledFrom(cacheName)(&twin.Spec)
		r.create(twin)
		r.await("one twin", bothWith(""))
		r.changeSpec(filledFrom(twinName))
		r.await("set up", bothWith(""))
	}, act: func(r *scenarioRun) {
		for _, name := range []string{twinName, cacheName} {
			change(r.sandbox, &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(mc *cachev1alpha1.Memcached) {
				withNewImage(&mc.Spec)
			})
		}
	}, done: bothWith("memcached:1.6.46")},
}

func filledFrom(name string) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) {
		statefulSetNodes(spec)
		spec.Config.Dump, spec.FillFrom = ptr.To(true), &cachev1alpha1.MemcachedFillFrom{Name: name}
	}
}

// bothWith checks that both Memcacheds are settled and that each node has this image. An empty image stands for any image.
func bothWith(image string) func(objects) string {
	return func(now objects) string {
		if missing := settled(now) + hasAll(now); missing != "" {
			return missing
		}
		twin, _ := now["memcacheds/"+twinName].(*cachev1alpha1.Memcached)
		if twin == nil || !meta.IsStatusConditionTrue(twin.Status.Conditions, cachev1alpha1.ConditionReady) ||
			twin.Status.ObservedGeneration != twin.Generation || now.away(twinName) > 0 {
			return fmt.Sprintf("the twin is %v", twin)
		}
		for key, object := range now {
			pod, ok := object.(*corev1.Pod)
			if ok && image != "" && key != "pods/theirs" && pod.Spec.Containers[0].Image != image {
				return fmt.Sprintf("%s has %s", pod.Name, pod.Spec.Containers[0].Image)
			}
		}
		return ""
	}
}

// memcachedsIn returns cacheName, and twinName if the history contains the second Memcached.
func memcachedsIn(entries []entry) []string {
	for _, e := range entries {
		if _, ok := e.object.(*cachev1alpha1.Memcached); ok && e.object.GetName() == twinName {
			return []string{cacheName, twinName}
		}
	}
	return []string{cacheName}
}

// twinViolations returns the first moment at which more than one node of the two Memcacheds was unavailable, after all nodes had been
// ready. Two nodes with the same ordinal have the same items: if both are unavailable, no node has these items. The rule also covers
// nodes with different ordinals.
func twinViolations(entries []entry) []string {
	now, whole := objects{}, false
	for _, e := range entries {
		now.add(e)
		ours, theirs := now.away(cacheName), now.away(twinName)
		whole = whole || ours == 0 && theirs == 0
		if whole && ours+theirs > 1 {
			return []string{fmt.Sprintf("version %d: %d and %d nodes of the twins are away at the same time", e.version, ours, theirs)}
		}
	}
	return nil
}

// away returns how many nodes of a Memcached are missing, not ready or terminating, or -1 if the Memcached does not exist.
func (o objects) away(name string) int {
	mc, _ := o["memcacheds/"+name].(*cachev1alpha1.Memcached)
	if mc == nil {
		return -1
	}
	away := int(mc.Spec.Size)
	for ordinal := range mc.Spec.Size {
		if pod, ok := o[fmt.Sprintf("pods/%s-%d", name, ordinal)].(*corev1.Pod); ok && podReady(pod) && pod.DeletionTimestamp == nil {
			away--
		}
	}
	return away
}
