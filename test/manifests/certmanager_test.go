// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/kustomize"
)

func certManager(t *testing.T) map[string]*crd.Schema {
	t.Helper()
	return schemasIn(t, filepath.Join("testdata", "cert-manager.io_certificates.yaml"), filepath.Join("testdata", "cert-manager.io_issuers.yaml"))
}

// ofCertManager returns the Certificates and Issuers in config/samples/tls, by Kind and name.
func ofCertManager(t *testing.T) map[string]map[string]*unstructured.Unstructured {
	t.Helper()
	byKind := map[string]map[string]*unstructured.Unstructured{"Certificate": {}, "Issuer": {}}
	for _, object := range kustomize.Render(t, config("samples/tls")) {
		if object.GetAPIVersion() == "cert-manager.io/v1" {
			byKind[object.GetKind()][object.GetName()] = object
		}
	}
	if len(byKind["Certificate"]) != 2 || len(byKind["Issuer"]) != 2 {
		t.Fatalf("the sample has %v", byKind)
	}
	return byKind
}

func TestCertManagerAcceptsItsObjects(t *testing.T) {
	schemas := certManager(t)
	for kind, objects := range ofCertManager(t) {
		for name, object := range objects {
			content, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if err := schemas[kind].Validate(content); err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
			}
		}
	}
}

// The schemas do not contain the rules of cert-manager's webhook, and do not require that an Issuer exists. This test checks both.
func TestCertManagerCanIssueTheCertificates(t *testing.T) {
	objects := ofCertManager(t)
	text := func(object *unstructured.Unstructured, path ...string) string {
		value, _, err := unstructured.NestedString(object.Object, append([]string{"spec"}, path...)...)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	authorities := map[string]bool{}
	for _, certificate := range objects["Certificate"] {
		if isCA, _, _ := unstructured.NestedBool(certificate.Object, "spec", "isCA"); isCA {
			authorities[text(certificate, "secretName")] = true
		}
	}
	for name, certificate := range objects["Certificate"] {
		issuer := objects["Issuer"][text(certificate, "issuerRef", "name")]
		if issuer == nil || text(certificate, "issuerRef", "kind") != "Issuer" {
			t.Errorf("the Issuer of the Certificate %s is not in the sample", name)
			continue
		}
		if secret := text(issuer, "ca", "secretName"); secret != "" && !authorities[secret] {
			t.Errorf("the Issuer %s needs the Secret %s, which no Certificate of a CA writes", issuer.GetName(), secret)
		}
		duration, err := time.ParseDuration(text(certificate, "duration"))
		if err != nil {
			t.Errorf("the duration of the Certificate %s: %v", name, err)
		}
		before := text(certificate, "renewBefore")
		if before == "" {
			continue
		}
		if renewBefore, err := time.ParseDuration(before); err != nil || renewBefore < 5*time.Minute || renewBefore >= duration {
			t.Errorf("the Certificate %s is renewed %s before its end, of %s: %v", name, before, duration, err)
		}
	}
}
