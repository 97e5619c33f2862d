// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// chapter is a change by the user, and the reasons of Progressing that follow, without repetitions.
type chapter struct {
	name    string
	change  func(*cachev1alpha1.Memcached)
	reasons string
}

var chapters = []chapter{
	{"create", func(*cachev1alpha1.Memcached) {}, "Creating Complete"},
	{"scale up", memcachedtest.Size(5), "Scaling Complete"},
	{"change the image", memcachedtest.Image("memcached:1"), "RollingOut Complete"},
	{"scale down", memcachedtest.Size(2), "Scaling Complete"},
	{"go back to the first image", memcachedtest.Image(""), "RollingOut Complete"},
	{"surge only", memcachedtest.MaxSurge(intstr.FromString("50%")), "Complete"},
	{"wait after each node", func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds++ }, "Complete"},
	{
		// MinReadySeconds is 0 again. To wait for minReadySeconds, the operator would need an annotation that the pods of this simulation lack.
		"go on to the other image", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.UpdateStrategy.MinReadySeconds = 0
			memcachedtest.Image("memcached:1")(mc)
		}, "RollingOut Complete",
	},
	{"and back", memcachedtest.Image(""), "RollingOut Complete"},
	{"scale to one", memcachedtest.Size(1), "Scaling Complete"},
	{"change the image of one", memcachedtest.Image("memcached:2"), "RollingOut Complete"},
	{"scale to none", memcachedtest.Size(0), "Scaling Complete"},
	{"change the image of none", memcachedtest.Image("memcached:3"), "RollingOut Complete"},
	{"scale from none", memcachedtest.Size(4), "Scaling Complete"},
	{
		"change size and image", func(mc *cachev1alpha1.Memcached) { memcachedtest.Size(7)(mc); memcachedtest.Image("memcached:4")(mc) },
		"Scaling RollingOut Complete",
	},
}

// moves are chapters with changes of spec.workload. The cache must stay available, and have at most one node more than its size.
var moves = []chapter{
	{"create", func(*cachev1alpha1.Memcached) {}, "Creating Complete"},
	{"move to a StatefulSet", inStatefulSet, "RollingOut Complete"},
	{"scale up", memcachedtest.Size(5), "Scaling Complete"},
	{"move back", inDeployment, "RollingOut Complete"},
	{"move with another image", func(mc *cachev1alpha1.Memcached) { inStatefulSet(mc); memcachedtest.Image("memcached:1")(mc) }, "RollingOut Complete"},
	{"scale to one", memcachedtest.Size(1), "Scaling Complete"},
	{"move the only node", inDeployment, "RollingOut Complete"},
	{"scale to none", memcachedtest.Size(0), "Scaling Complete"},
	{"move nothing", inStatefulSet, "RollingOut Complete"},
	{"scale from none", memcachedtest.Size(3), "Scaling Complete"},
}

func inDeployment(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadDeployment }

// TestStatusThroughRollouts tells the chapters in order. Within each, the events of the cluster come in random order. Progressing must
// go through the right reasons, Ready must not come too early, and the cache must stay available.
func TestStatusThroughRollouts(t *testing.T) {
	for name, in := range map[string]func(*cachev1alpha1.Memcached){"Deployment": inDeployment, "StatefulSet": inStatefulSet} {
		for seed := range uint64(25) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				story := newStory(t, seed, 0, in)
				for _, chapter := range chapters {
					story.tell(chapter)
				}
			})
		}
	}
}

// TestStatusThroughMoves is like TestStatusThroughRollouts, but with moves from one workload to the other. It also limits how many
// nodes there are.
func TestStatusThroughMoves(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			story := newStory(t, seed, 2, inDeployment)
			for _, chapter := range moves {
				story.members = int(story.mc.Spec.Size) + 1
				story.tell(chapter)
			}
		})
	}
}

// TestStatusThroughInterruptions has users who start another change while one is in progress.
func TestStatusThroughInterruptions(t *testing.T) {
	for name, c := range map[string]struct {
		in       func(*cachev1alpha1.Memcached)
		chapters []chapter
	}{
		"Deployment": {inDeployment, chapters}, "StatefulSet": {inStatefulSet, chapters},
		"both": {inDeployment, slices.Concat(chapters, moves, moves)},
	} {
		for seed := range uint64(25) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				story := newStory(t, seed, 1, c.in)
				for range 20 {
					story.begin(c.chapters[story.random.IntN(len(c.chapters))])
					story.run(story.random.IntN(20))
				}
				story.end()
			})
		}
	}
}
