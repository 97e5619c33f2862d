// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// faultSet has names of faults.
type faultSet struct{ writes, watches []string }

// The scenarios of StatefulSets and proxies leave out faults that differ from others only in the error message, and faults that the
// scenarios of Deployments cover.
var (
	allFaults = &faultSet{
		writes:  []string{crashBefore, crashAfter, lostResponse, "403", "409", "429", internal500, timeout},
		watches: []string{closed, expired, frozen, dropped},
	}
	// distinctFaults has one write fault for each combination of two questions: Is the write executed? Does the operator restart? It also
	// has the watch faults after which the operator must list again.
	distinctFaults = &faultSet{
		writes: []string{crashBefore, crashAfter, lostResponse, internal500}, watches: []string{expired, dropped},
	}
	// unknownFaults leave the operator unaware that its write was executed, or that objects have changed.
	unknownFaults = &faultSet{writes: []string{crashAfter, lostResponse}, watches: []string{expired, dropped}}
)

// scenario is a sequence of actions of users.
type scenario struct {
	name string
	// setup creates the initial state, without faults.
	setup func(r *scenarioRun)
	// act is what users do.
	act func(r *scenarioRun)
	// done checks the final state, in addition to what all scenarios check.
	done func(now objects) string
	// faults are the faults with which the sweep runs the scenario. nil selects all.
	faults *faultSet
}

// deletion is the name of the scenario that ends without a Memcached.
const deletion = "delete"

var scenarios = []scenario{
	{name: "create", act: func(r *scenarioRun) { r.createCache(2) }},
	{name: "scale-up", setup: running(1), act: changesTo(withSize(3))},
	{name: "scale-down", setup: running(3), act: changesTo(withSize(1))},
	{name: "image-change", setup: running(2), act: changesTo(withNewImage)},
	{name: "config-change", setup: running(2), act: changesTo(func(spec *cachev1alpha1.MemcachedSpec) {
		moreMemory(spec)
		spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"note": "new"}
		spec.PodDisruptionBudget.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	})},
	{name: "budget-disabled-and-enabled", setup: running(1), act: func(r *scenarioRun) {
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.PodDisruptionBudget.Enabled = ptr.To(false) })
		r.await("the budget is gone", func(now objects) string {
			if get[*policyv1.PodDisruptionBudget](now, "poddisruptionbudgets") != nil {
				return "it exists"
			}
			return ""
		})
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.PodDisruptionBudget.Enabled = nil })
	}, done: hasAll},
	{name: "network-policy", setup: running(1), act: func(r *scenarioRun) {
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{} })
		oneRule := func(now objects) string {
			if p := get[*networkingv1.NetworkPolicy](now, "networkpolicies"); p == nil || len(p.Spec.Ingress) != 1 {
				return fmt.Sprintf("it is %+v", p)
			}
			return ""
		}
		r.await("the NetworkPolicy exists", oneRule)
		change(r.sandbox, &networkingv1.NetworkPolicy{}, func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
		})
		r.await("the way in that somebody opened is closed", oneRule)
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = nil })
	}, done: func(now objects) string {
		if get[*networkingv1.NetworkPolicy](now, "networkpolicies") != nil {
			return "the NetworkPolicy exists"
		}
		return ""
	}},
	{name: "child-deleted", setup: running(1), act: func(r *scenarioRun) {
		r.remove(&corev1.Service{})
		r.remove(&policyv1.PodDisruptionBudget{})
		r.remove(&appsv1.Deployment{})
	}, done: hasAll},
	{name: "child-edited", setup: running(1), act: func(r *scenarioRun) {
		change(r.sandbox, &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To(int32(60)) })
		change(r.sandbox, &corev1.Service{}, func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true })
		change(r.sandbox, &policyv1.PodDisruptionBudget{}, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.IfHealthyBudget)
		})
	}, done: withoutDrift},
	{name: "child-label-removed", setup: running(1), act: func(r *scenarioRun) {
		change(r.sandbox, &appsv1.Deployment{}, func(d *appsv1.Deployment) { delete(d.Labels, memcached.ManagedByLabel) })
		change(r.sandbox, &corev1.Service{}, func(s *corev1.Service) { delete(s.Labels, memcached.ManagedByLabel) })
	}, done: withoutDrift},
	{name: "pause-and-resume", setup: running(1), act: func(r *scenarioRun) {
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = true })
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.changeSpec(withSize(2))
		r.awaitReason(cachev1alpha1.ConditionReady, cachev1alpha1.ReasonPaused)
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = false })
	}},
	{name: deletion, setup: running(1), act: func(r *scenarioRun) { r.remove(&cachev1alpha1.Memcached{}) }, done: hasNone},
	{name: "recreate", setup: running(2), act: func(r *scenarioRun) {
		r.remove(&cachev1alpha1.Memcached{})
		r.createCache(1)
	}, done: hasAll},
	{name: "conflict", act: func(r *scenarioRun) {
		r.create(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
		r.createCache(1)
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonConflict)
		r.wire.nextStep()
		r.remove(&corev1.Service{})
	}, done: hasAll},
	{name: "quota", act: func(r *scenarioRun) {
		quota := r.forbidServices()
		r.createCache(1)
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonQuotaExceeded)
		r.wire.nextStep()
		r.must(user.Delete(r.ctx, quota))
	}, done: hasAll},
}

// changesTo returns an act that changes the spec.
func changesTo(edit func(*cachev1alpha1.MemcachedSpec)) func(r *scenarioRun) {
	return func(r *scenarioRun) { r.changeSpec(edit) }
}

func withSize(size int32) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = size }
}

func withNewImage(spec *cachev1alpha1.MemcachedSpec) { spec.Image = "memcached:1.6.46" }

func running(size int32, changes ...func(*cachev1alpha1.MemcachedSpec)) func(r *scenarioRun) {
	return func(r *scenarioRun) {
		r.Helper()
		r.createCache(size, changes...)
		r.await("set up", settled)
	}
}

// forbidServices creates a quota that allows no further Service, and waits until the API server enforces it.
func (r *scenarioRun) forbidServices() *corev1.ResourceQuota {
	r.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "no-services"}}
	quota.Spec.Hard = corev1.ResourceList{"count/services": resource.MustParse("1")} // the foreign Service uses it up
	r.must(user.Create(r.ctx, quota))
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
	r.must(user.Status().Update(r.ctx, quota))
	for {
		probe := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, GenerateName: "probe-"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		err := user.Create(r.ctx, probe, client.DryRunAll)
		r.must(r.ctx.Err())
		if err != nil && strings.Contains(err.Error(), "exceeded quota") {
			return quota
		}
	}
}

// foreignObjects returns objects of somebody else that have the labels of the operator's objects.
func foreignObjects(namespace string) []client.Object {
	metadata := metav1.ObjectMeta{
		Namespace: namespace, Name: "theirs",
		Labels: map[string]string{memcached.ManagedByLabel: memcached.ManagedBy, memcached.InstanceLabel: cacheName},
	}
	selector := map[string]string{"app": "theirs"}
	containers := corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}}
	return []client.Object{
		&corev1.Service{ObjectMeta: metadata, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metadata},
		&appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: containers},
		}},
		&appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: containers},
		}},
		&corev1.Pod{ObjectMeta: metadata, Spec: containers},
	}
}
