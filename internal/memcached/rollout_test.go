// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// chapter is a change by the user and the reasons of Progressing that follow, without repetitions.
type chapter struct {
	name    string
	change  func(*cachev1alpha1.Memcached)
	reasons string
}

var chapters = []chapter{
	{"create", func(*cachev1alpha1.Memcached) {}, "Creating Complete"},
	{"scale up", resize(5), "Scaling Complete"},
	{"change the image", withImage("memcached:1"), "RollingOut Complete"},
	{"scale down", resize(2), "Scaling Complete"},
	{"go back to the first image", withImage(""), "RollingOut Complete"},
	{"surge only", surging(intstr.FromString("50%")), "Complete"},
	{"wait after each node", func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds++ }, "Complete"},
	{"go on to the other image", withImage("memcached:1"), "RollingOut Complete"},
	{"and back", withImage(""), "RollingOut Complete"},
	{"scale to one", resize(1), "Scaling Complete"},
	{"change the image of one", withImage("memcached:2"), "RollingOut Complete"},
	{"scale to none", resize(0), "Scaling Complete"},
	{"change the image of none", withImage("memcached:3"), "RollingOut Complete"},
	{"scale from none", resize(4), "Scaling Complete"},
	{
		"change size and image", func(mc *cachev1alpha1.Memcached) { resize(7)(mc); withImage("memcached:4")(mc) },
		"Scaling RollingOut Complete",
	},
}

func resize(size int32) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size }
}

func surging(surge intstr.IntOrString) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MaxSurge = &surge }
}

// TestStatusThroughRollouts watches the model of a cluster carry out what Desired asks for, in many orders of its steps:
// Progressing goes through the right reasons, Ready is never early, and a rollout costs no availability.
func TestStatusThroughRollouts(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			story := &story{t: t, mc: makeCache(3), cluster: &cluster{random: random}}
			story.cluster.look = story.reconcile
			for _, chapter := range chapters {
				story.tell(chapter)
			}
		})
	}
}

// TestStatusThroughInterruptions has users who change their mind in the middle of it.
func TestStatusThroughInterruptions(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			story := &story{t: t, mc: makeCache(3), cluster: &cluster{random: random}}
			story.cluster.look = story.reconcile
			for range 20 {
				story.begin(chapters[random.IntN(len(chapters))])
				story.cluster.run(random.IntN(20))
			}
			story.end()
		})
	}
}

// story is a cluster with an operator that looks at it at every change.
type story struct {
	t       *testing.T
	mc      *cachev1alpha1.Memcached
	cluster *cluster
	// seen are the pods of a cache that may lag behind.
	seen    []corev1.Pod
	chapter string
	reasons []string
	// serving says that there were nodes: the cache must stay available, whatever changes.
	serving bool
	// quiet says that no node is replaced, added or removed: the cache must stay Ready.
	quiet bool
}

// toTheEnd is more steps than any chapter has.
const toTheEnd = 10000

func (s *story) tell(chapter chapter) {
	before := s.mc.Spec.Size
	s.begin(chapter)
	s.serving = before > 0 && chapter.name != "create"
	s.quiet = chapter.reasons == "Complete"
	s.check()
	s.end()
	if got := strings.Join(s.reasons, " "); got != chapter.reasons {
		s.t.Errorf("%s: Progressing went through %s, not %s", chapter.name, got, chapter.reasons)
	}
}

// begin has the change of a chapter reach the cluster.
func (s *story) begin(chapter chapter) {
	chapter.change(s.mc)
	s.mc.Generation++
	s.chapter, s.reasons, s.serving, s.quiet = chapter.name, nil, false, false
	before := s.cluster.deployment.DeepCopy()
	s.apply()
	s.look(Observed{Children: children(before)})
}

func (s *story) end() {
	s.cluster.run(toTheEnd)
	s.seen = s.cluster.pods
	s.reconcile()
	if !isTrue(s.mc.Status, cachev1alpha1.ConditionReady) {
		s.t.Errorf("%s: not Ready at the end: %+v", s.chapter, s.mc.Status.Conditions)
	}
}

func (s *story) reconcile() { s.look(Observed{Children: children(s.cluster.deployment)}) }

// look computes the status from what was observed and what is there now.
func (s *story) look(observed Observed) {
	if s.cluster.random.IntN(3) > 0 {
		s.seen = slices.Clone(s.cluster.pods)
	}
	observed.Pods = s.seen
	s.mc.Status = Status(s.mc, observed.With([]client.Object{s.cluster.deployment}), Outcome{}, testOptions, noon)
	s.check()
}

// apply does what the API server does with the Deployment that is desired.
func (s *story) apply() {
	wanted := live(s.t, s.mc, testOptions)
	s.cluster.template = wanted.Spec.Template.String()
	deployment := s.cluster.deployment
	if deployment == nil {
		s.cluster.deployment = wanted
		return
	}
	if !equality.Semantic.DeepEqual(deployment.Spec, wanted.Spec) {
		deployment.Spec = wanted.Spec
		deployment.Generation++
	}
	maps.Copy(deployment.Annotations, wanted.Annotations)
}

func (s *story) check() {
	progressing := conditionOf(s.mc.Status, cachev1alpha1.ConditionProgressing)
	if len(s.reasons) == 0 || s.reasons[len(s.reasons)-1] != progressing.Reason {
		s.reasons = append(s.reasons, progressing.Reason)
	}
	if isTrue(s.mc.Status, cachev1alpha1.ConditionReady) && !s.finished() {
		s.t.Errorf("%s: Ready too early: %+v", s.chapter, s.cluster.deployment.Status)
	}
	if s.serving && !isTrue(s.mc.Status, cachev1alpha1.ConditionAvailable) {
		s.t.Errorf("%s: it cost availability: %s", s.chapter, conditionOf(s.mc.Status, cachev1alpha1.ConditionAvailable).Message)
	}
	if s.quiet && !isTrue(s.mc.Status, cachev1alpha1.ConditionReady) {
		s.t.Errorf("%s: not Ready: %+v", s.chapter, s.mc.Status.Conditions)
	}
	if s.mc.Status.UpdatedReplicas > 0 && s.cluster.newest() == nil {
		s.t.Errorf("%s: %d updated nodes before the template is seen", s.chapter, s.mc.Status.UpdatedReplicas)
	}
}

// finished looks at the cluster itself: are there size nodes of the present template, all ready, and no others?
func (s *story) finished() bool {
	newest := s.cluster.newest()
	count := int32(0)
	for i := range s.cluster.pods {
		pod := &s.cluster.pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if newest == nil || pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != newest.hash || !podReady(pod) {
			return false
		}
		count++
	}
	return count == s.mc.Spec.Size
}

// TestRequiredReady has the numbers that the Deployment controller comes to (MaxUnavailable in
// k8s.io/kubernetes/pkg/controller/deployment/util): maxUnavailable rounded down, maxSurge rounded up, 1 unavailable if
// both come to 0.
func TestRequiredReady(t *testing.T) {
	number := func(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
	percent := func(p string) *intstr.IntOrString { return ptr.To(intstr.FromString(p)) }
	for _, c := range []struct {
		size               int32
		unavailable, surge *intstr.IntOrString
		want               int32
	}{
		{0, nil, nil, 0},
		{1, nil, nil, 1},
		{2, nil, nil, 1},
		{3, nil, nil, 2},
		{1000, nil, nil, 999},
		{3, number(0), nil, 3},
		{3, number(2), nil, 1},
		{3, number(3), nil, 0},
		{3, number(1000), nil, 0},
		{1, number(1), nil, 0},
		{3, nil, number(0), 2},
		{3, nil, number(1), 3},
		{3, nil, percent("0%"), 2},
		{3, nil, percent("1%"), 3},
		{3, number(1), number(1), 2},
		{3, number(0), number(1), 3},
		{4, percent("25%"), nil, 3},
		{7, percent("25%"), nil, 6},
		{8, percent("25%"), nil, 6},
		{3, percent("33%"), nil, 2},
		{3, percent("34%"), nil, 2},
		{3, percent("67%"), nil, 1},
		{3, percent("100%"), nil, 0},
		{1, percent("50%"), nil, 0},
		{3, percent("25%"), percent("0%"), 2},
		{3, percent("25%"), number(0), 2},
		{3, percent("25%"), percent("1%"), 3},
		{3, percent("0%"), nil, 3},
		{0, percent("100%"), nil, 0},
		{1000, percent("99%"), nil, 10},
		{101, percent("50%"), percent("50%"), 51},
		{3, percent("half"), nil, 3},
		{3, nil, percent("half"), 3}, // what the schema refuses promises nothing
	} {
		mc := makeCache(c.size)
		mc.Spec.UpdateStrategy.MaxUnavailable, mc.Spec.UpdateStrategy.MaxSurge = c.unavailable, c.surge
		if got := requiredReady(mc); got != c.want {
			t.Errorf("size %d, maxUnavailable %v, maxSurge %v: %d must be ready, not %d", c.size, c.unavailable, c.surge, c.want, got)
		}
		if surge, unavailable := updateLimits(mc); isZero(surge) && isZero(unavailable) {
			t.Errorf("size %d, maxUnavailable %v, maxSurge %v: nothing can ever be replaced", c.size, c.unavailable, c.surge)
		}
	}
}
