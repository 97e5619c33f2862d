// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestObservedWith(t *testing.T) {
	mc := makeCache(3)
	service, observed := Service(mc), makeDeployment(t, mc, settled)
	before := Observed{Children: children(service, observed), Pods: makePods(3)}
	deployment, budget := makeDeployment(t, mc), PodDisruptionBudget(mc)
	after := before.With(children(deployment, budget))
	for _, c := range []struct {
		name      string
		got, want []client.Object
	}{
		{"what was written is in the place of what was observed", after.Children, children(service, deployment, budget)},
		{"what was observed before", after.before, children(service, observed)},
		{"the observation itself", before.Children, children(service, observed)},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v", c.name, c.got)
		}
	}
	if len(after.Pods) != 3 {
		t.Error("the pods are lost")
	}
}

// TestObservedWithNames has two objects of a Kind.
func TestObservedWithNames(t *testing.T) {
	one, other := &corev1.Service{}, &corev1.Service{}
	one.Name, other.Name = "cache", "cache-other"
	changed := other.DeepCopy()
	after := Observed{Children: children(one, other)}.With(children(changed))
	if !slices.Equal(after.Children, children(one, changed)) {
		t.Errorf("%v", after.Children)
	}
}
