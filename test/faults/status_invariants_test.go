// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// statusViolations returns the violations of rules for the status: for example, Ready must not be reported too early, and
// observedGeneration must not decrease.
func statusViolations(entries []entry) []string {
	var found []string
	now := objects{}
	var before *cachev1alpha1.Memcached
	// completed means that satisfied has been true at least once for the current generation of the Memcached, and for the current size
	// and pod template of its workload.
	completed := false
	for _, e := range entries {
		if e.object.GetName() != cacheName && e.resource != "pods" && e.resource != "configmaps" {
			continue
		}
		if w := workloadOf(e.object); w != nil {
			last := workloadOf(now[e.key()])
			completed = completed && last != nil && last.GetUID() == w.GetUID() &&
				last.size == w.size && templateHash(last.template) == templateHash(w.template)
		}
		now.add(e) // a deleted workload does not reset completed, because the operator may learn of it late
		if mc, ok := e.object.(*cachev1alpha1.Memcached); ok {
			if before != nil && before.UID != mc.UID {
				before = nil
			}
			completed = completed && before != nil && before.Generation == mc.Generation || satisfied(mc, now)
			found = append(found, violations(before, mc, completed)...)
			before = mc
		}
		if before != nil {
			completed = completed || satisfied(before, now)
		}
	}
	return found
}

// satisfied reports whether the only workload matches the Memcached's spec and all its pods are ready. Ready pods count even if the
// workload's status does not count them yet.
func satisfied(mc *cachev1alpha1.Memcached, now objects) bool {
	w, other := now.workloads(mc)
	if w == nil || other != nil || metav1.GetControllerOfNoCopy(w) == nil || metav1.GetControllerOfNoCopy(w).UID != mc.UID {
		return false
	}
	container := w.template.Spec.Containers[0]
	ready := w.ready == mc.Spec.Size || len(now.nodes()) == int(mc.Spec.Size)
	// With OnDelete, the StatefulSet's controller need not have observed the template.
	sized := w.size == mc.Spec.Size && (w.updated || wantedKind(mc) == cachev1alpha1.WorkloadStatefulSet)
	return sized && ready && (mc.Spec.Image == "" || container.Image == mc.Spec.Image) && configured(mc, now, w)
}

// configured reports whether the memcached arguments of every node have the memory and the threads of the spec. Every pod of a StatefulSet
// must also have the image of the spec.
func configured(mc *cachev1alpha1.Memcached, now objects, w *workload) bool {
	lists := []string{strings.Join(w.template.Spec.Containers[0].Args, " ")}
	if wantedKind(mc) == cachev1alpha1.WorkloadStatefulSet {
		for _, pod := range now.pods() {
			lists = append(lists, listIn(now, pod).Arguments)
			if mc.Spec.Image != "" && pod.Spec.Containers[0].Image != mc.Spec.Image {
				return false
			}
		}
	}
	for _, list := range lists {
		if !strings.Contains(list+" ", fmt.Sprintf("-m %d ", mc.Spec.Config.Memory.Value()>>20)) ||
			mc.Spec.Config.Threads > 0 && !strings.Contains(list, fmt.Sprintf("-t %d ", mc.Spec.Config.Threads)) {
			return false
		}
	}
	return true
}

func violations(before, mc *cachev1alpha1.Memcached, completed bool) []string {
	var found []string
	report := func(format string, args ...any) {
		found = append(found, fmt.Sprintf("resource version %s: ", mc.ResourceVersion)+fmt.Sprintf(format, args...))
	}
	status := mc.Status
	if status.ObservedGeneration > mc.Generation {
		report("observedGeneration is %d, generation %d", status.ObservedGeneration, mc.Generation)
	}
	if before != nil && status.ObservedGeneration < before.Status.ObservedGeneration {
		report("observedGeneration is %d, after %d", status.ObservedGeneration, before.Status.ObservedGeneration)
	}
	for _, condition := range status.Conditions {
		if condition.Reason != cachev1alpha1.ReasonWaitingForOperator && condition.ObservedGeneration != status.ObservedGeneration {
			report("the observedGeneration of %s is %d", condition.Type, condition.ObservedGeneration)
		}
	}
	ready := meta.IsStatusConditionTrue(status.Conditions, cachev1alpha1.ConditionReady)
	wasReady := before != nil && meta.IsStatusConditionTrue(before.Status.Conditions, cachev1alpha1.ConditionReady) &&
		before.Status.ObservedGeneration == status.ObservedGeneration
	if ready && !wasReady && status.ObservedGeneration == mc.Generation && !completed {
		report("Ready is True, but generation %d was never complete", mc.Generation)
	}
	if ready && len(status.Nodes) != int(status.Replicas) {
		report("Ready is True with %d nodes of %d", len(status.Nodes), status.Replicas)
	}
	return found
}

func formatHistory(entries []entry) string {
	var text strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&text, "%d %s %s", e.version, e.event, e.key())
		if mc, ok := e.object.(*cachev1alpha1.Memcached); ok {
			for _, condition := range mc.Status.Conditions {
				fmt.Fprintf(&text, " %s=%s/%s", condition.Type, condition.Status, condition.Reason)
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}
