// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Clients never use the names of a Deployment's pods.
func TestCertificateHosts(t *testing.T) {
	for _, row := range []struct {
		workload cachev1alpha1.WorkloadKind
		owner    string
		want     []string
	}{
		{cachev1alpha1.WorkloadDeployment, "ReplicaSet", []string{"cache.shop.svc"}},
		{cachev1alpha1.WorkloadStatefulSet, "StatefulSet", []string{"cache.shop.svc", "cache-0.cache.shop.svc"}},
	} {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache"}}
		mc.Spec.Workload, mc.Spec.TLS = row.workload, &cachev1alpha1.MemcachedTLS{}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cache-0", OwnerReferences: []metav1.OwnerReference{
			{Kind: row.owner, Name: "cache", Controller: ptr.To(true)},
		}}}
		if got := CertificateHosts(mc, pod); !slices.Equal(got, row.want) {
			t.Errorf("%s, a pod of a %s: %v", row.workload, row.owner, got)
		}
	}
}
