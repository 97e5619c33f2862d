// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// ManagedByLabel and ManagedBy mark every object of the operator; its caches hold only objects with this label.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "memcached-operator"
)

// InstanceLabel holds the name of the Memcached.
const InstanceLabel = "app.kubernetes.io/instance"

const nameLabel = "app.kubernetes.io/name"

// Labels that only describe an object. A user may set them on the pods and the Service: to say, for instance, which
// application the cache is part of.
const (
	componentLabel = "app.kubernetes.io/component"
	component      = "cache"
	partOfLabel    = "app.kubernetes.io/part-of"
	partOf         = "memcached"
)

// Annotations of the workload by which a later version of the operator recognizes what an earlier one decided.
const (
	// templateHashAnnotation is the hash of the pod template that the spec alone determines, without computed defaults.
	templateHashAnnotation = "cache.example.com/template-hash"
	// podDefaultsAnnotation are the computed defaults of the pods: see podDefaults.
	podDefaultsAnnotation = "cache.example.com/pod-defaults"
)

// selectorLabels select the pods of one Memcached. A selector cannot be changed, so there is no version among them.
func selectorLabels(mc *cachev1alpha1.Memcached) map[string]string {
	return map[string]string{
		nameLabel:      "memcached",
		InstanceLabel:  mc.Name,
		ManagedByLabel: ManagedBy,
	}
}

// labelsOf are the labels of an object: those that describe it, those that the user wants, and above all those by which
// it is found.
func labelsOf(mc *cachev1alpha1.Memcached, wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	labels := map[string]string{componentLabel: component, partOfLabel: partOf}
	for key, value := range wanted {
		labels[key] = string(value)
	}
	maps.Copy(labels, selectorLabels(mc))
	return labels
}
