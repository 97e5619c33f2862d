// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
)

// TestTwinsWaitForNodesThatRestartSoon makes a node of the second cache unready while the operator assigns new arguments to it. The node
// then serves again, but restarts as soon as it reads the arguments. Until then, its twin in the first cache must not stop.
func TestTwinsWaitForNodesThatRestartSoon(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		p := newPair(t, seed, 3)
		p.a.change(threadsOf(2))
		for p.a.nodes[2].list.Value("-t") != "2" {
			p.turn()
		}
		p.b.change(threadsOf(2))
		away := p.b.nodes[1]
		away.unready, away.silent = true, seed%2 == 0
		p.b.reconcile()
		away.unready, away.silent = false, false
		p.settle()
	}
}

// TestABrokenNodeOfTheSecondTwin breaks a node of the second cache, and gives this cache a change that repairs the node. Meanwhile, the
// rollout of the first cache waits for the node.
func TestABrokenNodeOfTheSecondTwin(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		p := newPair(t, seed, 3)
		p.a.change(teamLabel)
		for !p.viewOf(p.a).Began() {
			p.turn()
		}
		p.b.nodes[int(seed)%2].unscheduled = true
		p.b.change(teamLabel)
		p.settle()
	}
}

func (*pair) viewOf(f *fleet) memcached.View {
	view, _ := f.decide()
	return view
}

// TestRolloutRestartOfATwin runs "kubectl rollout restart" in the middle of a rollout. The StatefulSet's controller then acts before the
// operator. The simulated Kubernetes 1.37 may replace one node.
func TestRolloutRestartOfATwin(t *testing.T) {
	t.Parallel()
	p := newPair(t, 1, 5)
	p.a.change(teamLabel)
	for p.a.partition() != 1 {
		p.turn()
	}
	p.a.set.Spec.Template.Annotations[kubectlRestartedAt] = "now"
	p.a.set.Generation++
	p.a.updated = p.a.set.Spec.Template.DeepCopy()
	p.a.act()
	p.lost[4] = true // this one may leave without a decision of the operator
	p.settle()
}

// TestAllTwinsAreAskedAtOnce gives a cache two twins. The operator asks their launchers in the same round.
func TestAllTwinsAreAskedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t, 1, 3)
	view := p.viewOf(p.a)
	second := view.Twins[0]
	second.Memcached = second.Memcached.DeepCopy()
	second.Memcached.Name = "third"
	view.Twins, view.Answers = append(view.Twins, second), nil
	guard := &twinGuard{v: view}
	if guard.allows(2) || len(guard.ask) != 2 {
		t.Errorf("asks %d launchers, waits: %q", len(guard.ask), guard.waits)
	}
}
