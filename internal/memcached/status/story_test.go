// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// model simulates what Kubernetes does for a workload of one Kind.
type model interface {
	// live returns the workload, nil if there is none.
	live() client.Object
	// write stores the desired workload as the API server would. remove deletes the workload.
	write(wanted client.Object)
	remove()
	// step takes one step, if there is one to take, and reports whether it did.
	step() bool
	existing() []corev1.Pod
	// templateSeen reports whether the workload's controller has seen the current template. updated reports whether a pod has that
	// template.
	templateSeen() bool
	updated(pod *corev1.Pod) bool
}

// story is a simulated cluster with an operator, which reconciles at every change.
type story struct {
	t      *testing.T
	random *rand.Rand
	mc     *cachev1alpha1.Memcached
	models map[cachev1alpha1.WorkloadKind]model
	// seen are the pods in the operator's cache, which may lag behind.
	seen    []corev1.Pod
	chapter string
	reasons []string
	// serving reports that there were nodes before the chapter, and that the chapter does not stop the only node. So the
	// Memcached must stay Available.
	serving bool
	// quiet reports that the chapter replaces, adds or removes no node, so the Memcached must stay Ready.
	quiet bool
	// members is the largest allowed number of pods that are not terminating, 0 for any.
	members int
}

func newStory(t *testing.T, seed, variant uint64, in func(*cachev1alpha1.Memcached)) *story {
	random := rand.New(rand.NewPCG(seed, variant))
	s := &story{t: t, random: random, mc: memcachedtest.Cache(3, in)}
	s.models = map[cachev1alpha1.WorkloadKind]model{
		cachev1alpha1.WorkloadDeployment:  &cluster{kubelet: kubelet{random: random}, look: s.glance},
		cachev1alpha1.WorkloadStatefulSet: &setCluster{kubelet: kubelet{random: random}},
	}
	return s
}

func (s *story) kinds() []cachev1alpha1.WorkloadKind {
	kinds := []cachev1alpha1.WorkloadKind{cachev1alpha1.WorkloadDeployment, cachev1alpha1.WorkloadStatefulSet}
	s.random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	return kinds
}

// toTheEnd is more steps than any chapter has.
const toTheEnd = 10000

func (s *story) tell(chapter chapter) {
	before := s.mc.Spec.Size
	s.begin(chapter)
	s.serving = before > 0 && chapter.name != "create" && !s.replacesTheOnlyNode(chapter)
	s.quiet = chapter.reasons == "Complete"
	if s.members > 0 {
		s.members = int(max(before, s.mc.Spec.Size)) + 1
	}
	s.check()
	s.end()
	if got := strings.Join(s.reasons, " "); got != chapter.reasons {
		s.t.Errorf("%s: Progressing went through %s, not %s", chapter.name, got, chapter.reasons)
	}
}

// replacesTheOnlyNode reports whether the only node must stop before a new node can have its name.
func (s *story) replacesTheOnlyNode(chapter chapter) bool {
	return chapter.name == "change the image of one" && memcached.WorkloadKind(s.mc) == cachev1alpha1.WorkloadStatefulSet
}

func (s *story) begin(chapter chapter) {
	chapter.change(s.mc)
	s.mc.Generation++
	s.chapter, s.reasons, s.serving, s.quiet = chapter.name, nil, false, false
	s.reconcile()
}

func (s *story) end() {
	s.run(toTheEnd)
	s.seen = s.pods()
	s.reconcile()
	s.reconcile() // the first one may have deleted a workload
	if !isTrue(s.mc.Status, cachev1alpha1.ConditionReady) {
		s.t.Errorf("%s: not Ready at the end: %+v", s.chapter, s.mc.Status.Conditions)
	}
}

// run takes random steps, at most this many. It ends earlier if no step changes anything and the operator has nothing to write.
func (s *story) run(most int) {
	for range most {
		if slices.ContainsFunc(s.kinds(), func(kind cachev1alpha1.WorkloadKind) bool { return s.models[kind].step() }) {
			s.reconcile()
			continue
		}
		s.seen = s.pods()
		if !s.reconcile() {
			return
		}
	}
}

func (s *story) pods() []corev1.Pod {
	return slices.Concat(s.models[cachev1alpha1.WorkloadDeployment].existing(), s.models[cachev1alpha1.WorkloadStatefulSet].existing())
}

func (s *story) observed() memcached.Observed {
	var observed memcached.Observed
	for _, model := range s.models {
		if live := model.live(); live != nil {
			observed.Children = append(observed.Children, live.DeepCopyObject().(client.Object))
		}
	}
	if s.random.IntN(3) > 0 {
		s.seen = s.pods()
	}
	observed.Pods = s.seen
	return observed
}

// glance computes the status without writing the plan.
func (s *story) glance() {
	observed := s.observed()
	s.mc.Status = statusOf(s.mc, observed, memcached.Written{Objects: observed.Children}, noon)
	s.check()
}

// reconcile writes the plan and computes the status from the state before and after the write. It reports whether it wrote
// anything.
func (s *story) reconcile() (written bool) {
	observed := s.observed()
	plan := desired.For(memcachedtest.View(s.mc, observed), memcachedtest.Options)
	if plan.Problem != nil {
		s.t.Fatal(plan.Problem)
	}
	var answers []client.Object
	left := map[cachev1alpha1.WorkloadKind]bool{}
	for _, object := range plan.Objects {
		kind := cachev1alpha1.WorkloadKind(object.GetObjectKind().GroupVersionKind().Kind)
		model := s.models[kind]
		if model == nil {
			continue
		}
		before := model.live()
		generation := int64(0)
		if before != nil {
			generation = before.GetGeneration()
		}
		model.write(memcachedtest.Live(s.t, s.mc, object))
		written = written || model.live().GetGeneration() != generation
		answers, left[kind] = append(answers, model.live()), true
	}
	for _, kind := range s.kinds() {
		if model := s.models[kind]; model.live() != nil && !left[kind] {
			if nodes := slices.DeleteFunc(slices.Clone(model.existing()), gone); len(nodes) > 0 {
				s.t.Errorf("%s: the %s is deleted with %d nodes", s.chapter, kind, len(nodes))
			}
			model.remove()
			written = true
		}
	}
	v := memcached.NewView(s.mc, withService(s.mc, observed), noon)
	s.mc.Status = For(v, plan, memcached.Written{Objects: answers})
	s.check()
	return written
}

func gone(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }

func (s *story) check() {
	progressing := conditionOf(s.mc.Status, cachev1alpha1.ConditionProgressing)
	if len(s.reasons) == 0 || s.reasons[len(s.reasons)-1] != progressing.Reason {
		s.reasons = append(s.reasons, progressing.Reason)
	}
	if isTrue(s.mc.Status, cachev1alpha1.ConditionReady) && !s.finished() {
		s.t.Errorf("%s: Ready too early", s.chapter)
	}
	if s.serving && !isTrue(s.mc.Status, cachev1alpha1.ConditionAvailable) {
		s.t.Errorf("%s: it cost availability: %s", s.chapter, conditionOf(s.mc.Status, cachev1alpha1.ConditionAvailable).Message)
	}
	if s.quiet && !isTrue(s.mc.Status, cachev1alpha1.ConditionReady) {
		s.t.Errorf("%s: not Ready: %+v", s.chapter, s.mc.Status.Conditions)
	}
	if wanted := s.models[memcached.WorkloadKind(s.mc)]; s.mc.Status.UpdatedReplicas > 0 && !wanted.templateSeen() {
		s.t.Errorf("%s: %d updated nodes before the template is seen", s.chapter, s.mc.Status.UpdatedReplicas)
	}
	if nodes := slices.DeleteFunc(s.pods(), gone); s.members > 0 && len(nodes) > s.members {
		s.t.Errorf("%s: %d members, at most %d are allowed", s.chapter, len(nodes), s.members)
	}
}

// finished reports whether the cluster has exactly as many nodes as spec.size, all ready and with the present template.
func (s *story) finished() bool {
	count := int32(0)
	for kind, model := range s.models {
		for _, pod := range model.existing() {
			if pod.DeletionTimestamp != nil {
				continue
			}
			if kind != memcached.WorkloadKind(s.mc) || !model.updated(&pod) || !memcached.PodReady(&pod) {
				return false
			}
			count++
		}
	}
	return count == s.mc.Spec.Size
}
