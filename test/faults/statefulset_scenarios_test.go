// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// The scenarios of StatefulSets leave out faults that differ from others only in the error message, and faults that the scenarios of
// Deployments cover.
var (
	// distinctFaults has one write fault for each combination of two questions: Is the write executed? Does the operator restart? It also
	// has the watch faults after which the operator must list again.
	distinctFaults = &faultSet{
		writes: []string{crashBefore, crashAfter, lostResponse, internal500}, watches: []string{expired, dropped},
	}
	// unknownFaults leave the operator unaware that its write was executed, or that objects have changed.
	unknownFaults = &faultSet{writes: []string{crashAfter, lostResponse}, watches: []string{expired, dropped}}
)

// statefulSetScenarios are the scenarios of StatefulSets.
var statefulSetScenarios = []scenario{
	{name: "statefulset-create", faults: distinctFaults, act: func(r *scenarioRun) { r.createCache(2, statefulSetNodes) }},
	{name: "statefulset-scale-up", faults: unknownFaults, setup: running(1, statefulSetNodes), act: changesTo(withSize(3))},
	{name: "statefulset-scale-down", faults: unknownFaults, setup: running(3, statefulSetNodes), act: changesTo(withSize(1))},
	{name: "statefulset-image-change", faults: unknownFaults, setup: running(2, statefulSetNodes), act: changesTo(withNewImage)},
	{name: "statefulset-config-change", faults: unknownFaults, setup: running(2, statefulSetNodes), act: changesTo(
		func(spec *cachev1alpha1.MemcachedSpec) {
			moreMemory(spec)
			spec.UpdateStrategy.MinReadySeconds = 1
		})},
	{name: "statefulset-restart-in-place", faults: distinctFaults, setup: running(3, statefulSetNodes, inFiles), act: func(r *scenarioRun) {
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.Threads = 3 })
		r.await("all nodes run with 3 threads", threadsOf(r, "3"))
	}},
	{name: "image-in-place", faults: distinctFaults, setup: running(2, inPlaceIfPossible), act: func(r *scenarioRun) {
		r.changeInPlace(withNewImage)
	}},
	{name: "image-refused-in-place", faults: unknownFaults, setup: running(2, inPlaceIfPossible), act: func(r *scenarioRun) {
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Image = missingImage })
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonImagePullFailed)
		r.await("the former image", bothReady)
		r.proxy.nextStep()
		r.changeInPlace(withNewImage)
	}},
	{name: "memory-in-place", faults: distinctFaults, setup: running(2, inPlaceIfPossible), act: func(r *scenarioRun) {
		r.changeInPlace(moreMemory)
	}},
	{name: "less-memory-in-place", faults: unknownFaults, setup: running(2, inPlaceIfPossible, moreMemory), act: func(r *scenarioRun) {
		r.changeInPlace(func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.Memory = ptr.To(resource.MustParse("64Mi")) })
	}},
	{name: "statefulset-edited-and-deleted", faults: distinctFaults, setup: running(1, statefulSetNodes), act: func(r *scenarioRun) {
		change(r.sandbox, &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(int32(1))
		})
		r.await("the partition is gone", func(now objects) string {
			if s := get[*appsv1.StatefulSet](now, "statefulsets"); *s.Spec.UpdateStrategy.RollingUpdate.Partition != 0 {
				return fmt.Sprintf("it is %+v", s.Spec.UpdateStrategy)
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
	{name: "host-lost", faults: distinctFaults, setup: running(2, statefulSetNodes), act: func(r *scenarioRun) {
		r.loseHostOf(cacheName + "-1")
	}},
}

func statefulSetNodes(spec *cachev1alpha1.MemcachedSpec) {
	spec.Workload = cachev1alpha1.WorkloadStatefulSet
}

func inPlaceIfPossible(spec *cachev1alpha1.MemcachedSpec) {
	statefulSetNodes(spec)
	spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
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
func (r *scenarioRun) changeInPlace(edit func(*cachev1alpha1.MemcachedSpec)) {
	r.Helper()
	before := podUIDs(latest(history.of(r.namespace)))
	r.changeSpec(edit)
	r.await("the change in place", func(now objects) string {
		if uids := podUIDs(now); !maps.Equal(before, uids) {
			return fmt.Sprintf("the pods were %v and are %v", before, uids)
		}
		if missing := settled(now); missing != "" {
			return missing
		}
		return sameArguments(now)
	})
}

// bothReady checks that two pods are ready.
func bothReady(now objects) string {
	if nodes := now.nodes(); len(nodes) != 2 {
		return fmt.Sprintf("only %v are ready", nodes)
	}
	return ""
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
