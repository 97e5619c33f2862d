// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// foreign are fields whose inner fields need no descriptors, because Kubernetes describes them.
var foreign = []string{
	"scheduling.affinity", "scheduling.tolerations", "scheduling.topologySpreadConstraints", "networkPolicy.from",
	"networkPolicy.metricsFrom", "conditions",
}

// descriptors finds fields of the API without a descriptor, descriptors without a field, and incomplete descriptors. It also finds
// kinds that the ClusterServiceVersion does not describe.
func descriptors(b *bundle) []string {
	var wrong []string
	for _, crd := range b.crds {
		described := false
		for _, owned := range b.csv.Spec.CustomResourceDefinitions.Owned {
			if owned.Name != crd.Name {
				continue
			}
			described = true
			properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
			var spec, status []operatorsv1alpha1.SpecDescriptor
			spec = append(spec, owned.SpecDescriptors...)
			for _, descriptor := range owned.StatusDescriptors {
				status = append(status, operatorsv1alpha1.SpecDescriptor(descriptor))
			}
			wrong = append(wrong, compare("spec", properties["spec"], spec)...)
			wrong = append(wrong, compare("status", properties["status"], status)...)
			if owned.DisplayName == "" || owned.Description == "" || len(owned.Resources) == 0 {
				wrong = append(wrong, fmt.Sprintf("%s has no display name, description or list of resources", owned.Name))
			}
		}
		if !described {
			wrong = append(wrong, crd.Name+" is not among the owned CustomResourceDefinitions")
		}
	}
	return wrong
}

// compare returns what is wrong with the descriptors of a schema. The first parameter is "spec" or "status".
func compare(of string, schema apiextensionsv1.JSONSchemaProps, descriptors []operatorsv1alpha1.SpecDescriptor) []string {
	fields := map[string]bool{}
	collect("", schema, fields)
	described := map[string]bool{}
	var wrong []string
	for _, descriptor := range descriptors {
		path := of + "." + descriptor.Path
		switch {
		case !fields[descriptor.Path]:
			wrong = append(wrong, path+" has a descriptor but is no field")
		case described[descriptor.Path]:
			wrong = append(wrong, path+" has two descriptors")
		case descriptor.DisplayName == "" || descriptor.Description == "" || len(descriptor.XDescriptors) == 0:
			wrong = append(wrong, path+" has a descriptor without display name, description or x-descriptors")
		}
		for _, x := range descriptor.XDescriptors {
			if !strings.HasPrefix(x, "urn:alm:descriptor:") {
				wrong = append(wrong, fmt.Sprintf("%s has the x-descriptor %q, which no console knows", path, x))
			}
		}
		described[descriptor.Path] = true
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !described[field] {
			wrong = append(wrong, of+"."+field+" has no descriptor")
		}
	}
	return wrong
}

// collect adds the path of each field in a schema, such as "imagePullSecrets[0].name", to the argument fields. If a field is in the list
// foreign, collect adds the field itself, but leaves out its inner fields.
func collect(prefix string, schema apiextensionsv1.JSONSchemaProps, fields map[string]bool) {
	for name, property := range schema.Properties {
		path := prefix + name
		fields[path] = true
		if slices.Contains(foreign, path) {
			continue
		}
		collect(path+".", property, fields)
		if property.Items != nil && property.Items.Schema != nil {
			collect(path+"[0].", *property.Items.Schema, fields)
		}
	}
}
