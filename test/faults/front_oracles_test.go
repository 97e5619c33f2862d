// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// frontSize is how many pods the MemcachedProxy has: the default size.
const frontSize = 2

// frontWrites are the writes that the operator may send for the MemcachedProxy, each with the name of the object.
var frontWrites = map[string]string{
	"patch services": frontName, "patch poddisruptionbudgets": frontName, "patch deployments": frontName,
	"patch configmaps": frontName + memcachedproxy.RoutesSuffix, "patch memcachedproxies/status": frontName,
}

func frontOf(now objects) *cachev1alpha1.MemcachedProxy {
	proxy, _ := now["memcachedproxies/"+frontName].(*cachev1alpha1.MemcachedProxy)
	return proxy
}

// hasFront checks that all objects of the MemcachedProxy exist and belong to it.
func hasFront(now objects) string {
	proxy := frontOf(now)
	if proxy == nil {
		return "there is no MemcachedProxy"
	}
	for _, key := range []string{
		"services/" + frontName, "poddisruptionbudgets/" + frontName, "deployments/" + frontName,
		"configmaps/" + frontName + memcachedproxy.RoutesSuffix,
	} {
		if object := now[key]; object == nil || !metav1.IsControlledBy(object, proxy) {
			return "the operator's object is missing: " + key
		}
	}
	return ""
}

// frontSettled checks that the MemcachedProxy is Ready with routes to all nodes of its pool, and that nothing changes any more. It also
// accepts that there is no MemcachedProxy.
func frontSettled(now objects) string {
	proxy := frontOf(now)
	if proxy == nil {
		return ""
	}
	if missing := hasFront(now); missing != "" {
		return missing
	}
	status, mc, members, ready := proxy.Status, get[*cachev1alpha1.Memcached](now, "memcacheds"), 0, 0
	for _, pod := range now.frontPods() {
		members++
		if podReady(pod) && pod.DeletionTimestamp == nil {
			ready++
		}
	}
	counts := [3]int32{status.Replicas, status.ReadyReplicas, status.UpdatedReplicas}
	routes, err := routesOf(now)
	switch condition := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionReady); {
	case !frontDeployment(now).complete(frontSize), members != frontSize, ready != frontSize:
		return fmt.Sprintf("%d of %d proxies are ready: %s", ready, members, frontDeployment(now))
	case condition == nil || condition.Status != metav1.ConditionTrue || status.ObservedGeneration != proxy.Generation:
		return fmt.Sprintf("Ready of the MemcachedProxy is %+v for generation %d", condition, proxy.Generation)
	case counts != [3]int32{frontSize, frontSize, frontSize}:
		return fmt.Sprintf("the counts of the MemcachedProxy are %v", counts)
	case err != nil || mc == nil:
		return fmt.Sprintf("the routes of %v are wrong: %v", mc, err)
	}
	at := clockOf(proxy.Namespace).Now()
	if routes.Pool.At(at) != int(mc.Spec.Size) || routes.Pool.Wait(at) > 0 {
		return fmt.Sprintf("the routes are %s, want %d nodes", routes, mc.Spec.Size)
	}
	if want := (cachev1alpha1.MemcachedProxyRoutes{Nodes: mc.Spec.Size}); ptr.Deref(status.Routes, cachev1alpha1.MemcachedProxyRoutes{}) != want {
		return fmt.Sprintf("the routes in the status are %+v, want %+v", status.Routes, want)
	}
	return ""
}

func (o objects) frontPods() []*corev1.Pod {
	var pods []*corev1.Pod
	for key, object := range o {
		if pod, ok := object.(*corev1.Pod); ok && strings.HasPrefix(key, "pods/"+frontName+"-") {
			pods = append(pods, pod)
		}
	}
	return pods
}

func routesOf(now objects) (protocol.Routes, error) {
	config, _ := now["configmaps/"+frontName+memcachedproxy.RoutesSuffix].(*corev1.ConfigMap)
	if config == nil {
		return protocol.Routes{}, fmt.Errorf("there is no ConfigMap")
	}
	return protocol.ParseRoutes(config.Data[protocol.RoutesKey])
}

// frontViolations returns the violations of the rules for a MemcachedProxy. Its status must have consistent observedGenerations, and must
// not report Ready too early or without routes. Once the routes announce a number of nodes, the time at which this number takes effect
// must not change, because some pods may already have read that time.
func frontViolations(entries []entry) []string {
	var found []string
	report := func(e entry, format string, args ...any) {
		found = append(found, fmt.Sprintf("version %d: ", e.version)+fmt.Sprintf(format, args...))
	}
	now := objects{}
	var before *cachev1alpha1.MemcachedProxy
	var routes protocol.Routes
	// completed means that frontComplete has been true at least once for the current generations of the MemcachedProxy and its
	// Deployment.
	completed := false
	for _, e := range entries {
		if last := frontDeployment(now); e.key() == "deployments/"+frontName && (last == nil || last.GetGeneration() != e.object.GetGeneration()) {
			completed = false
		}
		now.add(e)
		if e.key() == "configmaps/"+frontName+memcachedproxy.RoutesSuffix {
			if live, err := routesOf(now); err == nil {
				if announcedAnew(routes, live) {
					report(e, "the routes %s became %s", routes, live)
				}
				routes = live
			}
		}
		if proxy, ok := e.object.(*cachev1alpha1.MemcachedProxy); ok {
			if before != nil && (before.UID != proxy.UID || before.Generation != proxy.Generation) {
				completed = false
			}
			completed = completed || frontComplete(now)
			for _, violation := range frontStatusViolations(before, proxy, completed) {
				report(e, "%s", violation)
			}
			before = proxy
		}
		completed = completed || frontComplete(now)
	}
	return found
}

func announcedAnew(before, after protocol.Routes) bool {
	was, is := before.Pool.Next, after.Pool.Next
	return was != nil && is != nil && before.Pool.Count == after.Pool.Count && was.Count == is.Count && !was.From.Equal(is.From)
}

func frontComplete(now objects) bool {
	w, proxy := frontDeployment(now), frontOf(now)
	_, err := routesOf(now)
	ready := 0
	for _, pod := range now.frontPods() {
		if podReady(pod) {
			ready++
		}
	}
	return proxy != nil && w != nil && metav1.IsControlledBy(w, proxy) && w.updatedTo(frontSize) && ready == frontSize && err == nil
}

func frontStatusViolations(before, proxy *cachev1alpha1.MemcachedProxy, completed bool) []string {
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	status := proxy.Status
	if status.ObservedGeneration > proxy.Generation {
		report("observedGeneration of the MemcachedProxy is %d, generation %d", status.ObservedGeneration, proxy.Generation)
	}
	same := before != nil && before.UID == proxy.UID
	if same && status.ObservedGeneration < before.Status.ObservedGeneration {
		report("observedGeneration of the MemcachedProxy is %d, after %d", status.ObservedGeneration, before.Status.ObservedGeneration)
	}
	for _, condition := range status.Conditions {
		if condition.ObservedGeneration != status.ObservedGeneration {
			report("the observedGeneration of %s of the MemcachedProxy is %d", condition.Type, condition.ObservedGeneration)
		}
	}
	ready := meta.IsStatusConditionTrue(status.Conditions, cachev1alpha1.ConditionReady)
	wasReady := same && meta.IsStatusConditionTrue(before.Status.Conditions, cachev1alpha1.ConditionReady)
	if ready && !wasReady && !completed {
		report("the MemcachedProxy is Ready, but was never complete")
	}
	if ready && status.Routes == nil {
		report("the MemcachedProxy is Ready without routes")
	}
	return found
}
