// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

var exampleMutations = map[string]mutation{
	"an example with an unknown field": {
		func(b *bundle) { replaceExample(b, `"size": 3`, `"size": 3, "sise": 3`) }, `unknown field "sise"`,
	},
	"an example that the schema refuses": {
		func(b *bundle) { replaceExample(b, `"size": 3`, `"size": 3000`) }, "less than or equal to 1000",
	},
	"an example that a rule refuses": {
		func(b *bundle) { replaceExample(b, `"memory": "288Mi"`, `"memory": "288.5Mi"`) }, "whole number of MiB",
	},
	"an example that the operator cannot carry out": {
		func(b *bundle) {
			replaceExample(b, `"memory": "288Mi"`, `"memory": "300Mi"`)
			replaceExample(b, `"requests": {`, `"limits": {"memory": "460Mi"}, "requests": {`)
		}, "the operator cannot carry it out",
	},
	"an example of another kind": {
		func(b *bundle) { replaceExample(b, `"kind": "Memcached"`, `"kind": "Redis"`) }, "Kind=Redis",
	},
	"an example without a description": {
		func(b *bundle) { replaceExample(b, `"name": "memcached-sample"`, `"name": "other"`) }, "other has no description",
	},
	"a description without an example": {
		func(b *bundle) { replaceExample(b, `"name": "memcached-sample"`, `"name": "other"`) }, "memcached-sample, which is no example",
	},
	"no example": {
		func(b *bundle) { b.csv.Annotations["alm-examples"] = "[]" }, "is empty",
	},
}
