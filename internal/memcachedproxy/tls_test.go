// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// With TLS, a proxy needs more memory. A memory limit in the spec must allow for that.
func TestTLSNeedsMemory(t *testing.T) {
	tls := func(p *cachev1alpha1.MemcachedProxy) {
		p.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "front-tls"}
	}
	if got := model(front()).String() + " " + model(front(tls)).String(); got != "72Mi 119Mi" {
		t.Errorf("without and with TLS: %s", got)
	}
	plan := For(View{Proxy: front(tls, func(p *cachev1alpha1.MemcachedProxy) {
		p.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("72Mi")}
	}), Pool: sessions(3), Now: now}, options)
	if plan.Problem == nil || !strings.Contains(plan.Problem.Message, "1024 TLS connections and threads: 1 needs at least 119Mi") {
		t.Errorf("%+v", plan.Problem)
	}
}

// If the port without TLS is open, the address has that port, so that clients without TLS can still use the address.
func TestAddress(t *testing.T) {
	for plaintext, want := range map[cachev1alpha1.PlaintextMode]string{
		"": "front.shop.svc:11212", cachev1alpha1.PlaintextDisabled: "front.shop.svc:11212", cachev1alpha1.PlaintextEnabled: "front.shop.svc:11211",
	} {
		got := Address(front(func(p *cachev1alpha1.MemcachedProxy) { p.Spec.TLS = &cachev1alpha1.MemcachedTLS{Plaintext: plaintext} }))
		if got != want {
			t.Errorf("plaintext %s: %s", plaintext, got)
		}
	}
	if got := Address(front()); got != "front.shop.svc:11211" {
		t.Error(got)
	}
}
