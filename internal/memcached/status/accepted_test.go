// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// reportedBefore sets a last status with Available True and these counts of nodes.
func reportedBefore(ready, updated int32) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Status = cachev1alpha1.MemcachedStatus{
			ObservedGeneration: mc.Generation, Replicas: ready, ReadyReplicas: ready, UpdatedReplicas: updated,
			Conditions: []metav1.Condition{{
				Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon),
			}},
		}
	}
}

func accepted(replicas int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas }
}

// acceptedRows have a spec.size that differs from the size of the Deployment or from the number of ready nodes. One row instead has a
// change of the image that is refused in a rollout.
func acceptedRows(t *testing.T) []statusCase {
	const quota = "exceeded quota: pods"
	five := memcachedtest.Cache(5)
	outOfThree := func(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
		return makeDeployment(t, five, append([]func(*appsv1.Deployment){accepted(3), settled}, changes...)...)
	}
	noPods := func(mc *cachev1alpha1.Memcached, nodes int32) *appsv1.Deployment {
		return makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, nodes, nodes, nodes), progress(rolloutComplete), refused(quota))
	}
	noQuota := memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonQuotaExceeded, Message: quota}}
	one := memcachedtest.Cache(1)
	all := memcachedtest.Cache(3, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromString("100%"))
	})
	return []statusCase{{
		name: "a larger size is refused: nothing is lost", mc: five, deployment: outOfThree(), pods: makePods(3), written: noQuota,
		stuck: "QuotaExceeded: " + quota, available: "True AsExpected: 3 of 5 nodes are ready",
	}, {
		name: "a larger size is refused, and nodes are lost", mc: memcachedtest.Cache(5, reportedBefore(3, 3)), deployment: outOfThree(),
		pods: makePods(1), written: noQuota, stuck: "QuotaExceeded: " + quota,
		available: "False NotReady: 1 of 5 nodes are ready, 2 are needed",
	}, {
		name: "a larger size and an image are refused in a rollout", mc: memcachedtest.Cache(5, memcachedtest.Image("memcached:2")),
		deployment: outOfThree(specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")), pods: makePods(3),
		written: noQuota, stuck: "QuotaExceeded: " + quota, available: "True AsExpected: 3 of 5 nodes are ready",
	}, {
		name: "an image is refused in a rollout", mc: memcachedtest.Cache(3, memcachedtest.Image("memcached:2")),
		deployment: outOfThree(specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")), pods: makePods(3),
		written: noQuota, stuck: "QuotaExceeded: " + quota,
	}, {
		name: "a larger size is held back", mc: memcachedtest.Cache(5, memcachedtest.Paused), deployment: outOfThree(), pods: makePods(3),
		written:     memcached.Written{Pending: []string{"Deployment"}},
		ready:       "Unknown Paused: spec.paused holds back: the Deployment, scaling from 3 to 5 nodes, which remaps keys",
		available:   "True AsExpected: 3 of 5 nodes are ready",
		progressing: "False Paused: spec.paused holds back: the Deployment, scaling from 3 to 5 nodes, which remaps keys" + resume,
	}, {
		name: "a smaller size is refused: no more than it asks for is needed", mc: one,
		deployment: makeDeployment(t, one, accepted(3), settled), pods: makePods(1), written: noQuota, stuck: "QuotaExceeded: " + quota,
		available: "True AsExpected: 1 of 1 nodes are ready",
	}, {
		name: "additional pods are refused: nodes that never were are not lost", mc: memcachedtest.Cache(5, reportedBefore(3, 3)),
		deployment: noPods(five, 3), pods: makePods(3), stuck: "QuotaExceeded: " + quota,
		available: "True AsExpected: 3 of 5 nodes are ready",
	}, {
		name: "pods in the place of lost ones are refused", mc: memcachedtest.Cache(5, reportedBefore(5, 5)), deployment: noPods(five, 3),
		pods: makePods(3), stuck: "QuotaExceeded: " + quota, available: "False NotReady: 3 of 5 nodes are ready, 4 are needed",
	}, {
		name: "additional pods are refused, and a node is lost", mc: memcachedtest.Cache(5, reportedBefore(3, 3)),
		deployment: noPods(five, 3), pods: append(makePods(2), makePod("cache-5d4f-02", notReady)), stuck: "QuotaExceeded: " + quota,
		available: "False NotReady: 2 of 5 nodes are ready, 4 are needed",
	}, {
		name: "additional nodes start: nothing is lost", mc: memcachedtest.Cache(5, reportedBefore(1, 1)),
		deployment: makeDeployment(t, five, specGeneration(2), revision(1), counts(2, 5, 5, 1), progress(rolloutComplete)),
		pods:       append(makePods(1), makePod("cache-5d4f-08", notReady), makePod("cache-5d4f-09", notReady)),
		ready:      "False NotReady: 1 of 5 nodes are ready", available: "True AsExpected: 1 of 5 nodes are ready",
	}, {
		name: "the first nodes of a size that was 0", mc: memcachedtest.Cache(3, reportedBefore(0, 0)),
		deployment: makeDeployment(t, memcachedtest.Cache(3), specGeneration(2), revision(1), counts(2, 0, 0, 0), progress(rolloutComplete)),
		changing:   "Scaling: Scaling from 0 to 3 nodes", available: unavailable0,
	}, {
		name: "all nodes may be unavailable, and are", mc: all, pods: makePods(3, notReady), ready: "False NotReady: 0 of 3 nodes are ready",
		available: "False NotReady: 0 of 3 nodes are ready, 1 are needed",
	}, {
		name: "all nodes may be unavailable, and one is ready", mc: all, pods: append(makePods(1), makePod("cache-5d4f-08", notReady)),
		ready: "False NotReady: 1 of 3 nodes are ready", available: "True AsExpected: 1 of 3 nodes are ready",
	}}
}
