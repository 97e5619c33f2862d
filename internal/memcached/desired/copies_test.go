// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/rollout"
)

func copies(n int32) edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload, mc.Spec.Copies = statefulSetKind, n }
}

func TestObjectsOfCopies(t *testing.T) {
	t.Parallel()
	own := &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}
	for n, fillFrom := range map[int32][]string{
		1: {""},
		2: {"cache-b-%d.$", "cache-%d.$"},
		3: {"cache-b-%d.$,cache-c-%d.$", "cache-%d.$,cache-c-%d.$", "cache-%d.$,cache-b-%d.$"},
	} {
		mc := memcachedtest.Cache(2, copies(n), func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}
		})
		admits, number := "", 0
		for _, object := range For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options).Objects {
			switch object := object.(type) {
			case *corev1.Service:
				if object.Spec.PublishNotReadyAddresses != (n > 1 && object.Spec.ClusterIP == corev1.ClusterIPNone) {
					t.Errorf("%d copies: %s has addresses that are not ready", n, object.Name)
				}
			case *networkingv1.NetworkPolicy:
				if object.Name != mc.Name {
					continue
				}
				if last := object.Spec.Ingress[len(object.Spec.Ingress)-1]; last.Ports[0].Port.IntVal == memcached.Port {
					admits = last.From[0].PodSelector.MatchLabels[memcached.InstanceLabel]
				}
			case *appsv1.StatefulSet:
				checkCopy(t, mc, object, number, fillFrom[number])
				number++
			}
		}
		if number != int(n) || (admits == "cache") != (n > 1) {
			t.Errorf("%d copies: %d StatefulSets, the policy admits %q", n, number, admits)
		}
		mc.Spec.Scheduling.Affinity = own
		set := For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options).Workload().(*appsv1.StatefulSet)
		if set.Spec.Template.Spec.Affinity.PodAntiAffinity != nil {
			t.Errorf("%d copies: the user's affinity is %+v", n, set.Spec.Template.Spec.Affinity)
		}
		old := memcachedtest.Options
		old.LacksMatchLabelKeys = true
		if problem := For(memcachedtest.View(mc, memcached.Observed{}), old).Problem; (problem != nil) != (n > 1) {
			t.Errorf("%d copies in Kubernetes 1.30: %+v", n, problem)
		}
	}
}

// checkCopy checks the StatefulSet of a copy.
func checkCopy(t *testing.T, mc *cachev1alpha1.Memcached, set *appsv1.StatefulSet, number int, fillFrom string) {
	t.Helper()
	letter := string("abc"[number])
	template := set.Spec.Template
	if set.Name != memcached.CopyName(mc, number) || set.Spec.ServiceName != strings.Split(memcached.Host(mc), ".")[0] ||
		set.Spec.Selector.MatchLabels[memcached.CopyLabel] != letter || template.Labels[memcached.CopyLabel] != letter {
		t.Errorf("copy %d: %s in %s selects %v of %v", number, set.Name, set.Spec.ServiceName, set.Spec.Selector, template.Labels)
	}
	if fillFrom != "" {
		fillFrom = "--fill-from=" + strings.ReplaceAll(fillFrom, "$", memcached.Host(mc))
	}
	args := template.Spec.Containers[0].Args
	if fillFrom == "" != !strings.Contains(strings.Join(args, " "), "--fill-from") || fillFrom != "" && !slices.Contains(args, fillFrom) {
		t.Errorf("copy %d: %v", number, args)
	}
	alone := memcached.Copies(mc) == 1
	if slices.Contains(args, "-X") != alone || (template.Spec.Affinity == nil) != alone {
		t.Errorf("copy %d: %v, %+v", number, args, template.Spec.Affinity)
	}
}

// TestPeers covers the states of two copies with two nodes each: whether node 1 of the first copy may leave.
func TestPeers(t *testing.T) {
	const peer = 3 // cache-b-1
	fill := func(state protocol.FillState) func(*scene) {
		return answers(peer, func(a *memcached.Answer) {
			a.Fill = &protocol.Fill{State: state, From: "cache-1", Reason: "refused"}
		})
	}
	nothing := func(*protocol.Entry) {}
	for name, c := range map[string]struct {
		change func(*scene)
		known  rollout.Known
		words  string
	}{
		"whole":                  {func(*scene) {}, rollout.Yes, ""},
		"filled":                 {answers(peer, func(a *memcached.Answer) { a.Fill = &protocol.Fill{State: protocol.FillDone} }), rollout.Yes, ""},
		"found no other copy":    {fill(protocol.FillDone), rollout.No, "which it gets from cache-1: refused"},
		"being filled":           {fill(protocol.FillCopying), rollout.No, "until the node cache-b-1 has all items"},
		"a fill that has failed": {fill(protocol.FillFailed), rollout.No, "which it gets from cache-1: refused"},
		"restarts":               {answers(peer, func(a *memcached.Answer) { a.Restarting = true }), rollout.No, "cache-b-1 has been restarted"},
		"has just started": {
			answers(peer, func(a *memcached.Answer) { a.Status = protocol.Status{} }), rollout.No,
			"cache-b-1 has all items",
		},
		"has an order to restart": {func(s *scene) { s.enter(peer, nothing) }, rollout.No, "has been restarted"},
		"has refused it": {func(s *scene) {
			s.enter(peer, nothing)
			answers(peer, func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 1} })(s)
		}, rollout.Yes, ""},
		"an order of another pod": {func(s *scene) { s.enter(peer, func(e *protocol.Entry) { e.Pod = "former" }) }, rollout.Yes, ""},
		"silent": {
			answers(peer, func(a *memcached.Answer) { *a = memcached.Answer{Failure: "timeout"} }), rollout.No,
			"an answer of the node cache-b-1 on port 9151, whether it has all items: timeout",
		},
		"not asked":                   {func(s *scene) { delete(s.answers, s.pods[peer].UID) }, rollout.Unknown, ""},
		"not ready":                   {pod(peer, pullFails), rollout.No, "waiting until the node cache-b-1 is ready"},
		"lost contact":                {pod(peer, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }), rollout.No, "is ready"},
		"no pod":                      {func(s *scene) { s.pods[peer].Name = "" }, rollout.No, "is ready"},
		"another number is not ready": {pod(2, pullFails), rollout.Yes, ""},
	} {
		s := newScene(t, 2, copies(2))
		c.change(s)
		if _, n := s.observe(1); n.PeersWhole != c.known || !strings.Contains(n.PeerWords, c.words) || (n.PeerWords == "") != (c.words == "") {
			t.Errorf("%s: %d, %q", name, n.PeersWhole, n.PeerWords)
		}
		if inPlace(s.mc); targetOf(s.view()).InPlace {
			t.Errorf("%s: changed in place", name)
		}
	}
}

// TestAThirdCopy covers three copies of one node: one of the others that has all items is enough.
func TestAThirdCopy(t *testing.T) {
	s := newScene(t, 1, copies(3))
	pullFails(&s.pods[1])
	if _, n := s.observe(0); n.PeersWhole != rollout.Yes {
		t.Errorf("the third copy has all items: %d, %q", n.PeersWhole, n.PeerWords)
	}
	delete(s.answers, s.pods[2].UID)
	f, n := s.observe(0)
	c := &change{fleet: f, plan: &memcached.Plan{}}
	if c.ask(n); n.PeersWhole != rollout.Unknown || len(c.plan.Ask) != 1 || c.plan.Ask[0].Name != "cache-c-0" {
		t.Errorf("not asked: %d, %v", n.PeersWhole, c.plan.Ask)
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
		if copies(2)(s.mc); maxAway(s.view()) != 1 {
			t.Errorf("%q allows more than one node of copies", wanted)
		}
	}
}

// TestRestartOfACopy covers "kubectl rollout restart" of the StatefulSet of the second copy.
func TestRestartOfACopy(t *testing.T) {
	const at = "2026-11-25T00:00:00Z"
	s := newScene(t, 1, copies(2))
	before := targetOf(s.view()).Template
	s.set.Spec.Template.Annotations[memcached.KubectlRestartedAt] = "2026-11-25T01:30:00+02:00"
	s.others[0].Spec.Template.Annotations[memcached.KubectlRestartedAt] = at
	if last := lastRestarts(s.view()).kubectl; last != at || targetOf(s.view()).Template == before {
		t.Errorf("the restart is %q", last)
	}
}
