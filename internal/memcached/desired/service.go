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

// Service returns the headless Service, whose DNS name lists the ready nodes. Pods that are not ready are left out. Otherwise, during a
// rollout of a Deployment, the name would list starting and stopping pods, more than there are nodes. If nodes fill themselves, all pods
// are listed, because proxies must store items in nodes that are still empty.
func Service(mc *cachev1alpha1.Memcached) *corev1.Service {
	// The default of Kubernetes is set explicitly, because without a value a Service would keep another policy.
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
