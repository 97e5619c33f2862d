// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

func TestCertificateHosts(t *testing.T) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cache-0"}}
	if got := CertificateHosts(mc, pod); got != nil {
		t.Errorf("without TLS: %v", got)
	}
	mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{}
	if got := CertificateHosts(mc, pod); !slices.Equal(got, []string{"cache.shop.svc", "cache-0.cache.shop.svc"}) {
		t.Errorf("with TLS: %v", got)
	}
}
