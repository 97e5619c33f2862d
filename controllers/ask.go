// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
)

// AskedAtOnce is how many parents are asked at the same time.
const AskedAtOnce = 64

// plan returns the Plan of a Memcached. A plan with a step of a pod is made again from what is read past the cache. So is the
// plan at the end of a rollout: in the cache, the pods may be as they were before the last step, and a plan made without an existing
// child. If the plan writes something, plan then verifies the Memcached. The first children need no check: if they exist, the API server
// refuses to create them.
func (r *Reconciler) plan(ctx context.Context, view *memcached.View) (_ memcached.Plan, changes apply.Plan, _ error) {
	name := client.ObjectKeyFromObject(view.Memcached)
	state := r.states.get(name)
	view.Answers, view.Filled, view.Absent = state.answers, state.filled, state.absent
	plan := r.planAsking(ctx, view)
	if takesSteps(plan) || completes(*view, plan) {
		fresh, err := r.observeForSteps(ctx, *view)
		if err != nil {
			return plan, changes, err
		}
		*view = fresh
		plan = r.planAsking(ctx, view)
	}
	mc := view.Memcached
	if mc.DeletionTimestamp == nil {
		changes = r.changes(ctx, *view, plan)
	}
	if len(changes.Unobserved) > 0 {
		*view = view.After(changes.Unobserved)
		return r.plan(ctx, view)
	}
	if takesSteps(plan) || !mc.Spec.Paused && changes.Rewrites {
		if err := r.VerifyFresh(ctx, mc); err != nil {
			return plan, changes, err
		}
	}
	r.states.update(name, func(s *instanceState) {
		s.answers, s.filled, s.absent = nil, plan.Fills.Filled, plan.Absent
		if plan.Rollout.Pending > 0 && memcached.Copies(mc) == 1 { // with copies, a node that has filled may be empty again
			s.answers = lasting(*view, plan)
		}
	})
	return plan, changes, nil
}

// takesSteps reports whether a plan changes pods or their arguments.
func takesSteps(plan memcached.Plan) bool { return len(plan.Steps) > 0 || plan.Arguments }

// completes reports whether a rollout has just ended, according to the cache.
func completes(view memcached.View, plan memcached.Plan) bool {
	return plan.Rollout.Pending == 0 && view.LastReason(cachev1alpha1.ConditionProgressing) == cachev1alpha1.ReasonRollingOut &&
		memcached.IsStatefulSet(view.Memcached)
}

// planAsking returns the Plan after the parents were asked on whose answers it depends, in up to three rounds, because an answer may make
// other answers necessary.
func (r *Reconciler) planAsking(ctx context.Context, view *memcached.View) memcached.Plan {
	const rounds = 3
	for range rounds {
		plan := desired.For(*view, r.Options)
		if len(plan.Ask) == 0 {
			return plan
		}
		answers := r.ask(ctx, plan.Ask)
		maps.Copy(answers, view.Answers)
		view.Answers = answers
	}
	return desired.For(*view, r.Options)
}

// lasting returns the answers that stay true: of nodes that run, serve, and have the entry that they said they have. Their parents
// are not asked again in the same rollout.
func lasting(view memcached.View, plan memcached.Plan) memcached.Answers {
	entries, kept := view.Entries(), memcached.Answers{}
	for _, pod := range view.Workload.Nodes(view.Pods) {
		answer, found := view.Answers[pod.UID]
		asked, _ := memcached.AskedOf(pod.Annotations)
		var number int64
		if entry := entries[pod.Name]; entry.Pod == string(pod.UID) {
			number, asked.Arguments = entry.Number, entry.Target
		}
		minimum := max(int64(view.Memcached.Spec.UpdateStrategy.MinReadySeconds), desired.ProbeSeconds)
		if found && answer.Failure == "" && answer.Number == number && !answer.Restarting && !answer.Fill.Open() &&
			answer.SecondsInEffect >= minimum && asked.Asked == plan.Target.Asked && memcached.PodReady(pod) {
			kept[pod.UID] = answer
		}
	}
	return kept
}

func (r *Reconciler) ask(ctx context.Context, pods []*corev1.Pod) memcached.Answers {
	return AskAll(pods, AskedAtOnce, func(pod *corev1.Pod) memcached.Answer {
		status, err := r.Nodes.Ask(ctx, pod, memcached.ParentPort)
		if err != nil {
			return memcached.Answer{Failure: err.Error()}
		}
		return memcached.Answer{Status: status}
	})
}

// AskAll asks the parents or sidecars of pods, at most this number at a time, and returns the answers by the UID of the pod.
func AskAll[T any](pods []*corev1.Pod, atOnce int, ask func(*corev1.Pod) T) map[types.UID]T {
	var mutex sync.Mutex
	var asking sync.WaitGroup
	answers, slots := map[types.UID]T{}, make(chan struct{}, atOnce)
	for i, pod := range pods {
		if slices.Contains(pods[:i], pod) {
			continue
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			answer := ask(pod)
			mutex.Lock()
			defer mutex.Unlock()
			answers[pod.UID] = answer
		})
	}
	asking.Wait()
	return answers
}
