// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// Service returns the headless Service. With spec.fillFrom, its DNS name resolves to all nodes, because proxies must store new items
// in nodes that are still being filled. Otherwise, it resolves only to ready nodes, because clients must not connect to nodes that
// are starting or stopping.
func Service(mc *cachev1alpha1.Memcached) *corev1.Service {
	service := role(mc).Service(mc.Spec.Service, mc.Spec.TLS)
	service.Spec.ClusterIP = corev1.ClusterIPNone
	service.Spec.PublishNotReadyAddresses = memcached.FillsFrom(mc) != ""
	return service
}
