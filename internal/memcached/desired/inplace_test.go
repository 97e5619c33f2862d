// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestInPlaceOfThree checks what the operator writes, and in which order, to give three nodes a new image.
func TestInPlaceOfThree(t *testing.T) {
	f := newFleet(t, 3, inPlacePolicy)
	memcachedtest.Image("memcached:1.7")(f.mc)
	var writes []string
	for range 40 {
		f.turn()
	}
	_, text := f.look()
	writes = append(writes, text)
	want := "ConfigMap StatefulSet pod 2 image pod 2 label pod 1 image pod 1 label pod 0 image pod 0 label StatefulSet"
	if got := strings.Join(writes, " "); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	f.settle()
}

// TestInPlaceWaitsForProbes covers a pod that looks ready in the first seconds after its restart, because of earlier probes.
func TestInPlaceWaitsForProbes(t *testing.T) {
	f := newFleet(t, 1, inPlacePolicy)
	memcachedtest.Image("memcached:1.7")(f.mc)
	for f.nodes[0].changed.count == nil {
		f.turn()
	}
	for seconds, ends := range []bool{false, false, false, true} {
		f.nodes[0].since = f.seconds - int64(seconds)
		if _, plan := f.decide(); (plan.InPlace.Patch != nil && plan.InPlace.Patch.Revision != "") != ends {
			t.Errorf("%d s after the restart the change ends: %t", seconds, !ends)
		}
	}
}

// TestInPlace covers changes by the user, events during these changes, and whether the change replaces pods.
func TestInPlace(t *testing.T) {
	image := memcachedtest.Image("memcached:1.7")
	cpu := func(cpu string) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
	}
	both := func(all ...func(*cachev1alpha1.Memcached)) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) {
			for _, change := range all {
				change(mc)
			}
		}
	}
	for name, story := range map[string]struct {
		cache    func(*cachev1alpha1.Memcached)
		change   func(*cachev1alpha1.Memcached)
		then     func(*fleet)
		replaced bool
	}{
		"an image":                      {change: image},
		"more memory":                   {change: memoryOf("256Mi")},
		"more memory in a file":         {cache: file, change: memoryOf("1Gi"), replaced: true},
		"connections beside a file":     {cache: file, change: connections(20000)},
		"less memory":                   {cache: memoryOf("256Mi"), change: memoryOf("64Mi")},
		"more connections":              {change: connections(20000)},
		"more memory and another image": {change: both(memoryOf("256Mi"), image)},
		"less memory and another image": {cache: memoryOf("256Mi"), change: both(memoryOf("64Mi"), image)},
		"an image and arguments":        {change: both(threadsOf(2), image)},
		"more of a CPU":                 {cache: cpu("100m"), change: cpu("200m")},
		"no CPU any more": {
			cache: cpu("100m"), change: func(mc *cachev1alpha1.Memcached) { mc.Spec.Resources.Requests = nil }, replaced: true,
		},
		"a limit of another resource": {change: func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")}
		}, replaced: true},
		"a label":              {change: teamLabel, replaced: true},
		"a label and an image": {change: both(image, teamLabel), replaced: true},
		"the policy alone":     {cache: reCreate, change: inPlacePolicy},
		"another policy":       {cache: reCreate, change: image, replaced: true},
		"no policy any more": {
			change: image, then: func(f *fleet) { reCreate(f.mc) }, replaced: true,
		},
		"a change of mind":         {change: image, then: func(f *fleet) { memcachedtest.Image("")(f.mc) }},
		"another mind":             {change: image, then: func(f *fleet) { memcachedtest.Image("memcached:1.8")(f.mc) }},
		"more memory, and less":    {change: memoryOf("256Mi"), then: func(f *fleet) { memoryOf("64Mi")(f.mc) }},
		"a label in the middle":    {change: image, then: func(f *fleet) { teamLabel(f.mc) }, replaced: true},
		"threads in the middle":    {change: image, then: func(f *fleet) { threadsOf(2)(f.mc) }},
		"a node is replaced":       {change: image, then: func(f *fleet) { f.remove(2) }},
		"another node is replaced": {change: memoryOf("256Mi"), then: func(f *fleet) { f.remove(0) }},
		"another size":             {change: image, then: func(f *fleet) { memcachedtest.Size(5)(f.mc) }},
		"a smaller size":           {change: image, then: func(f *fleet) { memcachedtest.Size(2)(f.mc) }},
		"the status is lost": {change: image, then: func(f *fleet) {
			f.mc.Status, f.remembered = cachev1alpha1.MemcachedStatus{}, nil
		}},
		"the ConfigMap is lost": {change: memoryOf("256Mi"), then: func(f *fleet) { f.config = nil }},
		"a pause": {change: image, then: func(f *fleet) {
			memcachedtest.Paused(f.mc)
			f.turn()
			f.mc.Spec.Paused = false
		}},
	} {
		for turns := 1; turns < 14; turns++ {
			t.Run(name, func(t *testing.T) {
				f := newFleet(t, 3, inPlacePolicy, func(mc *cachev1alpha1.Memcached) {
					if story.cache != nil {
						story.cache(mc)
					}
				})
				made := f.made
				story.change(f.mc)
				if story.then != nil {
					for range turns {
						f.turn()
					}
					story.then(f)
					made += max(int(f.mc.Spec.Size)-len(f.nodes), 0)
					f.slowKubelets()
				}
				f.settle()
				over := turns > 5 && story.then != nil // the change may already be complete
				if replaced := f.made > made; replaced && !story.replaced || story.replaced && !replaced && !over {
					t.Errorf("after %d turns, %d pods are new\n%s", turns, f.made-made, strings.Join(f.log, "\n"))
				}
			})
			if story.then == nil {
				break
			}
		}
	}
}

func file(mc *cachev1alpha1.Memcached) {
	memoryOf("128Mi")(mc)
	mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile
}

func reCreate(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.PodUpdatePolicy = "" }

// TestOtherImageInPlace checks whether the plan says that the nodes get another image of memcached.
func TestOtherImageInPlace(t *testing.T) {
	for name, test := range map[string]struct {
		cache, change func(*cachev1alpha1.Memcached)
		other         bool
	}{
		"an image, items in memory": {func(*cachev1alpha1.Memcached) {}, memcachedtest.Image("memcached:1.7"), true},
		"an image, items in a file": {file, memcachedtest.Image("memcached:1.7"), true},
		"more memory":               {func(*cachev1alpha1.Memcached) {}, memoryOf("256Mi"), false},
	} {
		f := newFleet(t, 3, inPlacePolicy, test.cache)
		test.change(f.mc)
		if _, plan := f.decide(); !plan.InPlace.Open || plan.InPlace.OtherImage != test.other {
			t.Errorf("%s: %+v", name, plan.InPlace)
		}
	}
}

// TestImageAndPolicyAreTakenBack takes a new image back together with the policy InPlaceOrRecreate. A pod that has the new image by then
// must be replaced: see settle.
func TestImageAndPolicyAreTakenBack(t *testing.T) {
	for turns := range 14 {
		f := newFleet(t, 3, inPlacePolicy)
		memcachedtest.Image("memcached:1.7")(f.mc)
		for range turns {
			f.turn()
		}
		memcachedtest.Image("")(f.mc)
		reCreate(f.mc)
		f.settle()
	}
}

// TestNotInPlace covers events that end a change in place, because pods must now be replaced.
func TestNotInPlace(t *testing.T) {
	for name, happens := range map[string]func(*memcached.View){
		"an API server that cannot resize": func(v *memcached.View) {
			v.Unchangeable = v.Workload.Template.Annotations[memcached.TemplateAnnotation]
		},
		"kubectl rollout restart": func(v *memcached.View) { v.Workload.Template.Annotations[kubectlRestartedAt] = "now" },
		"pods of another base":    func(v *memcached.View) { v.Pods[1].Annotations[memcached.BaseAnnotation] = "another" },
		"somebody's template":     func(v *memcached.View) { v.Workload.Partition = 0 },
	} {
		f := newFleet(t, 3, inPlacePolicy)
		memoryOf("256Mi")(f.mc)
		f.turn()
		f.turn()
		if plan := For(memcachedtest.View(f.mc, f.observed()), f.opts); !plan.InPlace.Open || plan.InPlace.Patch == nil {
			t.Fatalf("%s: it has not begun: %+v", name, plan.InPlace)
		}
		view := memcachedtest.View(f.mc, f.observed())
		happens(&view)
		if plan := For(view, f.opts); plan.InPlace.Open || plan.InPlace.Patch != nil {
			t.Errorf("%s: it goes on", name)
		}
	}
}
