// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// TestPeers covers the states of two twins with two nodes each: whether node 1 may leave. The second twin is whole.
func TestPeers(t *testing.T) {
	fill := func(state protocol.FillState) func(*scene) {
		return answers(1, func(a *memcached.Answer) { a.Fill = &protocol.Fill{State: state, From: "cache-1", Reason: "refused"} })
	}
	nothing := func(*protocol.Entry) {}
	for name, c := range map[string]struct {
		twin  func(*scene)
		known rollout.Known
		words string
		asks  int
	}{
		"whole":                   {twin: func(*scene) {}, known: rollout.Yes},
		"filled":                  {twin: fill(protocol.FillDone), known: rollout.Yes},
		"being filled":            {twin: fill(protocol.FillCopying), known: rollout.No, words: "until the node twin-1 of its twin has all items"},
		"a fill that has failed":  {twin: fill(protocol.FillFailed), known: rollout.No, words: "which it gets from cache-1: refused"},
		"restarts":                {twin: answers(1, func(a *memcached.Answer) { a.Restarting = true }), known: rollout.No, words: "twin-1 of its twin has been restarted"},
		"has an order to restart": {twin: func(s *scene) { s.enter(1, nothing) }, known: rollout.No, words: "has been restarted"},
		"has refused it": {twin: func(s *scene) {
			s.enter(1, nothing)
			answers(1, func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 1} })(s)
		}, known: rollout.Yes},
		"an order of another pod":   {twin: func(s *scene) { s.enter(1, func(e *protocol.Entry) { e.Pod = "former" }) }, known: rollout.Yes},
		"silent":                    {twin: answers(1, func(a *memcached.Answer) { *a = memcached.Answer{Failure: "timeout"} }), known: rollout.No, words: "an answer of the node twin-1 of its twin on port 9151, whether it has all items: timeout"},
		"not asked":                 {twin: func(s *scene) { s.answers = nil }, known: rollout.Unknown, asks: 1},
		"another node is not ready": {twin: func(s *scene) { pullFails(&s.pods[0]) }, known: rollout.No, words: "all nodes of its twin twin are ready: 1 of 2 are. To go on without its items, remove spec.fillFrom of cache and twin"},
		"is about to grow":          {twin: func(s *scene) { s.mc.Spec.Size = 3 }, known: rollout.No, words: "2 of 3"},
		"has no such node":          {twin: func(s *scene) { s.mc.Spec.Size, *s.set.Spec.Replicas, s.pods = 1, 1, s.pods[:1] }, known: rollout.Yes},
		"no StatefulSet":            {twin: func(s *scene) { s.set = nil }, known: rollout.No, words: "0 of 0"},
		"being deleted":             {twin: func(s *scene) { s.mc.DeletionTimestamp, s.pods = s.pods[0].CreationTimestamp.DeepCopy(), nil }, known: rollout.Yes},
	} {
		named := func(name string) edit { return func(mc *cachev1alpha1.Memcached) { mc.Name = name } }
		s, twin, third := newScene(t, 2, fillsFrom("twin")), newScene(t, 2, named("twin"), fillsFrom("cache")), newScene(t, 2, named("third"), fillsFrom("cache"))
		c.twin(twin)
		v := s.view()
		for _, twin := range []*scene{twin, third} {
			v.Twins = append(v.Twins, twin.view())
			maps.Copy(v.Answers, twin.answers)
		}
		guard := &twinGuard{v: v, asks: map[int][]*corev1.Pod{}}
		known, words := guard.peers(1)
		if known != c.known || !strings.Contains(words, c.words) || (words == "") != (c.words == "") || len(guard.asks[1]) != c.asks {
			t.Errorf("%s: %d, %q, asks %d", name, known, words, len(guard.asks[1]))
		}
		if inPlace(s.mc); targetOf(v).InPlace != (len(v.Copies()) == 0) {
			t.Errorf("%s: changed in place: %t", name, targetOf(v).InPlace)
		}
	}
}

func TestMaxAway(t *testing.T) {
	for wanted, want := range map[string]int{"": 1, "0": 1, "2": 2, "10%": 1, "50%": 2} {
		s := newScene(t, 5)
		if wanted != "" {
			s.mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.Parse(wanted))
		}
		if got := maxAway(s.view()); got != want {
			t.Errorf("%q allows %d of 5", wanted, got)
		}
		if s.twins = []memcached.View{newScene(t, 5).view()}; maxAway(s.view()) != 1 {
			t.Errorf("%q allows more than one node of a twin", wanted)
		}
	}
}
