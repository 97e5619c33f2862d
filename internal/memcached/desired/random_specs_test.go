// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestDesiredOfRandomSpecs checks the objects of thousands of random Memcacheds that the API server would store. They must be
// unprivileged and in the namespace of the Memcached.
func TestDesiredOfRandomSpecs(t *testing.T) {
	const specs, shards = 5000, 4
	server := apiServer(t)
	for shard := range slices.Chunk(randomChoices(specs), specs/shards) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			stored, rendered := 0, 0
			for _, choices := range shard {
				text := (&generator{choices: choices}).text()
				mc, err := server.Store(text)
				if err != nil {
					continue
				}
				stored++
				if checkDesired(t, mc) {
					rendered++
				}
				if t.Failed() {
					t.Fatalf("of %s", text)
				}
			}
			t.Logf("of %d specs, %d are valid and %d can be carried out", len(shard), stored, rendered)
			if stored < len(shard)/4 || rendered < stored/2 || rendered == stored {
				t.Error("these specs prove little")
			}
		})
	}
}

func randomChoices(count int) [][]byte {
	random := rand.NewChaCha8([32]byte{})
	all := make([][]byte, count)
	for i := range all {
		all[i] = make([]byte, 400)
		_, _ = random.Read(all[i])
		all[i][0] |= 0x80 // so that it does not begin like JSON
	}
	return all
}

// checkDesired checks the desired objects of a Memcached, and reports whether its spec can be carried out.
func checkDesired(t *testing.T, mc *cachev1alpha1.Memcached) bool {
	t.Helper()
	mc.Status.Servers = make([]string, mc.Spec.Size) // so that proxies have routes
	before := encodedText(t, mc)
	opts := memcachedtest.Options
	plan := For(memcachedtest.View(mc, memcached.Observed{}), opts)
	if after := encodedText(t, mc); before != after {
		t.Errorf("For changed the Memcached from %s to %s", before, after)
	}
	openShift := opts
	openShift.OmitRunAsUser = true
	unspecific := For(memcachedtest.View(mc, memcached.Observed{}), openShift)
	if (plan.Problem == nil) != (unspecific.Problem == nil) {
		t.Errorf("%v, and on OpenShift %v", plan.Problem, unspecific.Problem)
	}
	if plan.Problem != nil {
		if plan.Problem.Reason == "" || plan.Problem.Message == "" || len(plan.Objects) < 2 {
			t.Errorf("a problem that tells the user nothing: %v", plan.Problem)
		}
		return false
	}
	checkObjects(t, mc, opts, plan.Objects)
	checkObjects(t, mc, openShift, unspecific.Objects)
	return true
}

func encodedText(t *testing.T, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
