// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// A release with another name and namespace must differ only in names and namespaces, and in references to them. fullnameOverride
// must replace the name of the release.
func TestNamesFollowTheRelease(t *testing.T) {
	const everything = "{monitoring: {enabled: true}, networkPolicy: {enabled: true}}"
	var names []string
	usual := install(t, everything).unlabeled()
	for key := range usual {
		_, name, _ := strings.Cut(key, " ")
		if strings.HasPrefix(name, namePrefix) {
			names = append(names, name)
		}
	}
	text := inJSONOf(usual)
	for _, name := range names {
		text = strings.ReplaceAll(text, `"`+name+`"`, `"shop-`+name+`"`)
		text = strings.ReplaceAll(text, " "+name+`":`, " shop-"+name+`":`)
	}
	text = strings.ReplaceAll(text, `"`+namespace+`"`, `"caches"`)
	var want objects
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, installAs(t, "shop", "caches", everything).unlabeled()); diff != "" {
		t.Errorf("the release shop (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, installAs(t, "other", "caches", "{fullnameOverride: shop-memcached-operator, monitoring: {enabled: true}, "+
		"networkPolicy: {enabled: true}}").unlabeled()); diff != "" {
		t.Errorf("fullnameOverride (-want +got):\n%s", diff)
	}
}

// The names of objects follow from the name of the release, which has at most 53 characters. The name of a Service can have 63. Only the
// names of the CRDs are fixed.
func TestLongNamesAreValid(t *testing.T) {
	dnsLabel := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	for _, name := range []string{strings.Repeat("a", 53), strings.Repeat("b", 27) + "-c", "1"} {
		for key, manifest := range installAs(t, name, "caches", "monitoring: {enabled: true}") {
			_, objectName, _ := strings.Cut(key, " ")
			if manifest["kind"] != "CustomResourceDefinition" && !dnsLabel.MatchString(objectName) {
				t.Errorf("release %s: %s", name, key)
			}
		}
	}
}

// serviceAccount.name must change only the ServiceAccount of the operator and the references to it. If serviceAccount.create is
// false, the chart must not install this ServiceAccount.
func TestTheAccountCanHaveAnotherName(t *testing.T) {
	const everything = "monitoring: {enabled: true}, networkPolicy: {enabled: true}, replicas: 2"
	usual := installAs(t, "memcached-operator", namespace, "{"+everything+"}")
	const name = `"memcached-operator-controller-manager"`
	for _, kind := range []string{"Deployment", "PodDisruptionBudget"} {
		usual[kind+" memcached-operator-controller-manager"]["metadata"].(object)["name"] = "kept"
	}
	text := inJSONOf(usual)
	text = strings.ReplaceAll(text, "ServiceAccount memcached-operator-controller-manager", "ServiceAccount other")
	text = strings.ReplaceAll(strings.ReplaceAll(text, name, `"other"`), `"kept"`, name)
	var want objects
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, install(t, "{"+everything+", serviceAccount: {name: other}}")); diff != "" {
		t.Errorf("another name (-want +got):\n%s", diff)
	}
	delete(want, "ServiceAccount other")
	if diff := cmp.Diff(want, install(t, "{"+everything+", serviceAccount: {name: other, create: false}}")); diff != "" {
		t.Errorf("an account of others (-want +got):\n%s", diff)
	}
}
