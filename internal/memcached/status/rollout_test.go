// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// chapter is a change by the user and the reasons of Progressing that follow, without repetitions.
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
	{"go on to the other image", memcachedtest.Image("memcached:1"), "RollingOut Complete"},
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

// Progressing goes through the right reasons, Ready is never early, and a rollout costs no availability.
func TestStatusThroughRollouts(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			story := &story{t: t, mc: memcachedtest.Cache(3), cluster: &cluster{random: random}}
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
			story := &story{t: t, mc: memcachedtest.Cache(3), cluster: &cluster{random: random}}
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
	s.look(memcached.Observed{Children: memcachedtest.Children(before)})
}

func (s *story) end() {
	s.cluster.run(toTheEnd)
	s.seen = s.cluster.pods
	s.reconcile()
	if !isTrue(s.mc.Status, cachev1alpha1.ConditionReady) {
		s.t.Errorf("%s: not Ready at the end: %+v", s.chapter, s.mc.Status.Conditions)
	}
}

func (s *story) reconcile() {
	s.look(memcached.Observed{Children: memcachedtest.Children(s.cluster.deployment)})
}

// look computes the status from what was observed and what is there now.
func (s *story) look(observed memcached.Observed) {
	if s.cluster.random.IntN(3) > 0 {
		s.seen = slices.Clone(s.cluster.pods)
	}
	observed.Pods = s.seen
	s.mc.Status = statusAfter(s.mc, observed, []client.Object{s.cluster.deployment}, Outcome{}, noon)
	s.check()
}

// apply does what the API server does with the Deployment that is desired.
func (s *story) apply() {
	wanted := makeDeployment(s.t, s.mc)
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
		if newest == nil || pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != newest.hash || !memcached.PodReady(pod) {
			return false
		}
		count++
	}
	return count == s.mc.Spec.Size
}
