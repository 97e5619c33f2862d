// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

var descriptorMutations = map[string]mutation{
	"a field without descriptor": {
		func(b *bundle) { owned(b).SpecDescriptors = owned(b).SpecDescriptors[1:] }, "spec.size has no descriptor",
	},
	"an inner field without descriptor": {
		func(b *bundle) {
			owned(b).SpecDescriptors = slices.DeleteFunc(owned(b).SpecDescriptors, func(d operatorsv1alpha1.SpecDescriptor) bool {
				return d.Path == "imagePullSecrets[0].name"
			})
		}, "spec.imagePullSecrets[0].name has no descriptor",
	},
	"a field of the status without descriptor": {
		func(b *bundle) { owned(b).StatusDescriptors = nil }, "status.conditions has no descriptor",
	},
	"a descriptor without field": {
		func(b *bundle) { owned(b).SpecDescriptors[0].Path = "sise" }, "spec.sise has a descriptor but is no field",
	},
	"a descriptor twice": {
		func(b *bundle) {
			owned(b).SpecDescriptors = append(owned(b).SpecDescriptors, owned(b).SpecDescriptors[0])
		}, "spec.size has two descriptors",
	},
	"a descriptor without x-descriptors": {
		func(b *bundle) { owned(b).SpecDescriptors[0].XDescriptors = nil }, "without display name, description or x-descriptors",
	},
	"an x-descriptor that is none": {
		func(b *bundle) { owned(b).SpecDescriptors[0].XDescriptors = []string{"podCount"} }, "which no console knows",
	},
	"a kind without resources": {
		func(b *bundle) { owned(b).Resources = nil }, "list of resources",
	},
	"a CRD that is not owned": {
		func(b *bundle) { b.csv.Spec.CustomResourceDefinitions.Owned = nil }, "is not among the owned",
	},
	"a new field in the CRD": {
		func(b *bundle) {
			b.crds[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["tls"] = apiextensionsv1.JSONSchemaProps{}
		}, "spec.tls has no descriptor",
	},
}
