// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// frontName is the name of the MemcachedProxy: "proxy" is what injects the faults.
const frontName = "front"

// frontScenarios are those of a MemcachedProxy whose pool is the Memcached.
var frontScenarios = []scenario{
	{name: "proxy-create", faults: distinctFaults, setup: func(r *scenarioRun) {
		r.addForeignOfFront()
		running(2, statefulSetNodes)(r)
	}, act: func(r *scenarioRun) { r.createFront() }, done: hasFront},
	{name: "proxy-delete", faults: distinctFaults, setup: func(r *scenarioRun) { r.runFront(1) }, act: func(r *scenarioRun) {
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

// runFront sets up a MemcachedProxy with a pool of the size.
func (r *scenarioRun) runFront(size int32) {
	r.Helper()
	r.addForeignOfFront()
	running(size, statefulSetNodes)(r)
	r.createFront()
	r.await("set up", func(now objects) string {
		if missing := hasFront(now); missing != "" {
			return missing
		}
		return frontSettled(now)
	})
}

// addForeignOfFront adds objects that look like those of the MemcachedProxy, but are not.
func (r *scenarioRun) addForeignOfFront() {
	r.Helper()
	for _, object := range foreignObjects(r.namespace) {
		object.SetName("theirs-as-proxy")
		object.SetLabels(memcachedproxy.IdentityOf(frontName))
		r.create(object)
		r.foreign = append(r.foreign, object)
	}
}

// triggerFront is triggerReconcile for the MemcachedProxy, if there is one. A reconciliation has ended when the next one begins.
func (r *scenarioRun) triggerFront(o *operator) {
	r.Helper()
	if latest(history.of(r.namespace))["memcachedproxies/"+frontName] == nil {
		return
	}
	for range 2 {
		begun := o.fronts.Load()
		r.noteFront()
		r.must(eventually(r.ctx, "the operator did not reconcile the MemcachedProxy after a foreign annotation",
			func() bool { return o.fronts.Load() > begun }))
	}
}

func (r *scenarioRun) noteFront() {
	r.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: frontName}}
	change(r.sandbox, service, func(service *corev1.Service) { service.Annotations[noteAnnotation] = service.ResourceVersion })
}

// hasNoFront reports what is left of the MemcachedProxy.
func hasNoFront(now objects) string {
	for key, object := range now {
		if name := object.GetName(); name == frontName || strings.HasPrefix(name, frontName+"-") {
			return key + " exists"
		}
	}
	return ""
}

// frontDeployment is the Deployment of the MemcachedProxy, nil if there is none.
func frontDeployment(now objects) *workload {
	d, _ := now["deployments/"+frontName].(*appsv1.Deployment)
	if d == nil {
		return nil
	}
	return workloadOf(client.Object(d))
}
