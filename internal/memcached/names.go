// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
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

// TemplateHashAnnotation is the annotation of the workload with the hash of the pod template that the spec alone determines,
// without computed defaults: by it a later version of the operator recognizes whether the spec has changed.
const TemplateHashAnnotation = "cache.example.com/template-hash"

// ContainerName is the name of the container that runs memcached.
const ContainerName = "memcached"

// SelectorLabels select the pods of one Memcached. A selector cannot be changed, so there is no version among them.
func SelectorLabels(mc *cachev1alpha1.Memcached) map[string]string {
	return map[string]string{
		nameLabel:      "memcached",
		InstanceLabel:  mc.Name,
		ManagedByLabel: ManagedBy,
	}
}
