// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Labels returns the labels of an object: two that describe it, the user's labels, and the labels in selector. If a key occurs more
// than once, the later one in this order has precedence.
func Labels(component string, wanted map[string]cachev1alpha1.LabelValue, selector map[string]string) map[string]string {
	labels := map[string]string{"app.kubernetes.io/component": component, "app.kubernetes.io/part-of": "memcached"}
	for key, value := range wanted {
		labels[key] = string(value)
	}
	maps.Copy(labels, selector)
	return labels
}

// Annotations returns the user's annotations, or nil.
func Annotations(metadata cachev1alpha1.Metadata) map[string]string {
	if metadata.Annotations == nil {
		return nil
	}
	annotations := make(map[string]string, len(metadata.Annotations))
	for key, value := range metadata.Annotations {
		annotations[key] = string(value)
	}
	return annotations
}
