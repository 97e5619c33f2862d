// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// statefulSetScenarios are the scenarios of StatefulSets.
var statefulSetScenarios = []scenario{
	{name: "statefulset-create", act: func(r *scenarioRun) { r.createCache(2, statefulSetNodes) }},
	{name: "statefulset-scale-up", setup: running(1, statefulSetNodes), act: changesTo(withSize(3))},
	{name: "statefulset-scale-down", setup: running(3, statefulSetNodes), act: changesTo(withSize(1))},
	{name: "new-template", setup: running(2, statefulSetNodes), act: changesTo(
		func(spec *cachev1alpha1.MemcachedSpec) {
			withNewImage(spec)
			moreMemory(spec)
			spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "new"}
			spec.UpdateStrategy.MinReadySeconds = 1
		})},
	{name: "arguments-in-place", setup: running(3, statefulSetNodes, inFiles), act: func(r *scenarioRun) {
		r.changeInPlace(withThreads(3))
	}},
	{name: "arguments-refused", setup: running(2, statefulSetNodes, inFiles), act: func(r *scenarioRun) {
		r.changeSpec(withThreads(refusedThreads))
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonChangeRefused)
		r.wire.nextStep()
		r.changeInPlace(withThreads(5))
	}},
	{name: "image-and-memory-in-place", setup: running(2, inPlace), act: func(r *scenarioRun) {
		r.changeInPlace(withNewImage, moreMemory)
	}},
	{name: "image-refused", setup: running(2, inPlace), act: func(r *scenarioRun) {
		r.changeSpec(withImage(missingImage))
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonImagePullFailed)
		r.await("the former image", func(now objects) string {
			if nodes := now.nodes(); len(nodes) != 2 {
				return fmt.Sprintf("only %v are ready", nodes)
			}
			return ""
		})
		r.wire.nextStep()
		r.changeInPlace(withNewImage)
	}},
	{name: "size-during-change", setup: running(2, inPlace), act: func(r *scenarioRun) {
		r.stopHalfWay(unreadyImage)
		r.changeSpec(withSize(3))
		r.await("the new node", func(now objects) string {
			if pod, _ := now["pods/"+cacheName+"-2"].(*corev1.Pod); pod == nil || !podReady(pod) || pod.Spec.Containers[0].Image == unreadyImage {
				return fmt.Sprintf("it is %v", pod)
			}
			return ""
		})
		r.wire.nextStep()
		r.changeSpec(withNewImage)
	}},
	{name: "paused-half-way", setup: running(2, statefulSetNodes), act: func(r *scenarioRun) {
		r.stopHalfWay(unreadyImage)
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = true })
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.changeSpec(withNewImage)
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.wire.nextStep()
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = false })
	}},
	{name: "statefulset-edited-and-deleted", setup: running(1, statefulSetNodes), act: func(r *scenarioRun) {
		change(r.sandbox, &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		})
		r.await("the update strategy is back", func(now objects) string {
			strategy := get[*appsv1.StatefulSet](now, "statefulsets").Spec.UpdateStrategy
			if strategy.Type != appsv1.OnDeleteStatefulSetStrategyType || strategy.RollingUpdate != nil {
				return fmt.Sprintf("it is %+v", strategy)
			}
			return ""
		})
		change(r.sandbox, &corev1.ConfigMap{}, func(c *corev1.ConfigMap) { c.Data["note"] = "theirs" })
		r.await("the note is gone", func(now objects) string {
			if c, ok := now["configmaps/"+cacheName+memcached.ServersSuffix].(*corev1.ConfigMap); !ok || c.Data["note"] != "" {
				return fmt.Sprintf("it is %v", c)
			}
			return ""
		})
		r.remove(&corev1.ConfigMap{})
		r.remove(&appsv1.StatefulSet{})
	}, done: hasAll},
	{name: "host-lost", setup: running(2, statefulSetNodes), act: func(r *scenarioRun) {
		r.loseHostOf(cacheName + "-1")
	}},
}

func statefulSetNodes(spec *cachev1alpha1.MemcachedSpec) {
	spec.Workload = cachev1alpha1.WorkloadStatefulSet
}

func inPlace(spec *cachev1alpha1.MemcachedSpec) {
	statefulSetNodes(spec)
	spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}

func withImage(image string) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Image = image }
}

func withThreads(threads int32) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.Threads = threads }
}

func moreMemory(spec *cachev1alpha1.MemcachedSpec) {
	spec.Config.Memory = ptr.To(resource.MustParse("128Mi"))
}

// inFiles makes memcached store items in files, so that they survive its restarts.
func inFiles(spec *cachev1alpha1.MemcachedSpec) {
	moreMemory(spec)
	spec.Storage.Type = cachev1alpha1.StorageMemoryFile
}

// changeInPlace changes the spec, and waits until every pod matches it. No pod may be replaced meanwhile.
func (r *scenarioRun) changeInPlace(edits ...func(*cachev1alpha1.MemcachedSpec)) {
	r.Helper()
	before := podUIDs(latest(history.of(r.namespace)))
	r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) {
		for _, edit := range edits {
			edit(spec)
		}
	})
	r.await("the change in place", func(now objects) string {
		if uids := podUIDs(now); !maps.Equal(before, uids) {
			return fmt.Sprintf("the pods were %v and are %v", before, uids)
		}
		return settled(now)
	})
}

func podUIDs(now objects) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range now.pods() {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// stopHalfWay changes the image to one with which the last node does not become ready, and waits until this node has it.
func (r *scenarioRun) stopHalfWay(image string) {
	r.Helper()
	r.changeSpec(withImage(image))
	r.await("the last node has the image", func(now objects) string {
		mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
		last, _ := now[fmt.Sprintf("pods/%s-%d", cacheName, mc.Spec.Size-1)].(*corev1.Pod)
		if last == nil || podReady(last) || last.Spec.Containers[0].Image != image {
			return fmt.Sprintf("it is %v", last)
		}
		return ""
	})
	r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonRollingOut)
	r.wire.nextStep()
}

// loseHostOf evicts a pod like the taint manager does when a cluster node stops reporting. The pod stays terminating, because no
// kubelet completes its deletion.
func (r *scenarioRun) loseHostOf(name string) {
	r.Helper()
	pod := &corev1.Pod{}
	r.must(user.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, pod))
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
	})
	r.must(user.Status().Update(r.ctx, pod))
	r.must(user.Delete(r.ctx, pod, client.GracePeriodSeconds(1)))
	r.await("the eviction", func(now objects) string {
		if now, ok := now["pods/"+name].(*corev1.Pod); ok && now.UID == pod.UID && now.DeletionTimestamp == nil {
			return "the pod does not terminate"
		}
		return ""
	})
}

// twinName is the name of the second Memcached, in scenarios with two.
const twinName = "twin"

// twinScenarios are the scenarios of two Memcacheds that name each other in spec.fillFrom.
var twinScenarios = []scenario{
	{name: "twins-image-change", setup: func(r *scenarioRun) {
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
