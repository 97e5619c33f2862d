// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

var imageMutations = map[string]mutation{
	"an image that is not related": {
		func(b *bundle) { pod(b).Spec.Containers[0].Image = "example.com/other:v1" }, `"example.com/other:v1" of the container manager`,
	},
	"an image of a variable that is not related": {
		func(b *bundle) {
			pod(b).Spec.Containers[0].Env = append(pod(b).Spec.Containers[0].Env, corev1.EnvVar{Name: "RELATED_IMAGE_X", Value: "x:1"})
		}, `"x:1" of the variable RELATED_IMAGE_X`,
	},
	"an image of an init container": {
		func(b *bundle) {
			pod(b).Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
		}, `"init:1" of the container init`,
	},
	"an image of an example": {
		func(b *bundle) { replaceExample(b, `"size": 3`, `"size": 3, "image": "memcached:1"`) }, `"memcached:1" of an example`,
	},
	"an image that catalogs show": {
		func(b *bundle) { b.csv.Annotations["containerImage"] = "other:1" }, `"other:1" of the annotation containerImage`,
	},
	"a related image that nothing uses": {
		func(b *bundle) {
			b.csv.Spec.RelatedImages = append(b.csv.Spec.RelatedImages, operatorsv1alpha1.RelatedImage{Name: "x", Image: "x:1"})
		}, "x:1 is a related image that nothing uses",
	},
	"a related image without a name": {
		func(b *bundle) { b.csv.Spec.RelatedImages[0].Name = "" }, "must be one of its own",
	},
}
