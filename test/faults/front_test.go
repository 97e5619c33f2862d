// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// frontName is the name of the MemcachedProxy in the tests.
const frontName = "front"

// frontScenarios are the scenarios of a MemcachedProxy whose only pool is the Memcached "cache".
var frontScenarios = []scenario{
	{name: "proxy-create", setup: func(r *scenarioRun) {
		r.addForeignOfFront()
		running(2, statefulSetNodes)(r)
	}, act: func(r *scenarioRun) { r.createFront() }, done: hasFront},
	{name: "proxy-sizes", setup: func(r *scenarioRun) { r.runFront(2) }, act: func(r *scenarioRun) {
		for _, size := range []int32{3, 1} {
			r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = size })
			r.await("the announcement", announced(size))
			r.passTime()
			r.await("the new routes", bothSettled)
			r.wire.nextStep()
		}
	}, done: hasFront},
	{name: "proxy-delete", setup: func(r *scenarioRun) { r.runFront(1) }, act: func(r *scenarioRun) {
		r.remove(front())
	}, done: hasNoFront},
}

func front() *cachev1alpha1.MemcachedProxy {
	return &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Name: frontName}}
}

func (r *scenarioRun) createFront() {
	r.Helper()
	proxy := front()
	proxy.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: cacheName}}
	r.create(proxy)
}

// runFront sets up a MemcachedProxy whose pool has this many nodes.
func (r *scenarioRun) runFront(size int32) {
	r.Helper()
	r.addForeignOfFront()
	running(size, statefulSetNodes)(r)
	r.createFront()
	r.await("set up", bothSettled)
}

var bothSettled = all(hasFront, frontSettled, settled)

// addForeignOfFront adds objects of somebody else that have the labels of the MemcachedProxy's objects.
func (r *scenarioRun) addForeignOfFront() {
	r.Helper()
	for _, object := range foreignObjects(r.namespace) {
		object.SetName("theirs-as-proxy")
		object.SetLabels(memcachedproxy.IdentityOf(frontName))
		r.create(object)
		r.foreign = append(r.foreign, object)
	}
}

// triggerFront triggers two reconciliations of the MemcachedProxy, if it exists, and waits until both have begun. When the second one
// begins, the first one has ended.
func (r *scenarioRun) triggerFront(o *operator) {
	r.Helper()
	if latest(history.of(r.namespace))["memcachedproxies/"+frontName] == nil {
		return
	}
	for range 2 {
		begun := o.fronts.Load()
		r.note(frontName)
		r.must(eventually(r.ctx, "the operator did not reconcile the MemcachedProxy after a foreign annotation",
			func() bool { return o.fronts.Load() > begun }))
	}
}

// note annotates the Service with this name. This triggers a reconciliation of the Memcached or MemcachedProxy that owns the Service.
func (r *scenarioRun) note(name string) {
	r.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	change(r.sandbox, service, func(service *corev1.Service) { service.Annotations[noteAnnotation] = service.ResourceVersion })
}

// passed maps each namespace to how far its clock is ahead of the real time. The simulated MemcachedProxies use this clock, and the
// operator uses it as the API server's time.
var passed sync.Map

func clockOf(namespace string) clock.PassiveClock { return namespaceClock(namespace) }

type namespaceClock string

func (c namespaceClock) Now() time.Time {
	later, _ := passed.LoadOrStore(string(c), time.Duration(0))
	return time.Now().Add(later.(time.Duration))
}

func (c namespaceClock) Since(earlier time.Time) time.Duration { return c.Now().Sub(earlier) }

// passTime moves the clock of the namespace by just over two minutes, after which announced routes take effect. It also triggers the
// operator, whose timers use the real clock.
func (r *scenarioRun) passTime() {
	r.Helper()
	later, _ := passed.LoadOrStore(r.namespace, time.Duration(0))
	passed.Store(r.namespace, later.(time.Duration)+2*time.Minute+time.Second)
	r.note(frontName)
}

func announced(count int32) func(objects) string {
	return func(now objects) string {
		config, _ := now["configmaps/"+frontName+memcachedproxy.RoutesSuffix].(*corev1.ConfigMap)
		if config == nil || !strings.Contains(config.Data["routes"], fmt.Sprintf(" next %d ", count)) {
			return fmt.Sprintf("the routes are %v", config)
		}
		return ""
	}
}

func hasNoFront(now objects) string {
	for key, object := range now {
		if name := object.GetName(); name == frontName || strings.HasPrefix(name, frontName+"-") {
			return key + " exists"
		}
	}
	return ""
}

func frontDeployment(now objects) *workload { return workloadOf(now["deployments/"+frontName]) }

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
	status, mc := proxy.Status, get[*cachev1alpha1.Memcached](now, "memcacheds")
	counts := [3]int32{status.Replicas, status.ReadyReplicas, status.UpdatedReplicas}
	routes, err := routesOf(now)
	switch condition := meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionReady); {
	case !frontDeployment(now).complete(frontSize):
		return frontDeployment(now).String()
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
