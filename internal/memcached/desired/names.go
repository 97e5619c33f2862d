// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const port = memcached.Port

// Labels that only describe an object. A user may override them on pods and Service, for example to name the application that the
// cache belongs to.
const (
	componentLabel = "app.kubernetes.io/component"
	component      = "cache"
	partOfLabel    = "app.kubernetes.io/part-of"
	partOf         = "memcached"
)

// labelsOf returns the labels of an object: descriptive ones, overridden by the user's, overridden by those that select it.
func labelsOf(mc *cachev1alpha1.Memcached, wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	labels := map[string]string{componentLabel: component, partOfLabel: partOf}
	for key, value := range wanted {
		labels[key] = string(value)
	}
	maps.Copy(labels, memcached.SelectorLabels(mc))
	return labels
}
