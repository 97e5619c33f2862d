// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestObservedObjects would see a typed nil: an interface that is not nil, and holds nothing.
func TestObservedObjects(t *testing.T) {
	service, budget, deployment := &corev1.Service{}, &policyv1.PodDisruptionBudget{}, &appsv1.Deployment{}
	for name, c := range map[string]struct {
		observed Observed
		want     []client.Object
	}{
		"nothing":    {Observed{Pods: makePods(3)}, []client.Object{}},
		"service":    {Observed{Service: service}, []client.Object{service}},
		"budget":     {Observed{PodDisruptionBudget: budget}, []client.Object{budget}},
		"deployment": {Observed{Deployment: deployment}, []client.Object{deployment}},
		"all, in the order of Desired": {
			Observed{Deployment: deployment, Service: service, PodDisruptionBudget: budget},
			[]client.Object{service, budget, deployment},
		},
	} {
		if diff := cmp.Diff(c.want, c.observed.Objects()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestObservedWith(t *testing.T) {
	mc := makeCache(3)
	deployment, budget := makeDeployment(t, mc), PodDisruptionBudget(mc)
	before := Observed{Deployment: makeDeployment(t, mc, settled), Service: Service(mc), Pods: makePods(3)}
	after := before.With([]client.Object{deployment, budget})
	if service := Service(mc); before.With([]client.Object{service}).Service != service {
		t.Error("the Service that was written is not observed")
	}
	if after.Deployment != deployment || after.PodDisruptionBudget != budget {
		t.Error("what was written is not observed")
	}
	if after.Service != before.Service || len(after.Pods) != 3 {
		t.Error("what was not written is lost")
	}
	if before.Deployment == deployment || before.PodDisruptionBudget != nil {
		t.Error("the observation itself was changed")
	}
}
