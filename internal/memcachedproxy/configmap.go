// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// ConfigMap returns the ConfigMap with this data. The key protocol.RoutesKey holds the routes for the proxies.
func ConfigMap(proxy *cachev1alpha1.MemcachedProxy, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: proxy.Name + RoutesSuffix, Namespace: proxy.Namespace, Labels: labelsOf(proxy, nil)},
		Data:       data,
	}
}
