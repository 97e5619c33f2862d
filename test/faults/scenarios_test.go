// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
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
}

// deletion is the name of the scenario that ends without a Memcached.
const deletion = "delete"

var scenarios = []scenario{
	{name: "create", act: func(r *scenarioRun) { r.createCache(2) }},
	{name: "scale-up", setup: running(1), act: changesTo(withSize(3))},
	{name: "scale-down", setup: running(3), act: changesTo(withSize(1))},
	{name: "image-change", setup: running(2), act: changesTo(func(spec *cachev1alpha1.MemcachedSpec) {
		withNewImage(spec)
		moreMemory(spec)
		spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"note": "new"}
		spec.PodDisruptionBudget.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	})},
	{name: "optional-children", setup: running(1), act: func(r *scenarioRun) {
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
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) {
			spec.NetworkPolicy, spec.PodDisruptionBudget.Enabled = nil, ptr.To(false)
		})
	}, done: func(now objects) string {
		if get[*policyv1.PodDisruptionBudget](now, "poddisruptionbudgets") != nil {
			return "the PodDisruptionBudget exists"
		}
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
		change(r.sandbox, &corev1.Service{}, func(s *corev1.Service) {
			s.Spec.PublishNotReadyAddresses = true
			delete(s.Labels, memcached.ManagedByLabel)
		})
		change(r.sandbox, &policyv1.PodDisruptionBudget{}, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.IfHealthyBudget)
		})
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
