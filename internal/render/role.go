// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"maps"

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

// Role is what the pods of a Memcached do: they are nodes or proxies. It builds the objects.
type Role struct {
	// Owner is the Memcached.
	Owner client.Object
	// Suffix ends the names of the PodDisruptionBudget, the NetworkPolicy and the Deployment.
	Suffix string
	// Component is the value of the label app.kubernetes.io/component.
	Component string
	// Selector has the labels that select the pods. All objects have them.
	Selector map[string]string
}

// Metadata returns the metadata of an object. The suffix ends its name.
func (r Role) Metadata(suffix string, wanted cachev1alpha1.Metadata) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: r.Owner.GetName() + suffix, Namespace: r.Owner.GetNamespace(),
		Labels: r.Labels(wanted.Labels), Annotations: Annotations(wanted),
	}
}

// Labels returns the labels of an object: two that describe it, the user's labels, and the labels in Selector. If a key occurs more
// than once, the later one in this order has precedence.
func (r Role) Labels(wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	labels := map[string]string{"app.kubernetes.io/component": r.Component, "app.kubernetes.io/part-of": "memcached"}
	for key, value := range wanted {
		labels[key] = string(value)
	}
	maps.Copy(labels, r.Selector)
	return labels
}

// Annotations returns the user's annotations, or nil.
func Annotations(metadata cachev1alpha1.Metadata) map[string]string {
	if metadata.Annotations == nil {
		return nil
	}
	annotations := make(map[string]string, len(metadata.Annotations))
	for key, value := range metadata.Annotations {
		annotations[key] = string(value)
	}
	return annotations
}

// Service returns a Service of the pods, with the client ports for these TLS settings. The suffix ends its name.
func (r Role) Service(suffix string, wanted cachev1alpha1.MemcachedService, tls *cachev1alpha1.MemcachedTLS) *corev1.Service {
	// This default of Kubernetes is set explicitly. Without a value, an existing Service would keep another policy.
	families := ptr.Deref(wanted.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: r.Metadata(suffix, wanted.Metadata),
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeClusterIP,
			SessionAffinity: corev1.ServiceAffinityNone, // the connections of one client are spread over several proxies
			IPFamilyPolicy:  &families,
			Selector:        r.Selector,
			Ports:           memcached.ServicePorts(memcached.ClientPorts(tls)),
		},
	}
}

// ConfigMap returns a ConfigMap with this data. The suffix ends its name.
func (r Role) ConfigMap(suffix string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: r.Metadata(suffix, cachev1alpha1.Metadata{}),
		Data:       data,
	}
}

// NetworkPolicy returns a policy that admits only clients to the pods and, if the operator asks agents at ports of the pods,
// also scrapers of metrics and the operator. Clients and scrapers are the peers in the spec, or by default all pods of the namespace.
func (r Role) NetworkPolicy(
	wanted cachev1alpha1.MemcachedNetworkPolicy, tls *cachev1alpha1.MemcachedTLS, asked ...int32,
) *networkingv1.NetworkPolicy {
	var clients []int32
	for _, port := range memcached.ClientPorts(tls) {
		clients = append(clients, port.Number)
	}
	rules := []networkingv1.NetworkPolicyIngressRule{ingressRule(wanted.From, clients...)}
	if len(asked) > 0 {
		rules = append(rules, ingressRule(wanted.MetricsFrom, memcached.MetricsPort), OperatorRule(asked...))
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: r.Metadata(r.Suffix, cachev1alpha1.Metadata{}),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: r.Selector},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     rules,
		},
	}
}

// ingressRule returns a rule that lets the peers reach the ports with these numbers. Without peers, all pods of the namespace can
// reach the ports.
func ingressRule(from []networkingv1.NetworkPolicyPeer, numbers ...int32) networkingv1.NetworkPolicyIngressRule {
	if len(from) == 0 {
		from = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	}
	return networkingv1.NetworkPolicyIngressRule{From: from, Ports: TCPPorts(numbers...)}
}

// OperatorRule returns a rule that lets the operator, in any namespace, reach the ports.
func OperatorRule(ports ...int32) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{},
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				memcached.NameLabel: memcached.ManagedBy, "control-plane": "controller-manager",
			}},
		}},
		Ports: TCPPorts(ports...),
	}
}

// TCPPorts returns the TCP ports with these numbers for a NetworkPolicy.
func TCPPorts(numbers ...int32) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range numbers {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(number))})
	}
	return ports
}

// PodDisruptionBudget returns a budget that lets a drain evict one pod at a time, unless the spec says otherwise. Pods that are not
// ready may always be evicted, because they serve nobody and could block the drain for ever.
func (r Role) PodDisruptionBudget(wanted cachev1alpha1.MemcachedPodDisruptionBudget) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: r.Metadata(r.Suffix, cachev1alpha1.Metadata{}),
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:                   &metav1.LabelSelector{MatchLabels: r.Selector},
			MaxUnavailable:             cmp.Or(wanted.MaxUnavailable, ptr.To(intstr.FromInt32(1))),
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
}

// Deployment returns a Deployment of this size. A new pod must be ready for this many seconds before the next one is replaced.
func (r Role) Deployment(
	record memcached.Record, size, minReadySeconds int32, surge, unavailable intstr.IntOrString, template corev1.PodTemplateSpec,
) *appsv1.Deployment {
	metadata := r.Metadata(r.Suffix, cachev1alpha1.Metadata{})
	metadata.Annotations = record.Annotations()
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metadata,
		Spec: appsv1.DeploymentSpec{
			Replicas:        &size,
			Selector:        &metav1.LabelSelector{MatchLabels: r.Selector},
			MinReadySeconds: minReadySeconds,
			// A rollback cannot restore the items of a cache. One old ReplicaSet is enough to show what has changed.
			RevisionHistoryLimit:    ptr.To(int32(1)),
			ProgressDeadlineSeconds: ptr.To(memcached.ProgressDeadlineSeconds(minReadySeconds)),
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
			},
			Template: WithAPIDefaults(template),
		},
	}
}
