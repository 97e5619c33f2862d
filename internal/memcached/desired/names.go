// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const port = memcached.Port

// Labels that only describe an object. A user may set them on the pods and the Service: to say, for instance, which
// application the cache is part of.
const (
	componentLabel = "app.kubernetes.io/component"
	component      = "cache"
	partOfLabel    = "app.kubernetes.io/part-of"
	partOf         = "memcached"
)

// labelsOf are the labels of an object: those that describe it, those that the user wants, and above all those by which
// it is found.
func labelsOf(mc *cachev1alpha1.Memcached, wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	labels := map[string]string{componentLabel: component, partOfLabel: partOf}
	for key, value := range wanted {
		labels[key] = string(value)
	}
	maps.Copy(labels, memcached.SelectorLabels(mc))
	return labels
}
