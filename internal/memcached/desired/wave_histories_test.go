// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestWavesOfRandomHistories covers random sequences of specs and faults. checkMoves checks each write, and checkRest checks the
// end.
func TestWavesOfRandomHistories(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 37))
			f := newFleet(t, int32(random.IntN(6)), atOnce(1+random.IntN(2)), []func(*cachev1alpha1.Memcached){inPlacePolicy, reCreate}[seed%2])
			f.before137 = seed%4 > 1
			for range 12 {
				f.happen(random)
				for range random.IntN(8) {
					f.someTurn(random)
				}
				f.hide = nil
			}
			f.heal()
			f.settle()
		})
	}
}

// happen makes one random change of the spec, or lets one fault happen.
func (f *fleet) happen(random *rand.Rand) {
	spec := &f.mc.Spec
	node := f.nodes[random.IntN(6)]
	switch event := random.IntN(23); event {
	case 0, 1, 2:
		spec.Config.Threads = []int32{0, 2, 3, 8}[random.IntN(4)]
	case 3:
		spec.Config.MaxConnections = []int32{0, 1000, 20000}[random.IntN(3)]
	case 4:
		memcachedtest.RestartedAt(2026 + random.IntN(3))(f.mc)
	case 5:
		spec.Size = int32(random.IntN(7))
	case 6:
		spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": []cachev1alpha1.LabelValue{"a", "b"}[random.IntN(2)]}
	case 7:
		spec.UpdateStrategy.MaxUnavailable = ptr.To([]intstr.IntOrString{intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("40%")}[random.IntN(3)])
	case 8:
		spec.UpdateStrategy.MinReadySeconds = int32(random.IntN(2)) * 20
	case 9:
		spec.Paused = !spec.Paused
	case 10:
		spec.RestartedAt = nil
	case 11:
		f.unwritable = !f.unwritable
	case 12:
		f.refused = []string{"", "-t 3"}[random.IntN(2)]
	case 13:
		f.config, f.tampered = nil, true
	case 14:
		f.mc.Status = cachev1alpha1.MemcachedStatus{}
	case 15:
		f.remembered = nil
		f.opts = memcached.Options{DefaultImage: fmt.Sprintf("memcached:%d", random.IntN(3)), AgentImage: fmt.Sprintf("agent:%d", random.IntN(3))}
	case 16:
		f.tamper(random)
	case 17:
		[]func(*cachev1alpha1.Memcached){inPlacePolicy, reCreate}[random.IntN(2)](f.mc)
	case 18, 19:
		memcachedtest.Image([]string{"", "memcached:1.7", "memcached:1.8"}[random.IntN(3)])(f.mc)
	case 20:
		memoryOf([]string{"64Mi", "128Mi", "256Mi"}[random.IntN(3)])(f.mc)
	case 21:
		f.hide = withoutStatefulSet
	default:
		if node == nil {
			return
		}
		switch random.IntN(4) {
		case 0:
			f.remove(node.ordinal)
		case 1:
			node.unready = !node.unready
		default:
			node.silent = !node.silent
		}
	}
	f.log = append(f.log, fmt.Sprintf("spec %s, unwritable %t, refused %q", encode(*spec), f.unwritable, f.refused))
}

func (f *fleet) tamper(random *rand.Rand) {
	if f.config == nil {
		return
	}
	f.tampered = true
	for key := range f.config.Data {
		if random.IntN(2) == 0 {
			f.config.Data[key] = []string{"", "☃", "default 0\n0 0\n", "0 \n"}[random.IntN(4)]
		}
	}
}

// someTurn lets at most one random actor act, and then the operator.
func (f *fleet) someTurn(random *rand.Rand) {
	f.t.Helper()
	switch random.IntN(6) {
	case 0:
		f.act()
	case 1:
		f.report()
	case 2, 3:
		f.deliver(random.IntN(6))
	case 4:
		f.tick()
	}
	f.reconcile()
}

// heal ends all faults, and leaves a spec that the operator can carry out.
func (f *fleet) heal() {
	f.refused, f.unwritable, f.mc.Spec.Paused, f.hide = "", false, false, nil
	for _, node := range f.nodes {
		node.silent, node.unready, node.refused = false, false, nil
	}
	if f.mc.Spec.Config.Threads == 3 {
		f.mc.Spec.Config.Threads = 4
	}
}
