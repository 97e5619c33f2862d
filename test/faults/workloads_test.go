// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// workload contains what the oracles read from a Deployment or StatefulSet.
type workload struct {
	client.Object
	kind     cachev1alpha1.WorkloadKind
	template *corev1.PodTemplateSpec

	// size is the number of nodes in the spec. replicas, updated and ready are the counts in the status.
	size, replicas, updated, ready int32
	// observed is status.observedGeneration. rolledOut reports whether the last rollout is complete.
	observed  int64
	rolledOut bool
}

// workloadOf converts a Deployment or StatefulSet. It returns nil for an object of another Kind.
func workloadOf(object client.Object) *workload {
	switch w := object.(type) {
	case *appsv1.Deployment:
		return &workload{
			Object: w, kind: cachev1alpha1.WorkloadDeployment, template: &w.Spec.Template, size: ptr.Deref(w.Spec.Replicas, 0),
			replicas: w.Status.Replicas, updated: w.Status.UpdatedReplicas, ready: w.Status.ReadyReplicas,
			observed: w.Status.ObservedGeneration, rolledOut: progressOf(w) == "NewReplicaSetAvailable",
		}
	case *appsv1.StatefulSet:
		return &workload{
			Object: w, kind: cachev1alpha1.WorkloadStatefulSet, template: &w.Spec.Template, size: ptr.Deref(w.Spec.Replicas, 0),
			replicas: w.Status.Replicas, updated: w.Status.Replicas, ready: w.Status.ReadyReplicas,
			observed: w.Status.ObservedGeneration, rolledOut: true, // atTarget checks the pods
		}
	default:
		return nil
	}
}

func (w *workload) complete(size int32) bool {
	return w.updatedTo(size) && w.ready == size
}

// updatedTo reports whether the workload has exactly this many nodes, all with its current template. They need not be ready.
func (w *workload) updatedTo(size int32) bool {
	return w.size == size && w.observed == w.GetGeneration() && w.rolledOut && w.replicas == size && w.updated == size
}

func (w *workload) String() string {
	return fmt.Sprintf("generation %d, observed %d, size %d, %d replicas, %d updated, %d ready, rolled out: %t",
		w.GetGeneration(), w.observed, w.size, w.replicas, w.updated, w.ready, w.rolledOut)
}

func wantedKind(mc *cachev1alpha1.Memcached) cachev1alpha1.WorkloadKind {
	return cmp.Or(mc.Spec.Workload, cachev1alpha1.WorkloadDeployment)
}

// workloads returns the workload that the spec asks for, and the other one. Each is nil if it does not exist.
func (o objects) workloads(mc *cachev1alpha1.Memcached) (wanted, other *workload) {
	for _, resource := range []string{"deployments", "statefulsets"} {
		switch w := workloadOf(o[resource+"/"+cacheName]); {
		case w == nil:
		case w.kind == wantedKind(mc):
			wanted = w
		default:
			other = w
		}
	}
	return wanted, other
}

// servers returns the addresses of all nodes if the spec asks for a StatefulSet, or else nil.
func servers(mc *cachev1alpha1.Memcached) []string {
	if wantedKind(mc) != cachev1alpha1.WorkloadStatefulSet {
		return nil
	}
	var addresses []string
	for i := range mc.Spec.Size {
		addresses = append(addresses, fmt.Sprintf("%s-%d.%s.%s.svc:11211", mc.Name, i, mc.Name, mc.Namespace))
	}
	return addresses
}
