// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"encoding/json"
	"testing"

	"sigs.k8s.io/randfill"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestSchedulingIsWhatKubernetesReads renders random values. The JSON of the Memcached API's types must be the same as that of the
// Kubernetes types.
func TestSchedulingIsWhatKubernetesReads(t *testing.T) {
	filler := randfill.NewWithSeed(1).NilChance(0.2).NumElements(1, 3)
	for range 300 {
		var wanted cachev1alpha1.MemcachedScheduling
		filler.Fill(&wanted)
		ofThisNamespace(wanted.Affinity)
		wanted.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
		for i := range wanted.TopologySpreadConstraints {
			if wanted.TopologySpreadConstraints[i].LabelSelector == nil { // a nil selector gets a default
				wanted.TopologySpreadConstraints[i].LabelSelector = &cachev1alpha1.LabelSelector{}
			}
		}
		mc := &cachev1alpha1.Memcached{}
		mc.Spec.Scheduling = wanted
		pod := live(t, mc, memcachedtest.Options).Spec.Template.Spec
		checkSameJSON(t, wanted.NodeSelector, pod.NodeSelector)
		checkSameJSON(t, wanted.Tolerations, pod.Tolerations)
		checkSameJSON(t, wanted.Affinity, pod.Affinity)
		if len(wanted.TopologySpreadConstraints) > 0 {
			checkSameJSON(t, wanted.TopologySpreadConstraints, pod.TopologySpreadConstraints)
		}
	}
}

func TestNetworkPolicyIsWhatKubernetesReads(t *testing.T) {
	filler := randfill.NewWithSeed(1).NilChance(0.2).NumElements(1, 3)
	for range 100 {
		mc := &cachev1alpha1.Memcached{}
		filler.Fill(&mc.Spec.NetworkPolicy.From)
		if len(mc.Spec.NetworkPolicy.From) > 0 {
			checkSameJSON(t, mc.Spec.NetworkPolicy.From, NetworkPolicy(memcached.View{Memcached: mc}).Spec.Ingress[0].From)
		}
	}
}

// ofThisNamespace removes references to other namespaces, which the API server refuses.
func ofThisNamespace(affinity *cachev1alpha1.Affinity) {
	if affinity == nil {
		return
	}
	for _, pods := range []*cachev1alpha1.PodAffinity{affinity.PodAffinity, affinity.PodAntiAffinity} {
		if pods == nil {
			continue
		}
		for i := range pods.RequiredDuringSchedulingIgnoredDuringExecution {
			term := &pods.RequiredDuringSchedulingIgnoredDuringExecution[i]
			term.Namespaces, term.NamespaceSelector = nil, nil
		}
		for i := range pods.PreferredDuringSchedulingIgnoredDuringExecution {
			term := &pods.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm
			term.Namespaces, term.NamespaceSelector = nil, nil
		}
	}
}

func checkSameJSON(t *testing.T, wanted, rendered any) {
	t.Helper()
	want, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(rendered)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s is rendered as %s", want, got)
	}
}
