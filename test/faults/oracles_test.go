// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// settled checks that the Memcached is Ready for its current spec and that nothing changes any more.
func settled(now objects) string {
	mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
	if mc == nil {
		return "there is no Memcached"
	}
	wanted, other := now.workloads(mc)
	nodes := now.nodes()
	switch ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); {
	case wanted == nil:
		return "there is no " + string(wantedKind(mc))
	case other != nil:
		return "there is still a " + string(other.kind)
	case !wanted.complete(mc.Spec.Size):
		return fmt.Sprintf("the %s is not complete: %s", wanted.kind, wanted)
	case len(now.pods()) != len(nodes) || len(nodes) != int(mc.Spec.Size):
		return fmt.Sprintf("%d of %d pods are ready, want %d", len(nodes), len(now.pods()), mc.Spec.Size)
	case ready == nil || ready.Status != metav1.ConditionTrue || mc.Status.ObservedGeneration != mc.Generation:
		return fmt.Sprintf("Ready is %+v for generation %d", ready, mc.Generation)
	case !slices.Equal(nodes, mc.Status.Nodes):
		return fmt.Sprintf("the nodes are %v, want %v", mc.Status.Nodes, nodes)
	case !slices.Equal(servers(mc), mc.Status.Servers):
		return fmt.Sprintf("the servers are %v, want %v", mc.Status.Servers, servers(mc))
	}
	return atTarget(now)
}

func hasAll(now objects) string {
	for _, resource := range []string{"services", "poddisruptionbudgets"} {
		if object := now[resource+"/"+cacheName]; object == nil || !ownedByMemcached(object) {
			return "the operator's object is missing in " + resource
		}
	}
	mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
	if mc == nil {
		return "there is no Memcached"
	}
	if wanted, _ := now.workloads(mc); wanted == nil || !ownedByMemcached(wanted) {
		return "the operator's workload is missing"
	}
	return ""
}

func hasNone(now objects) string {
	for key, object := range now {
		if strings.HasSuffix(key, "/"+cacheName) || ownedByMemcached(object) {
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
	// noteAnnotation is an annotation that the tests set on a Service to trigger a reconciliation.
	noteAnnotation = "note-of-the-user"
)

// state returns the existing objects as JSON, by resource and name, without the fields that differ between runs.
func state(now objects) map[string]string {
	texts := map[string]string{}
	for key, object := range now {
		object := object.DeepCopyObject().(client.Object)
		namespace := object.GetNamespace()
		object.SetNamespace("")
		object.SetUID("")
		object.SetResourceVersion("")
		object.SetGeneration(0)
		object.SetManagedFields(nil)
		object.SetCreationTimestamp(metav1.Time{})
		delete(object.GetAnnotations(), memcached.WakeAnnotation) // it only makes the kubelet update its copy of a ConfigMap sooner
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
		case *appsv1.StatefulSet:
			object.Status.ObservedGeneration = 0
		case *cachev1alpha1.MemcachedProxy:
			withoutTimes(object.Status.Conditions)
		case *cachev1alpha1.Memcached:
			withoutTimes(object.Status.Conditions)
		case *corev1.Service:
			object.Spec.ClusterIP, object.Spec.ClusterIPs = "", nil // the addresses differ between runs
		}
		texts[key] = withoutNamespace(string(mustMarshal(object)), namespace)
	}
	return texts
}

func withoutTimes(conditions []metav1.Condition) {
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.Time{}
	}
}

// withoutNamespace removes the namespace from the addresses in a text, the times from announced routes and refusals, and the UIDs of pods.
func withoutNamespace(text, namespace string) string {
	text = strings.NewReplacer("."+namespace+".", ".", " "+namespace+" ", " ").Replace(text)
	return timeOrUID.ReplaceAllString(text, "...")
}

var timeOrUID = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// changes returns the history of each object, by resource and name: its creation, its deletion and, for a child, each change of its
// spec. It leaves out Memcacheds and MemcachedProxies, and differences that depend on the operator's timing.
func changes(entries []entry) map[string][]string {
	found, before, specs := map[string][]string{}, map[string]string{}, map[string]string{}
	for _, e := range entries {
		if e.resource == "memcacheds" || e.resource == "memcachedproxies" {
			continue
		}
		switch spec := e.spec(); {
		case e.event == watch.Added:
			found[e.key()] = append(found[e.key()], "created "+spec)
		case e.event == watch.Deleted:
			found[e.key()] = append(found[e.key()], "deleted")
			delete(before, e.key())
			delete(specs, e.key())
			continue
		case specs[e.key()] == spec:
		case len(found[e.key()]) > 1 && sizeFirst(before[e.key()], specs[e.key()], spec):
			found[e.key()][len(found[e.key()])-1] = "changed to " + spec
		default:
			found[e.key()] = append(found[e.key()], "changed to "+spec)
		}
		if spec := e.spec(); specs[e.key()] != spec {
			before[e.key()], specs[e.key()] = specs[e.key()], spec
		}
	}
	return found
}

// sizeFirst compares three successive specs of a workload. It reports whether the first change sets only the size, and the second change
// keeps this size. The operator makes these two changes instead of one if the API server first refuses the whole change.
func sizeFirst(before, between, after string) bool {
	return before != "" && before != between && replicas.ReplaceAllString(before, "") == replicas.ReplaceAllString(between, "") &&
		replicas.FindString(between) == replicas.FindString(after)
}

var replicas = regexp.MustCompile(`^{"replicas":\d+`)

func (e entry) spec() string {
	if service, ok := e.object.(*corev1.Service); ok { // the addresses differ between runs
		copied := service.Spec
		copied.ClusterIP, copied.ClusterIPs = "", nil
		return string(mustMarshal(copied))
	}
	if child, ok := memcached.ChildOf(e.object); ok {
		return withoutNamespace(string(mustMarshal(child.Spec(e.object))), e.object.GetNamespace())
	}
	return ""
}
