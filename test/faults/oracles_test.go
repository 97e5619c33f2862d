// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// settled reports what is missing until the Memcached is Ready for its current spec and nothing changes any more.
func settled(now objects) string {
	mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
	if mc == nil {
		return "there is no Memcached"
	}
	d := get[*appsv1.Deployment](now, "deployments")
	nodes := []string{}
	for _, pod := range now.pods() {
		if podReady(pod) {
			nodes = append(nodes, pod.Name)
		}
	}
	switch ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); {
	case d == nil:
		return "there is no Deployment"
	case !complete(d, mc.Spec.Size):
		return fmt.Sprintf("the Deployment is not complete: %+v", d.Status)
	case len(now.pods()) != len(nodes) || len(nodes) != int(mc.Spec.Size):
		return fmt.Sprintf("%d of %d pods are ready, want %d", len(nodes), len(now.pods()), mc.Spec.Size)
	case ready == nil || ready.Status != metav1.ConditionTrue || mc.Status.ObservedGeneration != mc.Generation:
		return fmt.Sprintf("Ready is %+v for generation %d", ready, mc.Generation)
	case !slices.Equal(nodes, mc.Status.Nodes) && len(nodes)+len(mc.Status.Nodes) > 0:
		return fmt.Sprintf("the nodes are %v, want %v", mc.Status.Nodes, nodes)
	}
	return ""
}

// complete reports whether the Deployment has finished its rollout with this number of nodes.
func complete(d *appsv1.Deployment, size int32) bool {
	return ptr.Deref(d.Spec.Replicas, 0) == size && d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == size &&
		d.Status.UpdatedReplicas == size && d.Status.ReadyReplicas == size && progressOf(d) == "NewReplicaSetAvailable"
}

func hasAll(now objects) string {
	for _, resource := range []string{"services", "poddisruptionbudgets", "deployments"} {
		if object := now[resource+"/"+cacheName]; object == nil || !ownedByMemcached(object) {
			return "the operator's object is missing in " + resource
		}
	}
	return ""
}

func hasNone(now objects) string {
	for key := range now {
		if strings.HasSuffix(key, "/"+cacheName) {
			return key + " exists"
		}
	}
	if len(now.pods()) > 0 {
		return "there are pods"
	}
	return ""
}

func withoutDrift(now objects) string {
	service := get[*corev1.Service](now, "services")
	budget := get[*policyv1.PodDisruptionBudget](now, "poddisruptionbudgets")
	d := get[*appsv1.Deployment](now, "deployments")
	switch {
	case service == nil || service.Spec.PublishNotReadyAddresses || service.Labels[memcached.ManagedByLabel] == "":
		return fmt.Sprintf("the Service is %+v", service)
	case budget == nil || *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow:
		return fmt.Sprintf("the PodDisruptionBudget is %+v", budget)
	case d == nil || *d.Spec.ProgressDeadlineSeconds == 60 || d.Labels[memcached.ManagedByLabel] == "":
		return fmt.Sprintf("the Deployment is %+v", d)
	}
	return ""
}

const (
	hashAnnotation = "cache.example.com/applied-hash"
	// noteAnnotation is an annotation of a user, which triggers a reconciliation.
	noteAnnotation = "note-of-the-user"
)

// state returns the existing objects without the fields that differ between runs.
func state(now objects) map[string]string {
	texts := map[string]string{}
	for key, object := range now {
		object := object.DeepCopyObject().(client.Object)
		object.SetNamespace("")
		object.SetUID("")
		object.SetResourceVersion("")
		object.SetGeneration(0)
		object.SetManagedFields(nil)
		object.SetCreationTimestamp(metav1.Time{})
		if annotations := object.GetAnnotations(); annotations[hashAnnotation] != "" {
			delete(annotations, noteAnnotation)
			annotations[hashAnnotation] = "of what was applied, including the UID of the owner"
		}
		owners := object.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = ""
		}
		object.SetOwnerReferences(owners)
		switch object := object.(type) {
		case *appsv1.Deployment:
			object.Status.ObservedGeneration = 0
		case *cachev1alpha1.Memcached:
			for i := range object.Status.Conditions {
				object.Status.Conditions[i].LastTransitionTime = metav1.Time{}
			}
		case *corev1.Service:
			object.Spec.ClusterIP, object.Spec.ClusterIPs = "", nil // it depends on the foreign Service
		}
		texts[key] = string(mustMarshal(object))
	}
	return texts
}

// changes returns what happened to each child and pod: its creation and deletion, and every spec that it had, in order.
func changes(entries []entry) map[string][]string {
	found := map[string][]string{}
	specs := map[string]string{}
	for _, e := range entries {
		if e.resource == "memcacheds" {
			continue
		}
		spec := e.spec()
		switch {
		case e.event == watch.Added:
			found[e.key()] = append(found[e.key()], "created "+spec)
		case e.event == watch.Deleted:
			found[e.key()] = append(found[e.key()], "deleted")
		case specs[e.key()] != spec:
			found[e.key()] = append(found[e.key()], "changed to "+spec)
		}
		specs[e.key()] = spec
	}
	return found
}

func (e entry) spec() string {
	if service, ok := e.object.(*corev1.Service); ok { // whose addresses differ
		copied := service.Spec
		copied.ClusterIP, copied.ClusterIPs = "", nil
		return string(mustMarshal(copied))
	}
	if child, ok := memcached.ChildOf(e.object); ok {
		return string(mustMarshal(child.Spec(e.object)))
	}
	return ""
}
