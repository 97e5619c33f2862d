// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/example/memcached-operator/test/traffic"
)

// libmemcached 1.1.4 computed the expected owners, with MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED.
func TestOwners(t *testing.T) {
	keys := []string{"key-000001", "key-000002", "key-000003", "user:42", "session/9f8e", "schlüssel", "wrap-815"}
	pods := []string{"cache-0", "cache-1", "cache-2"}
	for name, test := range map[string]struct {
		owner traffic.Owner
		want  []int
	}{
		// The hash of wrap-815 is beyond the last point, which belongs to cache-0. The first point belongs to cache-1.
		"three servers": {traffic.Ketama(pods), []int{0, 0, 1, 0, 1, 2, 1}},
		"addresses":     {traffic.Ketama([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3:11212"}), []int{2, 2, 0, 0}},
		"one server":    {traffic.Ketama(pods[:1]), []int{0, 0}},
	} {
		for i, want := range test.want {
			if got := test.owner(keys[i]); got != want {
				t.Errorf("%s: %s belongs to server %d, want %d", name, keys[i], got, want)
			}
		}
	}
}

// With Ketama, the order of the servers does not matter, because their points depend on their names.
func TestKetamaIgnoresTheOrder(t *testing.T) {
	servers, reversed := []string{"a", "b", "c"}, []string{"c", "b", "a"}
	straight, back := traffic.Ketama(servers), traffic.Ketama(reversed)
	for i := range 1000 {
		key := fmt.Sprintf("key-%06d", i)
		if servers[straight(key)] != reversed[back(key)] {
			t.Fatalf("%s belongs to %s and to %s", key, servers[straight(key)], reversed[back(key)])
		}
	}
}

// In the cases below, an ideal ring keeps 3/4, 3/4, 2/3, 2/3 and 1/2 of the keys on their server. Each server must own roughly an
// equal share of the keys.
func TestKetamaKeepsKeysByName(t *testing.T) {
	three := []string{"cache-0", "cache-1", "cache-2"}
	four := append(slices.Clone(three), "cache-3")
	for name, test := range map[string]struct {
		before, after []string
		least, most   float64
	}{
		"one more":          {three, four, 0.71, 0.79},
		"one less":          {four, three, 0.71, 0.79},
		"the last is gone":  {three, three[:2], 0.61, 0.71},
		"the first is gone": {three, three[1:], 0.61, 0.71},
		"a new name":        {three, []string{"cache-0", "cache-1", "cache-4"}, 0.46, 0.54},
	} {
		was, is := traffic.Ketama(test.before), traffic.Ketama(test.after)
		const keys = 30000
		kept, owned := 0, map[string]int{}
		for i := range keys {
			key := fmt.Sprintf("key-%06d", i+1)
			owner := test.after[is(key)]
			owned[owner]++
			if owner == test.before[was(key)] {
				kept++
			}
		}
		if share := float64(kept) / keys; share < test.least || share > test.most {
			t.Errorf("%s: %.3f of the keys keep their owner, want %.2f to %.2f", name, share, test.least, test.most)
		}
		for _, server := range test.after {
			if share := float64(owned[server]*len(test.after)) / keys; share < 0.7 || share > 1.3 {
				t.Errorf("%s: %s owns %.2f of an equal share", name, server, share)
			}
		}
	}
}
