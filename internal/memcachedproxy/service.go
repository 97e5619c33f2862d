// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// Service returns the Service that gives clients one address. It leads each connection to a ready proxy.
func Service(proxy *cachev1alpha1.MemcachedProxy) *corev1.Service {
	families := ptr.Deref(proxy.Spec.Service.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: proxy.Name, Namespace: proxy.Namespace, Labels: labelsOf(proxy, proxy.Spec.Service.Labels),
			Annotations: render.Annotations(proxy.Spec.Service.Metadata),
		},
		Spec: corev1.ServiceSpec{
			Type:           corev1.ServiceTypeClusterIP,
			IPFamilyPolicy: &families,
			Selector:       SelectorLabels(proxy),
			// With None, the connections of one client are spread over several proxies.
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports:           memcached.ServicePorts(memcached.PortsWith(proxy.Spec.TLS)),
		},
	}
}
