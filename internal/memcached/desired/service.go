// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// Service returns the headless Service. With spec.fillFrom, its DNS name resolves to all nodes, because proxies must store new items
// in nodes that are still being filled. Otherwise, it resolves only to ready nodes, because clients must not connect to nodes that
// are starting or stopping.
func Service(mc *cachev1alpha1.Memcached) *corev1.Service {
	// This default of Kubernetes is set explicitly. Without a value, an existing Service would keep another policy.
	families := ptr.Deref(mc.Spec.Service.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        mc.Name,
			Namespace:   mc.Namespace,
			Labels:      labelsOf(mc, mc.Spec.Service.Labels),
			Annotations: render.Annotations(mc.Spec.Service.Metadata),
		},
		Spec: corev1.ServiceSpec{
			Type:           corev1.ServiceTypeClusterIP,
			ClusterIP:      corev1.ClusterIPNone,
			IPFamilyPolicy: &families,
			Selector:       memcached.SelectorLabels(mc),
			Ports:          memcached.ServicePorts(memcached.ClientPorts(mc)),

			PublishNotReadyAddresses: memcached.FillsFrom(mc) != "",
		},
	}
}
