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

// frontViolations returns the violations of the rule for a MemcachedProxy: once the routes announce a number of nodes, the time at which
// this number takes effect must not change, because some pods may already have read that time.
func frontViolations(entries []entry) []string {
	var found []string
	var routes protocol.Routes
	for _, e := range entries {
		live, err := routesOf(objects{e.key(): e.object})
		if err != nil {
			continue
		}
		was, is := routes.Pool.Next, live.Pool.Next
		if was != nil && is != nil && routes.Pool.Count == live.Pool.Count && was.Count == is.Count && !was.From.Equal(is.From) {
			found = append(found, fmt.Sprintf("version %d: the routes %s became %s", e.version, routes, live))
		}
		routes = live
	}
	return found
}
