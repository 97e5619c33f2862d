// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// unserved is a version of our API that the API server does not serve. The garbage collector never deletes the children of an owner
// with such a version.
const unserved = "cache.example.com/v9"

// ownershipEscalations change or delete the objects of others, or write children with a wrong owner, name, label, finalizer, selector
// or NetworkPolicy rule.
func ownershipEscalations() []escalation {
	const none, foreign = "metadata.ownerReferences: the controller must be the Memcached of the same name", "what no Memcached of the same name controls must stay as it is"
	const labels, selector = "metadata.labels: app.kubernetes.io/name, instance and managed-by", "spec.selector: must select the pods of the Memcached and no others"
	const ingress = "spec.ingress: must admit the clients that it lists to port 11211, 11212, 9150 or 9151 and to no other"
	const owners = "metadata.ownerReferences: the operator adds no other owner"
	stays := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "stays", UID: "stays"}
	const same, finalizers = "metadata.ownerReferences: the controller must not change", "metadata.finalizers: the operator sets and removes none"
	others := map[string]string{"app": "website"}
	return []escalation{
		{"create a Deployment without an owner", "children", none, createDeployment(func(d *appsv1.Deployment) { d.OwnerReferences = nil })},
		{"create a Service without an owner", "children", none, createService(func(s *corev1.Service) { s.OwnerReferences = nil })},
		{"create a budget without an owner", "children", none, createBudget(func(b *policyv1.PodDisruptionBudget) { b.OwnerReferences = nil })},
		{"create a Deployment that a Memcached does not control", "children", none, createDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences[0].Controller = ptr.To(false)
		})},
		{"create a Deployment of another kind of owner", "children", none, createDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences[0].APIVersion, d.OwnerReferences[0].Kind = "apps/v1", "DaemonSet"
		})},
		{"create a Deployment of another API's Memcached", "children", none, createDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences[0].APIVersion = "cache.example.org/v1"
		})},
		{"create a Deployment whose owner nobody can look up", "children", none, createDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences[0].APIVersion = unserved
		})},
		{"give a Deployment an owner that nobody can look up", "children", none, updateDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences[0].APIVersion = unserved
		})},
		{"create a ConfigMap whose owner nobody can look up", "children", none, createConfigMap(func(c *corev1.ConfigMap) {
			c.OwnerReferences[0].APIVersion = unserved
		})},
		{"create a Deployment of another name", "children", none, createDeployment(func(d *appsv1.Deployment) { d.Name = "website2" })},
		{"create a Deployment without the label", "children", labels, createDeployment(func(d *appsv1.Deployment) {
			delete(d.Labels, "app.kubernetes.io/managed-by")
		})},
		{"create a Deployment that nobody can delete", "children", finalizers, createDeployment(func(d *appsv1.Deployment) {
			d.Finalizers = []string{"example.com/stay"}
		})},
		{"create a Deployment that survives its Memcached", "children", owners, createDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences = append(d.OwnerReferences, stays)
		})},
		{"let a Deployment survive its Memcached", "children", owners, updateDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences = append(d.OwnerReferences, stays)
		})},
		{"take a Deployment from its Memcached", "children", none, updateDeployment(func(d *appsv1.Deployment) { d.OwnerReferences = nil })},
		{"give a Deployment to another Memcached", "children", same, updateDeployment(func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "another" })},
		{"take over the user's Deployment", "children", foreign, update(&appsv1.Deployment{ObjectMeta: named("website")}, func(d *appsv1.Deployment) {
			d.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: "website", UID: "mine", Controller: ptr.To(true),
			}}
		})},
		{"take over the user's Deployment as if it were an orphan", "children", foreign, update(&appsv1.Deployment{ObjectMeta: named("website")},
			func(d *appsv1.Deployment) {
				d.Labels = map[string]string{
					"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": "website",
					"app.kubernetes.io/managed-by": "memcached-operator",
				}
				d.Annotations = map[string]string{"cache.example.com/applied-hash": "0123456789abcdef"}
				d.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: "website", UID: "mine", Controller: ptr.To(true),
				}}
			})},
		{"change the user's Deployment", "children", "metadata.ownerReferences", update(&appsv1.Deployment{ObjectMeta: named("website")}, func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To(int32(0))
		})},
		{"create a Service for the pods of others", "children", selector, createService(func(s *corev1.Service) { s.Spec.Selector = others })},
		{"lead clients to the pods of others", "children", selector, updateService(func(s *corev1.Service) { s.Spec.Selector = others })},
		{"create a budget for the pods of others", "children", selector, createBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = others })},
		{"keep the pods of others from eviction", "children", selector, updateBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = others })},
		{"create a budget for all pods", "children", selector, createBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} })},
		{"isolate the pods of others", "children", selector, createPolicy(func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector.MatchLabels = others })},
		{"isolate all pods", "children", selector, createPolicy(func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = metav1.LabelSelector{} })},
		{"select more pods for isolation", "children", selector, createPolicy(func(p *networkingv1.NetworkPolicy) {
			p.Spec.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}
		})},
		{"admit everybody", "children", ingress, createPolicy(func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress[0].From = nil })},
		{"admit clients to all ports", "children", ingress, createPolicy(func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress[0].Ports = nil })},
		{"admit clients to another port", "children", ingress, createPolicy(func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress[0].Ports[0].Port = ptr.To(intstr.FromInt32(22))
		})},
		{"admit clients to a range of ports", "children", ingress, createPolicy(func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress[0].Ports[0].EndPort = ptr.To(int32(65535))
		})},
		{"cut pods off", "children", ingress, createPolicy(func(p *networkingv1.NetworkPolicy) {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		})},
		{"delete the NetworkPolicy of another", "children", foreign, remove(&networkingv1.NetworkPolicy{ObjectMeta: named("website")})},
		{"delete the budget of another", "children", foreign, remove(&policyv1.PodDisruptionBudget{ObjectMeta: named("website")})},
	}
}
