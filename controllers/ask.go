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

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
)

// AskedAtOnce is how many launchers are asked at the same time.
const AskedAtOnce = 64

// plan returns the Plan of a Memcached. If the Plan depends on answers of launchers, plan asks them and plans again, up to
// three times, because an answer may make other answers necessary.
func (r *Reconciler) plan(ctx context.Context, view *memcached.View) memcached.Plan {
	name := client.ObjectKeyFromObject(view.Memcached)
	state := r.states.get(name)
	view.Answers, view.Filled, view.Unchangeable = state.running, state.filled, state.unchangeable
	const rounds = 3
	for range rounds {
		plan := desired.For(*view, r.Options)
		asked := append(slices.Clone(plan.Wave.Ask), plan.Twins.Ask...)
		if len(asked) == 0 {
			break
		}
		answers := r.ask(ctx, asked)
		maps.Copy(answers, view.Answers)
		view.Answers = answers
	}
	plan := desired.For(*view, r.Options)
	r.states.update(name, func(s *instanceState) { s.running, s.filled = running(*view, plan), plan.Twins.Filled })
	return plan
}

// running returns the answers of the launchers whose nodes already run with the new arguments (Plan.Wave), so that these launchers
// are not asked again.
func running(view memcached.View, plan memcached.Plan) memcached.Answers {
	if !plan.Wave.Open || plan.InPlace.Open {
		return nil
	}
	kept := memcached.Answers{}
	for _, uid := range plan.Wave.Running {
		kept[uid] = view.Answers[uid]
	}
	return kept
}

func (r *Reconciler) ask(ctx context.Context, pods []*corev1.Pod) memcached.Answers {
	return AskAll(pods, AskedAtOnce, func(pod *corev1.Pod) memcached.Answer {
		status, err := r.Nodes.Launcher(ctx, pod)
		if err != nil {
			return memcached.Answer{Failure: err.Error()}
		}
		return memcached.Answer{Status: status}
	})
}

// AskAll asks the launchers or agents of pods, at most this number at a time, and returns the answers by the UID of the pod.
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
