// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// A stored affinity term may name other namespaces. It must be rendered without them, as a term for the Memcached's own namespace.
func TestAffinityIsAboutTheOwnNamespace(t *testing.T) {
	rendered := podAffinityTerm(cachev1alpha1.PodAffinityTerm{
		TopologyKey: "zone", Namespaces: []string{"others"}, NamespaceSelector: &cachev1alpha1.NamespaceSelector{},
	})
	if rendered.TopologyKey != "zone" || rendered.Namespaces != nil || rendered.NamespaceSelector != nil {
		t.Errorf("rendered as %+v", rendered)
	}
}
