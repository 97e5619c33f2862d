// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

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

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// role is what the pods of a Memcached do: they are nodes or proxies. It builds the objects.
type role struct {
	mc *cachev1alpha1.Memcached
	// component is the value of the label app.kubernetes.io/component.
	component string
	// suffix ends the names of the PodDisruptionBudget, the NetworkPolicy and the Deployment.
	suffix string
	// selector has the labels that select the pods. All objects have them.
	selector map[string]string
}

func nodeRole(mc *cachev1alpha1.Memcached) role {
	return role{mc, "cache", "", memcached.SelectorLabels(mc)}
}

func proxyRole(mc *cachev1alpha1.Memcached) role {
	return role{mc, "proxy", memcached.ProxySuffix, memcached.ProxyLabels(mc.Name)}
}

// metadata returns the metadata of an object. The suffix ends its name.
func (r role) metadata(suffix string, wanted cachev1alpha1.Metadata) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: r.mc.Name + suffix, Namespace: r.mc.Namespace,
		Labels: r.labels(wanted.Labels), Annotations: annotationsOf(wanted),
	}
}

// labels returns the labels of an object: two that describe it, the user's labels, and the labels in selector. If a key occurs more
// than once, the later one in this order has precedence.
func (r role) labels(wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	labels := map[string]string{"app.kubernetes.io/component": r.component, "app.kubernetes.io/part-of": "memcached"}
	for key, value := range wanted {
		labels[key] = string(value)
	}
	maps.Copy(labels, r.selector)
	return labels
}

// annotationsOf returns the user's annotations, or nil.
func annotationsOf(metadata cachev1alpha1.Metadata) map[string]string {
	if metadata.Annotations == nil {
		return nil
	}
	annotations := make(map[string]string, len(metadata.Annotations))
	for key, value := range metadata.Annotations {
		annotations[key] = string(value)
	}
	return annotations
}

// service returns a Service of the pods with the client ports. The suffix ends its name.
func (r role) service(suffix string) *corev1.Service {
	wanted := r.mc.Spec.Service
	// This default of Kubernetes is set explicitly. Without a value, an existing Service would keep another policy.
	families := ptr.Deref(wanted.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: r.metadata(suffix, wanted.Metadata),
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeClusterIP,
			SessionAffinity: corev1.ServiceAffinityNone, // the connections of one client are spread over several proxies
			IPFamilyPolicy:  &families,
			Selector:        r.selector,
			Ports:           memcached.ServicePorts(memcached.ClientPorts(r.mc.Spec.TLS)),
		},
	}
}

// configMap returns a ConfigMap with this data. The suffix ends its name.
func (r role) configMap(suffix string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: r.metadata(suffix, cachev1alpha1.Metadata{}),
		Data:       data,
	}
}

// networkPolicy returns a policy that admits only clients to the pods and, if the operator asks agents at ports of the pods,
// also scrapers of metrics and the operator. Clients and scrapers are the peers in the spec, or by default all pods of the namespace.
func (r role) networkPolicy(wanted cachev1alpha1.MemcachedNetworkPolicy, asked ...int32) *networkingv1.NetworkPolicy {
	var clients []int32
	for _, port := range memcached.ClientPorts(r.mc.Spec.TLS) {
		clients = append(clients, port.Number)
	}
	rules := []networkingv1.NetworkPolicyIngressRule{ingressRule(wanted.From, clients...)}
	if len(asked) > 0 {
		rules = append(rules, ingressRule(wanted.MetricsFrom, memcached.MetricsPort), operatorRule(asked...))
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: r.metadata(r.suffix, cachev1alpha1.Metadata{}),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: r.selector},
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
	return networkingv1.NetworkPolicyIngressRule{From: from, Ports: tcpPorts(numbers...)}
}

// operatorRule returns a rule that lets the operator, in any namespace, reach the ports.
func operatorRule(ports ...int32) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{},
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				memcached.NameLabel: memcached.ManagedBy, "control-plane": "controller-manager",
			}},
		}},
		Ports: tcpPorts(ports...),
	}
}

// tcpPorts returns the TCP ports with these numbers for a NetworkPolicy.
func tcpPorts(numbers ...int32) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range numbers {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(number))})
	}
	return ports
}

// budget returns a budget that lets a drain evict one pod at a time, unless the spec says otherwise. Pods that are not
// ready may always be evicted, because they serve nobody and could block the drain for ever.
func (r role) budget(wanted cachev1alpha1.MemcachedPodDisruptionBudget) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: r.metadata(r.suffix, cachev1alpha1.Metadata{}),
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:                   &metav1.LabelSelector{MatchLabels: r.selector},
			MaxUnavailable:             cmp.Or(wanted.MaxUnavailable, ptr.To(intstr.FromInt32(1))),
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
}

// deployment returns a Deployment of this size. A new pod must be ready for this many seconds before the next one is replaced.
func (r role) deployment(
	record memcached.Record, size, minReadySeconds int32, surge, unavailable intstr.IntOrString, template corev1.PodTemplateSpec,
) *appsv1.Deployment {
	metadata := r.metadata(r.suffix, cachev1alpha1.Metadata{})
	metadata.Annotations = record.Annotations()
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metadata,
		Spec: appsv1.DeploymentSpec{
			Replicas:        &size,
			Selector:        &metav1.LabelSelector{MatchLabels: r.selector},
			MinReadySeconds: minReadySeconds,
			// A rollback cannot restore the items of a cache. One old ReplicaSet is enough to show what has changed.
			RevisionHistoryLimit:    ptr.To(int32(1)),
			ProgressDeadlineSeconds: ptr.To(memcached.ProgressDeadlineSeconds(minReadySeconds)),
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
			},
			Template: withAPIDefaults(template),
		},
	}
}
