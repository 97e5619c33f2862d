// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

func hasStatefulSets(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet
}

func hasProxies(mc *cachev1alpha1.Memcached) bool { return mc.Spec.Proxy != nil || mc.Spec.Copies > 1 }

// workloadsOf returns the keys of the workloads of the nodes, the first copy first.
func workloadsOf(mc *cachev1alpha1.Memcached) []string {
	if !hasStatefulSets(mc) {
		return []string{"deployments/" + cacheName}
	}
	return []string{"statefulsets/" + cacheName, "statefulsets/" + cacheName + "-b"}[:max(mc.Spec.Copies, 1)]
}

// settled checks that the Memcached is Ready for its current spec and that nothing changes any more.
func settled(now objects) string {
	mc := now.cache()
	if mc == nil {
		return "there is no Memcached"
	}
	if missing := unfinished(mc, now); missing != "" {
		return missing
	}
	var nodes, servers []string
	for i, pod := range now.pods(now[workloadsOf(mc)[0]]) {
		nodes = append(nodes, pod.Name)
		if hasStatefulSets(mc) {
			servers = append(servers, fmt.Sprintf("%s-%d.%s.%s.svc:11211", cacheName, i, nodesName, mc.Namespace))
		}
	}
	switch ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); {
	case ready == nil || ready.Status != metav1.ConditionTrue || mc.Status.ObservedGeneration != mc.Generation:
		return fmt.Sprintf("Ready is %+v for generation %d", ready, mc.Generation)
	case !slices.Equal(nodes, mc.Status.Nodes) || !slices.Equal(servers, mc.Status.Servers):
		return fmt.Sprintf("the nodes are %v at %v, want %v at %v", mc.Status.Nodes, mc.Status.Servers, nodes, servers)
	}
	return cmp.Or(proxiesUnfinished(mc, now), different(mc, now))
}

// unfinished returns what of the spec is not true of the workloads and pods of the nodes.
func unfinished(mc *cachev1alpha1.Memcached, now objects) string {
	for _, key := range workloadsOf(mc) {
		w := now[key]
		if w == nil || !metav1.IsControlledBy(w, mc) {
			return "there is no " + key
		}
		pods := now.pods(w)
		if len(pods) != int(mc.Spec.Size) {
			return fmt.Sprintf("%s has %d pods, want %d", key, len(pods), mc.Spec.Size)
		}
		for _, pod := range pods {
			container := pod.Spec.Containers[0]
			arguments := " " + listIn(now, pod) + " "
			if !podReady(pod) || pod.DeletionTimestamp != nil || container.Image != cmp.Or(mc.Spec.Image, defaults.DefaultImage) ||
				!strings.Contains(arguments, fmt.Sprintf(" -m %d ", mc.Spec.Config.Memory.Value()>>20)) ||
				!strings.Contains(arguments, fmt.Sprintf(" -t %d ", cmp.Or(mc.Spec.Config.Threads, 4))) {
				return fmt.Sprintf("%s is %v with%s", pod.Name, pod.Status.Conditions, arguments)
			}
		}
	}
	return ""
}

// listIn returns the arguments that a pod was last asked for.
func listIn(now objects, pod *corev1.Pod) string {
	if config := get[*corev1.ConfigMap](now, "configmaps/"+cacheName+memcached.ArgumentsSuffix); config != nil {
		if entry := entryOf(config, pod); entry.Number != 0 {
			return entry.Arguments
		}
	}
	return strings.Join(pod.Spec.Containers[0].Args, " ")
}

func proxiesUnfinished(mc *cachev1alpha1.Memcached, now objects) string {
	status, deployment := mc.Status.Proxies, now["deployments/"+proxyName]
	if !hasProxies(mc) {
		return unless(status == nil && deployment == nil, "there are proxies: %+v", status)
	}
	if missing := hasAll(now); missing != "" {
		return missing
	}
	routes, err := routesIn(now)
	ready, at := 0, clockOf(mc.Namespace).Now()
	for _, pod := range now.pods(deployment) {
		if podReady(pod) {
			ready++
		}
	}
	size := mc.Spec.Size
	return unless(err == nil && ready == 2 && routes.Pool.At(at) == int(size) && routes.Pool.Wait(at) == 0 && status != nil &&
		status.Ready == 2 && status.Nodes == size && mc.Status.Address == fmt.Sprintf("%s.%s.svc:11211", cacheName, mc.Namespace),
		"%d proxies are ready with %s (%v); the status is %+v", ready, routes, err, status)
}

func routesIn(now objects) (protocol.Routes, error) {
	config := get[*corev1.ConfigMap](now, "configmaps/"+routesName)
	if config == nil {
		return protocol.Routes{}, fmt.Errorf("there are no routes")
	}
	return protocol.ParseRoutes(config.Data[protocol.RoutesKey])
}

// different checks that every pod of a StatefulSet is what a new pod would be, and that no entry is left that no pod needs.
func different(mc *cachev1alpha1.Memcached, now objects) string {
	config, entries := get[*corev1.ConfigMap](now, "configmaps/"+cacheName+memcached.ArgumentsSuffix), 0
	for _, key := range workloadsOf(mc) {
		set := get[*appsv1.StatefulSet](now, key)
		if set == nil {
			continue
		}
		template := set.Spec.Template
		first, newest := memcached.FirstList(&corev1.Pod{Spec: template.Spec}), askedOf(template.Annotations)
		least := mc.Spec.Config.Memory.Value() + 78<<20 // what the default number of connections and one thread need
		for _, pod := range now.pods(set) {
			asked, is, has := askedOf(pod.Annotations), template.Spec.Containers[0], pod.Spec.Containers[0]
			p, err := follow(context.Background(), pod) // real parents read their entries even if the operator asks none of them
			if err != nil || asked.Template != newest.Template || asked.Resources != newest.Resources || asked.Refused != nil ||
				has.Image != is.Image || has.Resources.Limits.Memory().Value() < least || !p.list.Same(first) {
				return fmt.Sprintf("%s was asked for %+v and runs %+v, a new one %+v and %+v (%v)", pod.Name, asked, p, newest, first, err)
			}
			if config != nil && entryOf(config, pod).Number != 0 {
				entries++
			}
		}
	}
	return unless(config == nil || len(config.Data) == entries, "there are %d entries for pods that exist: %v", entries, config)
}

func askedOf(annotations map[string]string) memcached.Asked {
	asked, _ := memcached.AskedOf(annotations)
	return asked
}

func hasAll(now objects) string {
	mc := now.cache()
	if mc == nil {
		return "there is no Memcached"
	}
	wanted := append(workloadsOf(mc), "services/"+nodesName, "poddisruptionbudgets/"+cacheName)
	if hasProxies(mc) {
		wanted = append(wanted, "services/"+cacheName, "poddisruptionbudgets/"+proxyName, "deployments/"+proxyName, "configmaps/"+routesName)
	}
	for _, key := range wanted {
		if now[key] == nil || !ownedByMemcached(now[key]) {
			return "the operator's object is missing: " + key
		}
	}
	return ""
}

func hasNone(now objects) string {
	for key, object := range now {
		if key == "memcacheds/"+cacheName || metav1.GetControllerOfNoCopy(object) != nil {
			return key + " exists"
		}
	}
	return ""
}

const (
	hashAnnotation = "cache.example.com/applied-hash"
	// noteAnnotation is an annotation that the tests set on a Service to trigger a reconciliation.
	noteAnnotation = "note-of-the-user"
)

// state returns the existing objects as JSON, by resource and name, without what differs between runs.
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
			object.Spec.ClusterIP, object.Spec.ClusterIPs = "", nil
		case *policyv1.PodDisruptionBudget:
			object.Status = policyv1.PodDisruptionBudgetStatus{}
		}
		text := strings.NewReplacer("."+namespace+".", ".", " "+namespace+" ", " ").Replace(string(mustMarshal(object)))
		texts[key] = differing.ReplaceAllString(text, "...")
	}
	return texts
}

// differing matches what differs between runs: times, UIDs, and the hash of a template that names the namespace.
var differing = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\\"applied\\":\\"[0-9a-f]+`)

// budgetViolations checks the budget of StatefulSets, which is one node of all copies: the operator must not stop a ready node while another
// one that has been ready once is away.
func budgetViolations(entries []entry) []string {
	var found []string
	now, served := objects{}, map[string]bool{}
	for _, e := range entries {
		pod, ok := e.object.(*corev1.Pod)
		if ok && stops(now, e, pod) {
			if other := now.away(pod.Name, served); other != "" {
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

// sets returns the StatefulSets of the operator.
func (o objects) sets() (sets []*appsv1.StatefulSet) {
	for _, object := range o {
		if set, ok := object.(*appsv1.StatefulSet); ok && ownedByMemcached(set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// stops reports whether the operator ends a ready pod of a StatefulSet, or changes its image. It leaves out what the StatefulSet's
// controller or somebody else does.
func stops(now objects, e entry, pod *corev1.Pod) bool {
	before := get[*corev1.Pod](now, e.key())
	ordinal, _ := memcached.Ordinal(pod)
	member := slices.ContainsFunc(now.sets(), func(set *appsv1.StatefulSet) bool {
		return metav1.IsControlledBy(pod, set) && ordinal < int(*set.Spec.Replicas)
	})
	if !member || !podReady(before) || before.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || lost(pod) {
		return false
	}
	return e.deleted || pod.DeletionTimestamp != nil || pod.Spec.Containers[0].Image != before.Spec.Containers[0].Image
}

// away returns the name of a node of a StatefulSet, other than the one with the name but, that has been ready once, and is missing, not ready
// or about to restart with a new image. It returns "" if there is none. If served is nil, all have been ready.
func (o objects) away(but string, served map[string]bool) string {
	for _, set := range o.sets() {
		for ordinal := range int(*set.Spec.Replicas) {
			name := fmt.Sprintf("%s-%d", set.Name, ordinal)
			if name == but || served != nil && !served[name] {
				continue
			}
			pod := get[*corev1.Pod](o, "pods/"+name)
			if !podReady(pod) || pod.DeletionTimestamp != nil {
				return name
			}
			if is := memcached.StatusOf(pod, memcached.ContainerName); is != nil && is.Image != pod.Spec.Containers[0].Image {
				return name
			}
		}
	}
	return ""
}

// routesViolations checks that the time does not change at which an announced number of nodes takes effect, because some proxies may
// already have read it.
func routesViolations(entries []entry) []string {
	var found []string
	var was protocol.Pool
	for _, e := range entries {
		routes, err := routesIn(objects{e.key(): e.object})
		if err != nil {
			continue
		}
		is := routes.Pool
		if was.Next != nil && is.Next != nil && was.Count == is.Count && was.Next.Count == is.Next.Count && !was.Next.From.Equal(is.Next.From) {
			found = append(found, fmt.Sprintf("version %d: %+v became %+v", e.version, was.Next, is.Next))
		}
		was = is
	}
	return found
}

// statusViolations checks rules for the status: Ready must not be reported too early, and observedGeneration must not decrease.
func statusViolations(entries []entry) []string {
	var found []string
	var before *cachev1alpha1.Memcached
	now, completed := objects{}, false // completed: the objects have been as the present generation wants them at least once
	for _, e := range entries {
		now.add(e) // a deleted workload does not reset completed, because the operator may learn of it late
		mc, ok := e.object.(*cachev1alpha1.Memcached)
		if ok {
			if before != nil && before.UID != mc.UID {
				before = nil
			}
			completed = before != nil && before.Generation == mc.Generation && completed || unfinished(mc, now) == ""
			found = append(found, violations(before, mc, completed)...)
			before = mc
		} else if before != nil {
			completed = completed || unfinished(before, now) == ""
		}
	}
	return found
}

func violations(before, mc *cachev1alpha1.Memcached, completed bool) []string {
	var found []string
	report := func(format string, args ...any) {
		found = append(found, fmt.Sprintf("resource version %s: ", mc.ResourceVersion)+fmt.Sprintf(format, args...))
	}
	status := mc.Status
	if status.ObservedGeneration > mc.Generation || before != nil && status.ObservedGeneration < before.Status.ObservedGeneration {
		report("observedGeneration is %d, generation %d", status.ObservedGeneration, mc.Generation)
	}
	for _, condition := range status.Conditions {
		if condition.Reason != cachev1alpha1.ReasonWaitingForOperator && condition.ObservedGeneration != status.ObservedGeneration {
			report("the observedGeneration of %s is %d", condition.Type, condition.ObservedGeneration)
		}
	}
	isReady := func(mc *cachev1alpha1.Memcached) bool {
		return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	}
	wasReady := before != nil && isReady(before) && before.Status.ObservedGeneration == status.ObservedGeneration
	if isReady(mc) && !wasReady && status.ObservedGeneration == mc.Generation && !completed {
		report("Ready is True, but generation %d was never complete", mc.Generation)
	}
	if isReady(mc) && len(status.Nodes) != int(status.Replicas) {
		report("Ready is True with %d nodes of %d", len(status.Nodes), status.Replicas)
	}
	return found
}

func formatHistory(entries []entry) string {
	var text strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&text, "%d %s deleted: %t", e.version, e.key(), e.deleted)
		if mc, ok := e.object.(*cachev1alpha1.Memcached); ok {
			for _, condition := range mc.Status.Conditions {
				fmt.Fprintf(&text, " %s=%s/%s", condition.Type, condition.Status, condition.Reason)
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}
