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
)

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
