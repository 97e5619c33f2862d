// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import "testing"

// TestPartition describes nodes by one character each, from node 0 on. Outdated nodes are o if they serve, and x if not. Replaced
// nodes are + if they serve, and - if not. A missing node is - as well.
func TestPartition(t *testing.T) {
	t.Parallel()
	for nodes, want := range map[string]struct{ first, next int }{
		"":      {0, -1},
		"ooo":   {3, 2},
		"oo+":   {2, 1},
		"o++":   {1, 0},
		"+++":   {0, -1},
		"oo-":   {2, -1}, // node 2 must serve first
		"o-+":   {1, -1},
		"--+":   {0, -1},
		"oox":   {2, 1}, // node 2 does not serve, so it can be replaced; node 1 can stop, too, because the twin has its items
		"xxx":   {0, -1},
		"oxo":   {3, 2},
		"ox-":   {1, -1},
		"xo-":   {2, -1},
		"o":     {1, 0},
		"oo+++": {2, 1},
	} {
		states := make([]nodeState, len(nodes))
		for i, node := range nodes {
			states[i] = nodeState{outdated: node == 'o' || node == 'x', ready: node == 'o' || node == '+'}
		}
		if first, next := partition(states); first != want.first || next != want.next {
			t.Errorf("%q: %d and %d, want %d and %d", nodes, first, next, want.first, want.next)
		}
	}
}
