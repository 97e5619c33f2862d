// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		for _, name := range []string{cacheName, twinName} {
			seen := now.seenAs(name)
			if missing := settled(seen) + hasAll(seen); missing != "" {
				return name + ": " + missing
			}
			for _, pod := range seen.pods() {
				if container := pod.Spec.Containers[0]; image != "" && container.Image != image {
					return fmt.Sprintf("%s has %s", pod.Name, container.Image)
				}
			}
		}
		return ""
	}
}

// ofMemcached reports whether an object has the name of this Memcached, or a name that begins with it and a hyphen. Children and pods
// have such names.
func ofMemcached(object client.Object, name string) bool {
	return object.GetName() == name || strings.HasPrefix(object.GetName(), name+"-")
}

// renamed returns a copy of an object in which cacheName replaces twinName everywhere, because the oracles look only for cacheName.
func renamed(object client.Object) client.Object {
	text := strings.ReplaceAll(string(mustMarshal(object)), twinName, cacheName)
	copied := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if err := json.Unmarshal([]byte(text), copied); err != nil {
		panic(err)
	}
	return copied
}

// historyOf prepares the history for oracles that check the Memcached with this name. It leaves out the objects of the other Memcached.
// The oracles look only for cacheName, so historyOf replaces twinName by cacheName.
func historyOf(entries []entry, name string) []entry {
	other := map[string]string{cacheName: twinName, twinName: cacheName}[name]
	var found []entry
	for _, e := range entries {
		if ofMemcached(e.object, other) {
			continue
		}
		if ofMemcached(e.object, twinName) {
			e.object = renamed(e.object)
		}
		found = append(found, e)
	}
	return found
}

// seenAs does the same as historyOf, but for the existing objects.
func (o objects) seenAs(name string) objects {
	var entries []entry
	for key, object := range o {
		resource, _, _ := strings.Cut(key, "/")
		entries = append(entries, entry{resource: resource, event: watch.Added, object: object})
	}
	return latest(historyOf(entries, name))
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
