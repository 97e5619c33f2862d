// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"crypto/x509"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
)

// TestCertificateOfTheSampleHasTheNamesOfTheCache checks each name that a client may verify, as a client does.
func TestCertificateOfTheSampleHasTheNamesOfTheCache(t *testing.T) {
	all := kustomize.Render(t, config("samples/tls"))
	mc := kustomize.Find[cachev1alpha1.Memcached](t, all, "Memcached", "memcached-sample-tls")
	object := kustomize.Find[unstructured.Unstructured](t, all, "Certificate", "memcached-sample-tls")
	spec := object.Object["spec"].(map[string]any)
	if spec["secretName"] != mc.Spec.TLS.SecretName || object.GetNamespace() != mc.Namespace {
		t.Errorf("the certificate is in the Secret %s/%s, not %s/%s", object.GetNamespace(), spec["secretName"], mc.Namespace, mc.Spec.TLS.SecretName)
	}
	names, _, err := unstructured.NestedStringSlice(spec, "dnsNames")
	if err != nil {
		t.Fatal(err)
	}
	service := mc.Name + "-nodes." + mc.Namespace + ".svc"
	hosts := []string{"localhost", service, service + ".cluster.local"}
	for i := range mc.Spec.Size {
		hosts = append(hosts, fmt.Sprintf("%s-%d.%s", mc.Name, i, service), fmt.Sprintf("%s-%d.%s.cluster.local", mc.Name, i, service))
	}
	if mc.Spec.Workload != cachev1alpha1.WorkloadStatefulSet || mc.Spec.Size < 2 {
		t.Errorf("the sample has no nodes with stable names: %+v", mc.Spec)
	}
	certificate := &x509.Certificate{DNSNames: names}
	for _, host := range hosts {
		if err := certificate.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if err := certificate.VerifyHostname("sessions-nodes.shop.svc"); err == nil {
		t.Error("the certificate is valid for other caches")
	}
}
