// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestChangesThatAreTakenBack begins a change that gets no further than node 2, the first node to change, and takes the change back. The
// other nodes must stay as they are, although the operator now has newer defaults than when they were created.
func TestChangesThatAreTakenBack(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*cachev1alpha1.Memcached){
		"another template":                  teamLabel,
		"connections that need more memory": connections(20000),
		"both":                              func(mc *cachev1alpha1.Memcached) { connections(20000)(mc); teamLabel(mc) },
		"two changes": func(mc *cachev1alpha1.Memcached) {
			teamLabel(mc)
			if mc.Generation > 100 {
				memcachedtest.Image("memcached:2")(mc)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, reCreate)
			before := f.mc.Spec.DeepCopy()
			f.opts.DefaultImage, f.opts.AgentImage = "memcached:1.7", "agent:2"
			stay, last := []types.UID{f.nodes[0].uid, f.nodes[1].uid}, f.nodes[2].uid
			change(f.mc)
			for f.nodes[2] == nil || f.nodes[2].uid == last {
				f.turn()
			}
			f.mc.Generation += 100
			change(f.mc)
			for range 4 {
				if node := f.nodes[2]; node != nil {
					node.unscheduled = true
				}
				f.turn()
			}
			f.mc.Spec = *before
			f.settle()
			if now := []types.UID{f.nodes[0].uid, f.nodes[1].uid}; !slices.Equal(now, stay) {
				t.Error("a node that the change had not reached was replaced")
			}
		})
	}
}

// TestMoreMemoryInPlaceIsTakenBack makes a change that needs more memory than one cluster node has, and takes it back. No pod may be
// replaced, and no refusal may remain.
func TestMoreMemoryInPlaceIsTakenBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, inPlacePolicy)
	f.nodes[2].changed.infeasible = "Node didn't have enough capacity"
	connections(20000)(f.mc)
	for f.plan.InPlace.Problem == nil {
		f.turn()
	}
	made := f.made
	connections(0)(f.mc)
	f.settle()
	if f.made != made || f.plan.InPlace.Problem != nil {
		t.Errorf("%d pods are new, %+v", f.made-made, f.plan.InPlace.Problem)
	}
}
