// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
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
	"k8s.io/utils/ptr"
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
		return "there is still a " + other.String()
	case !wanted.complete(mc.Spec.Size):
		return "not complete: " + wanted.String()
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
		object.SetResourceVersion("")
		object.SetGeneration(0)
		object.SetManagedFields(nil)
		delete(object.GetAnnotations(), memcached.WakeAnnotation) // it only makes the kubelet update its copy of a ConfigMap sooner
		if annotations := object.GetAnnotations(); annotations[hashAnnotation] != "" {
			delete(annotations, noteAnnotation)
			annotations[hashAnnotation] = "of what was applied, including the UID of the owner"
		}
		switch object := object.(type) {
		case *appsv1.Deployment:
			object.Status.ObservedGeneration = 0
		case *appsv1.StatefulSet:
			object.Status.ObservedGeneration = 0
		case *corev1.Service:
			object.Spec.ClusterIP, object.Spec.ClusterIPs = "", nil // the addresses differ between runs
		}
		texts[key] = withoutNamespace(string(mustMarshal(object)), namespace)
	}
	return texts
}

// withoutNamespace removes the namespace from the addresses in a text, and all times and UIDs.
func withoutNamespace(text, namespace string) string {
	text = strings.NewReplacer("."+namespace+".", ".", " "+namespace+" ", " ").Replace(text)
	return timeOrUID.ReplaceAllString(text, "...")
}

var timeOrUID = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// changes returns the history of each object, by resource and name: its creation, its deletion and, for a child, each change of its
// spec. It leaves out Memcacheds and MemcachedProxies, and differences that depend on the operator's timing.
func changes(entries []entry) map[string][]string {
	found, specs := map[string][]string{}, map[string][]string{}
	for _, e := range entries {
		key, spec := e.key(), e.spec()
		had, last := specs[key], len(specs[key])-1
		switch {
		case e.resource == "memcacheds" || e.resource == "memcachedproxies":
			continue
		case e.event == watch.Deleted:
			found[key] = append(found[key], "deleted")
			delete(specs, key)
			continue
		case len(had) == 0:
			found[key] = append(found[key], "created "+spec)
		case had[last] == spec:
			continue
		case last > 0 && (strings.HasSuffix(key, memcached.ServersSuffix) || sizeFirst(had[last-1], had[last], spec)):
			found[key][len(found[key])-1] = "changed to " + spec // servers join one by one or together
		default:
			found[key] = append(found[key], "changed to "+spec)
		}
		specs[key] = append(had, spec)
	}
	return found
}

// sizeFirst compares three successive specs of a workload. It reports whether the first change sets only the size, and the second change
// keeps this size. The operator makes these two changes instead of one if the API server first refuses the whole change.
func sizeFirst(before, between, after string) bool {
	return replicas.ReplaceAllString(before, "") == replicas.ReplaceAllString(between, "") && replicas.FindString(between) == replicas.FindString(after)
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

// budgetViolations checks the budget of a StatefulSet, which is one node in all tests: the operator must not stop a ready node while another
// one that has been ready once is away.
func budgetViolations(entries []entry) []string {
	var found []string
	now, served := objects{}, map[string]bool{}
	for _, e := range entries {
		pod, ok := e.object.(*corev1.Pod)
		if ok && stops(now, e, pod) {
			if other := awayBeside(now, pod, served); other != "" {
				found = append(found, fmt.Sprintf("version %d: %s stops while %s is away", e.version, pod.Name, other))
			}
		}
		now.add(e)
		if ok && podReady(pod) {
			served[pod.Name] = true
		}
	}
	return found
}

// stops reports whether the operator deletes a ready pod of a StatefulSet, or changes its image. It leaves out what the StatefulSet's
// controller or somebody else does.
func stops(now objects, e entry, pod *corev1.Pod) bool {
	before, _ := now[e.key()].(*corev1.Pod)
	set := get[*appsv1.StatefulSet](now, "statefulsets")
	if before == nil || set == nil || !metav1.IsControlledBy(pod, set) || !podReady(before) || before.DeletionTimestamp != nil || disrupted(pod) {
		return false
	}
	ordinal, _ := memcached.Ordinal(pod)
	return ordinal < int(*set.Spec.Replicas) &&
		(e.event == watch.Deleted || pod.DeletionTimestamp != nil || pod.Spec.Containers[0].Image != before.Spec.Containers[0].Image)
}

// disrupted reports whether somebody else stops a pod.
func disrupted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || memcached.PodCondition(pod, corev1.DisruptionTarget) != nil
}

// awayBeside returns the name of another node that has been ready once, and is missing, not ready or about to restart. It returns "" if there
// is none.
func awayBeside(now objects, pod *corev1.Pod, served map[string]bool) string {
	set := get[*appsv1.StatefulSet](now, "statefulsets")
	for ordinal := range int(*set.Spec.Replicas) {
		name := fmt.Sprintf("%s-%d", cacheName, ordinal)
		other, exists := now["pods/"+name].(*corev1.Pod)
		if name == pod.Name || !served[name] || exists && podReady(other) && other.DeletionTimestamp == nil && !restartsSoon(other) {
			continue
		}
		return name
	}
	return ""
}

// restartsSoon reports whether the kubelet has not applied a new image yet.
func restartsSoon(pod *corev1.Pod) bool {
	status := memcached.StatusOf(pod, memcached.ContainerName)
	return status != nil && status.Image != pod.Spec.Containers[0].Image
}

// workload contains what the oracles read from a Deployment or StatefulSet.
type workload struct {
	client.Object
	template *corev1.PodTemplateSpec
	// size is the number of nodes in the spec, and ready that in the status. updated reports that all nodes exist, with the current template.
	size, ready int32
	updated     bool
}

// workloadOf converts a Deployment or StatefulSet. It returns nil for an object of another Kind.
func workloadOf(object client.Object) *workload {
	switch w := object.(type) {
	case *appsv1.Deployment:
		size, status := ptr.Deref(w.Spec.Replicas, 0), w.Status
		return &workload{
			Object: w, template: &w.Spec.Template, size: size, ready: status.ReadyReplicas, updated: status.ObservedGeneration == w.Generation &&
				status.Replicas == size && status.UpdatedReplicas == size && progressOf(w) == "NewReplicaSetAvailable",
		}
	case *appsv1.StatefulSet:
		size, status := ptr.Deref(w.Spec.Replicas, 0), w.Status
		return &workload{ // atTarget checks the pods
			Object: w, template: &w.Spec.Template, size: size, ready: status.ReadyReplicas,
			updated: status.ObservedGeneration == w.Generation && status.Replicas == size,
		}
	default:
		return nil
	}
}

func (w *workload) complete(size int32) bool { return w.size == size && w.ready == size && w.updated }

func (w *workload) String() string {
	return fmt.Sprintf("%T: size %d, %d ready, updated %t", w.Object, w.size, w.ready, w.updated)
}

func wantedKind(mc *cachev1alpha1.Memcached) cachev1alpha1.WorkloadKind {
	return cmp.Or(mc.Spec.Workload, cachev1alpha1.WorkloadDeployment)
}

// workloads returns the workload that the spec asks for, and the other one. Each is nil if it does not exist.
func (o objects) workloads(mc *cachev1alpha1.Memcached) (wanted, other *workload) {
	deployment, set := workloadOf(o["deployments/"+cacheName]), workloadOf(o["statefulsets/"+cacheName])
	if wantedKind(mc) == cachev1alpha1.WorkloadStatefulSet {
		return set, deployment
	}
	return deployment, set
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
