// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func threadsOf(n int32) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = n }
}

func connections(n int32) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = n }
}

func atOnce(n int) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromInt(n)) }
}

func teamLabel(mc *cachev1alpha1.Memcached) {
	mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
}

// moment describes a fleet: the threads of each node, with * if the node runs another list than the assigned one, and then which
// nodes were asked and which objects were written since the last call of the method look.
func (f *fleet) moment() string {
	asked, writes := f.look()
	var nodes []string
	for ordinal := range len(f.nodes) {
		node := f.nodes[ordinal]
		text := node.list.Value("-t")
		if entry := f.entries(sectionOf(node.template))[ordinal]; entry != node.list.Hash() {
			text += "*"
		}
		nodes = append(nodes, text)
	}
	return strings.Join(nodes, " ") + "; asks " + strings.ReplaceAll(asked, "cache-", "") + "; writes " + writes
}

func (f *fleet) expect(want string) {
	f.t.Helper()
	if got := f.moment(); got != want {
		f.t.Errorf("%s\nnot %s", got, want)
	}
}

// TestWaveOfThree checks a wave step by step. The method moment explains the notation.
func TestWaveOfThree(t *testing.T) {
	f := newFleet(t, 3)
	threadsOf(2)(f.mc)
	f.reconcile()
	f.expect("4 4 4*; asks 2; writes ConfigMap")
	f.reconcile()
	f.expect("4 4 4*; asks 2; writes ") // the kubelet has not delivered the ConfigMap
	f.deliver(2)
	f.tick()
	f.reconcile()
	f.expect("4 4 4*; asks 2; writes ") // memcached restarts
	f.tick()
	f.reconcile()
	f.expect("4 4* 2; asks 2 1; writes ConfigMap")
	f.turn()
	f.expect("4 4* 2; asks 1; writes ") // node 2 need not be asked again
	f.turn()
	f.expect("4* 2 2; asks 1 0; writes ConfigMap")
	f.turn()
	f.turn()
	f.expect("2 2 2; asks 0 0; writes ConfigMap") // the old list is removed
	f.settle()
	f.expect("2 2 2; asks ; writes ")
}

// TestWaves covers changes by the user, events during these changes, and whether pods are replaced.
func TestWaves(t *testing.T) {
	scaled := memcachedtest.Size
	for name, story := range map[string]struct {
		size     int32
		cache    func(*cachev1alpha1.Memcached)
		change   func(*cachev1alpha1.Memcached)
		then     func(*fleet)
		replaced bool
	}{
		"threads":                      {size: 3, change: threadsOf(2)},
		"a restart":                    {size: 3, change: memcachedtest.RestartedAt(2026)},
		"two at once":                  {size: 5, cache: atOnce(2), change: threadsOf(2)},
		"a single node":                {size: 1, change: threadsOf(2)},
		"no node":                      {size: 0, change: threadsOf(2)},
		"connections within the limit": {size: 3, change: connections(1100)},
		"connections beyond the limit": {size: 3, change: connections(20000), replaced: true},
		"connections beyond the limit in the middle": {
			size: 5, change: threadsOf(2), then: func(f *fleet) { connections(20000)(f.mc) }, replaced: true,
		},
		"connections, and no status": {size: 3, change: func(mc *cachev1alpha1.Memcached) {
			mc.Status = cachev1alpha1.MemcachedStatus{}
			connections(20000)(mc)
		}, replaced: true},
		"connections with a given limit": {size: 3, cache: withLimit(corev1.ResourceMemory, "1Gi"), change: connections(20000)},
		"memory":                         {size: 3, change: memoryOf("128Mi"), replaced: true},
		"memory with a given limit":      {size: 3, cache: withLimit(corev1.ResourceMemory, "1Gi"), change: memoryOf("128Mi")},
		"a template":                     {size: 3, change: teamLabel, replaced: true},
		"a change of mind":               {size: 5, change: threadsOf(2), then: func(f *fleet) { threadsOf(4)(f.mc) }},
		"another mind":                   {size: 5, change: threadsOf(2), then: func(f *fleet) { threadsOf(8)(f.mc) }},
		"another size":                   {size: 3, change: threadsOf(2), then: func(f *fleet) { scaled(5)(f.mc) }},
		"a smaller size":                 {size: 5, change: threadsOf(2), then: func(f *fleet) { scaled(2)(f.mc) }},
		"a template in the middle":       {size: 5, change: threadsOf(2), then: func(f *fleet) { teamLabel(f.mc) }, replaced: true},
		"a node is replaced":             {size: 3, change: threadsOf(2), then: func(f *fleet) { f.remove(0) }},
		"the status is lost":             {size: 5, change: threadsOf(2), then: func(f *fleet) { f.mc.Status = cachev1alpha1.MemcachedStatus{} }},
		"the ConfigMap is lost":          {size: 5, change: threadsOf(2), then: func(f *fleet) { f.config = nil }},
		"both are lost": {size: 5, change: threadsOf(2), then: func(f *fleet) {
			f.mc.Status, f.config = cachev1alpha1.MemcachedStatus{}, nil
		}},
		"lost, and a change of mind": {size: 5, change: threadsOf(2), then: func(f *fleet) {
			f.config = nil
			threadsOf(4)(f.mc)
		}},
		"an upgrade of the operator": {size: 5, change: threadsOf(2), then: func(f *fleet) {
			f.opts.DefaultImage, f.opts.AgentImage = "memcached:1.7", "agent:2"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, story.size, func(mc *cachev1alpha1.Memcached) {
				if story.cache != nil {
					story.cache(mc)
				}
			})
			made := f.made
			story.change(f.mc)
			if story.then != nil {
				for range 7 { // some nodes have the new list, and some do not
					f.turn()
				}
				story.then(f)
				made += max(int(f.mc.Spec.Size)-len(f.nodes), 0)
			}
			f.settle()
			if story.replaced != (f.made > made) {
				t.Errorf("%d pods are new", f.made-made)
			}
		})
	}
}

func memoryOf(quantity string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Memory = ptr.To(resource.MustParse(quantity)) }
}

// TestRestStaysRest covers events that do not change the arguments. No node may restart.
func TestRestStaysRest(t *testing.T) {
	for name, happens := range map[string]func(*fleet){
		"nothing":                    func(*fleet) {},
		"an upgrade of the operator": func(f *fleet) { f.opts = memcached.Options{DefaultImage: "memcached:1.7", AgentImage: "agent:2"} },
		"a new process":              func(f *fleet) { f.remembered = nil },
		"a lost status":              func(f *fleet) { f.mc.Status = cachev1alpha1.MemcachedStatus{} },
		"a lost ConfigMap":           func(f *fleet) { f.config = nil },
		"all is lost":                func(f *fleet) { f.config, f.mc.Status = nil, cachev1alpha1.MemcachedStatus{} },
		"garbage": func(f *fleet) {
			for key := range f.config.Data {
				f.config.Data[key] = "☃"
			}
		},
		"other content of a list": func(f *fleet) {
			for key, text := range f.config.Data {
				f.config.Data[key] = strings.Replace(text, "-t 4", "-t 8", 1)
			}
		},
		"other keys": func(f *fleet) { f.config.Data["arguments.0"], f.config.Data["x"] = "-A", "y" },
		"another size": func(f *fleet) {
			memcachedtest.Size(5)(f.mc)
		},
		"a pause": func(f *fleet) {
			memcachedtest.Paused(f.mc)
			f.turn()
			f.mc.Spec.Paused = false
		},
		"restartedAt goes": func(f *fleet) { f.mc.Spec.RestartedAt = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3, memcachedtest.RestartedAt(2026))
			since := map[int]int64{}
			for ordinal, node := range f.nodes {
				since[ordinal] = node.since
			}
			happens(f)
			f.settle()
			for ordinal, second := range since {
				if f.nodes[ordinal].since != second {
					t.Errorf("%d has restarted", ordinal)
				}
			}
		})
	}
}

// TestOldConfigMap restores a ConfigMap from a backup. Nodes that have not read the ConfigMap keep the new list. Nodes that have gone
// back to the old list get the new list again, one by one.
func TestOldConfigMap(t *testing.T) {
	for name, followed := range map[string]bool{"nobody has seen it": false, "the nodes have followed it": true} {
		f := newFleet(t, 3)
		old := maps.Clone(f.config.Data)
		threadsOf(2)(f.mc)
		f.settle()
		f.setConfig(old)
		if followed {
			for ordinal := range f.nodes {
				f.deliver(ordinal)
			}
			f.tick()
			f.tick()
		}
		f.look()
		f.reconcile()
		want := "2 2 2; asks 2 1 0; writes ConfigMap"
		if followed {
			want = "4 4 4*; asks 2 1 0; writes ConfigMap"
		}
		if got := f.moment(); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
		f.settle()
	}
}

func TestForeignConfigMap(t *testing.T) {
	f := newFleet(t, 3)
	f.config.OwnerReferences[0].UID = "somebody"
	f.config.Data = map[string]string{protocol.ListKey("0"): "-A"}
	threadsOf(2)(f.mc)
	memcachedtest.Size(4)(f.mc)
	for range 10 {
		f.turn()
	}
	if _, writes := f.look(); writes != "StatefulSet" || *f.set.Spec.Replicas != 4 {
		t.Errorf("%s is written, of %d nodes", writes, *f.set.Spec.Replicas)
	}
	if template := f.set.Spec.Template; sectionOf(&template) != sectionOf(f.nodes[0].template) {
		t.Error("there is another template")
	}
	f.config = nil
	f.settle()
}
