// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestInPlaceOfAPodWithoutRoom changes a pod that no cluster node can run yet. Its first start already uses the new image.
func TestInPlaceOfAPodWithoutRoom(t *testing.T) {
	f := newFleet(t, 3, inPlacePolicy)
	f.nodes[2].unscheduled = true
	memcachedtest.Image("memcached:1.7")(f.mc)
	for range 10 {
		f.turn()
	}
	f.nodes[2].schedule()
	f.settle()
}

// TestInPlaceBesideAWebhook covers a webhook that sets the image of a container in all pods. It undoes the operator's change of this image,
// so the kubelet does not restart the container.
func TestInPlaceBesideAWebhook(t *testing.T) {
	for _, container := range []string{memcached.ContainerName, memcached.AgentContainerName} {
		for name, change := range map[string]func(*cachev1alpha1.Memcached){
			"an image": memcachedtest.Image("memcached:1.7"), "more memory": memoryOf("256Mi"),
		} {
			t.Run(name+", the webhook sets the image of "+container, func(t *testing.T) {
				f := newFleet(t, 3, inPlacePolicy)
				f.pinned = map[string]string{container: "mirror@sha256:1"}
				for _, node := range f.nodes {
					node.changed.images = maps.Clone(f.pinned)
				}
				made := f.made
				change(f.mc)
				f.settle()
				if f.made > made {
					t.Error("pods are new")
				}
			})
		}
	}
}

// TestInPlaceOfALostHost changes an image and takes the change back while a cluster node has lost contact.
func TestInPlaceOfALostHost(t *testing.T) {
	f := newFleet(t, 3, inPlacePolicy)
	f.nodes[2].cutOff = true
	memcachedtest.Image("memcached:1.7")(f.mc)
	for range 10 {
		f.turn()
	}
	memcachedtest.Image("")(f.mc)
	for range 10 {
		f.turn()
	}
	f.nodes[2].cutOff = false
	f.settle()
}

// TestInPlaceOfAHungPod changes an image and takes the change back before the kubelet has seen it. The pod does not serve at first.
func TestInPlaceOfAHungPod(t *testing.T) {
	f := newFleet(t, 3, inPlacePolicy)
	f.nodes[2].unready = true
	memcachedtest.Image("memcached:1.7")(f.mc)
	for len(f.nodes[2].changed.starting) == 0 {
		f.turn()
	}
	memcachedtest.Image("")(f.mc)
	f.slowKubelets()
	f.nodes[2].unready = false
	f.settle()
}

// TestInPlaceRefused covers images that cannot be pulled, and resources that a cluster node cannot give. The operator changes one
// pod back and leaves the others as they are.
func TestInPlaceRefused(t *testing.T) {
	for name, story := range map[string]struct {
		happens func(*fleet)
		change  func(*cachev1alpha1.Memcached)
		repair  func(*fleet)
		reason  string
		words   string
	}{
		"an image that does not exist": {
			happens: func(f *fleet) { f.unpullable = "1.7" }, change: memcachedtest.Image("memcached:1.7"),
			repair: func(f *fleet) { memcachedtest.Image("memcached:1.8")(f.mc) },
			reason: cachev1alpha1.ReasonImagePullFailed, words: "Pod cache-2 was not changed in place: the image memcached:1.7 cannot be pulled: no such image",
		},
		"a cluster node without room": {
			happens: func(f *fleet) { f.nodes[2].changed.infeasible = "Node didn't have enough capacity" }, change: memoryOf("1Gi"),
			repair: func(f *fleet) { memoryOf("128Mi")(f.mc) },
			reason: cachev1alpha1.ReasonInPlaceRefused, words: "its cluster node cannot give it other resources: Node didn't have enough capacity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3, inPlacePolicy)
			before := map[int]*fakeNode{}
			maps.Copy(before, f.nodes)
			story.happens(f)
			story.change(f.mc)
			for turn := range 40 {
				f.nodes[0].unready = turn < 30 && turn%4 == 3 // node 0 must not change while node 2 changes
				f.turn()
			}
			problem := f.plan.InPlace.Problem
			if problem == nil || problem.Reason != story.reason || !strings.Contains(problem.Message, story.words) {
				f.fail("the problem is %v", problem)
			}
			f.look()
			f.turn()
			if _, writes := f.look(); writes != "" {
				t.Errorf("it writes %s again and again", writes)
			}
			for ordinal, node := range f.nodes {
				pod := node.pod(f.mc)
				if !node.ready() || memcached.ContainerOf(&pod.Spec, memcached.ContainerName).Image != memcachedtest.DefaultImage ||
					len(node.changed.images)+len(node.changed.resources) > 0 && ordinal < 2 {
					f.fail("%d is %+v", ordinal, node.changed)
				}
			}
			story.repair(f)
			f.settle()
			if !maps.EqualFunc(before, f.nodes, func(a, b *fakeNode) bool { return a.uid == b.uid }) {
				t.Error("pods are new")
			}
		})
	}
}
