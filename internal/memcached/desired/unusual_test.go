// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/rollout"
)

// Bad arguments b are refused, the entry that goes back is not delivered yet, and the spec changes to bad arguments c.
func TestRefusedTwice(t *testing.T) {
	s := newScene(t, 1)
	first := memcached.FirstList(&s.pods[0])
	refuse := func() {
		entry := s.view().Entries()[0]
		answers(0, func(a *memcached.Answer) {
			a.Number, a.List, a.Refused = 0, first, &protocol.Refusal{Number: entry.Number, Reason: "bad"}
		})(s)
	}
	threadsOf(2)(s.mc)
	s.save(s.plan())
	refuse()
	s.save(s.plan()) // goes back, and is not delivered yet
	t.Logf("back:   %+v", s.view().Entries()[0].List)
	threadsOf(3)(s.mc)
	for range 3 {
		s.save(s.plan())
	}
	t.Logf("c:      %+v former %v", s.view().Entries()[0], s.view().Entries()[0].Former)
	for range 5 { // the launcher refuses each
		refuse()
		s.save(s.plan())
		entry := s.view().Entries()[0]
		t.Logf("entry:  %d -t %s refused %+v", entry.Number, entry.Value("-t"), entry.Refused)
	}
	if got := s.view().Entries()[0]; got.Value("-t") == "3" {
		t.Errorf("the entry still has the refused arguments, number %d", got.Number)
	}
}

// The first image cannot run, which the kubelet says before it starts the container. Then the image is corrected.
func TestNeverStartedInPlace(t *testing.T) {
	s := newScene(t, 3, inPlace, memcachedtest.Image("memcached:asroot"))
	for i := range s.pods {
		status := memcachedOf(&s.pods[i])
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "image will run as root"}}
		*status.Started = false
		s.pods[i].Status.Phase = corev1.PodPending
		for c := range s.pods[i].Status.Conditions {
			s.pods[i].Status.Conditions[c].Status = corev1.ConditionFalse
		}
		delete(s.answers, s.pods[i].UID)
		answers(i, func(a *memcached.Answer) { a.Failure = "refused" })(s)
	}
	memcachedtest.Image(mine)(s.mc)
	s.write()
	plan := s.plan()
	if got := s.short(plan); got == "" {
		t.Errorf("nothing happens: %s", plan.Rollout.Message())
	}
}

// A resize is deferred for ever, so the user chooses Recreate.
func TestDeferredThenRecreate(t *testing.T) {
	s := newScene(t, 1, inPlace, withLimit(corev1.ResourceMemory, "512Mi"))
	withLimit(corev1.ResourceMemory, "1Gi")(s.mc)
	step := s.plan().Steps[0]
	s.run(s.plan())
	s.pods[0].Spec.Containers[0].Resources = *step.Resources
	s.pods[0].Status.Conditions = append(s.pods[0].Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Reason: "Deferred", Message: "no room"})
	s.mc.Spec.UpdateStrategy.PodUpdatePolicy = "Recreate"
	s.write()
	plan := s.plan()
	if got := s.short(plan); !strings.Contains(got, string(rollout.Replace)) {
		t.Errorf("plan %q: %s", got, plan.Rollout.Message())
	}
}

// The operator was installed with an image of the agent that cannot be pulled. Another installation corrects it.
func TestAgentImage(t *testing.T) {
	s := newScene(t, 1)
	pod(0, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "install-agent", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}}}
		p.Status.Conditions[0].Status, p.Status.Conditions[1].Status = corev1.ConditionFalse, corev1.ConditionFalse
	})(s)
	delete(s.answers, s.pods[0].UID)
	opts := memcachedtest.Options
	opts.AgentImage = "corrected"
	plan := For(s.view(), opts)
	s.set.Spec.Template = *memcached.PodTemplate(plan.Workload())
	plan = For(s.view(), opts)
	if len(plan.Steps) == 0 {
		t.Errorf("nothing happens: older %d, %s", plan.Older, plan.Rollout.Message())
	}
}

// A host is lost while the spec has a problem.
func TestLostWithProblem(t *testing.T) {
	s := newScene(t, 3)
	all(withLimit(corev1.ResourceMemory, "100Mi"), threadsOf(2))(s.mc)
	pod(1, evicted(time.Hour))(s)
	if got := s.short(s.plan()); !strings.Contains(got, "ForceDelete") {
		t.Errorf("plan %q", got)
	}
}

// save stores the ConfigMap of a plan.
func (s *scene) save(plan memcached.Plan) {
	s.config = nil
	for _, object := range plan.Objects {
		if found, ok := object.(*corev1.ConfigMap); ok && found.Name == "cache-arguments" {
			s.config = found.DeepCopy()
			s.config.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Memcached", s.mc.Name, s.mc.UID)}
		}
	}
}

// run patches annotations as the plan says.
func (s *scene) run(plan memcached.Plan) {
	for _, step := range plan.Steps {
		for i := range s.pods {
			if s.pods[i].Name == step.Pod.Name && step.Asked != nil {
				s.pods[i].Annotations[memcached.AskedAnnotation] = step.Asked.Annotation()
			}
		}
	}
}

func (s *scene) plan() memcached.Plan { return For(s.view(), memcachedtest.Options) }
