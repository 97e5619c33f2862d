// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// moveViolations checks two limits during a move between workloads, and returns each violated limit once. At most one pod more than
// the size may exist, not counting terminating pods. The number of ready pods must be at least the size minus one, or 1 in a Memcached
// of size 1. A move lasts from the moment at which both workloads exist until the Memcached is Ready again.
func moveViolations(entries []entry) []string {
	var tooMany, tooFew string
	now, moving := objects{}, false
	most, least := 0, 0
	for _, e := range entries {
		now.add(e)
		mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
		if mc == nil {
			moving = false
			continue
		}
		size := int(mc.Spec.Size)
		switch wanted, other := now.workloads(mc); {
		case wanted != nil && other != nil && !moving:
			moving, most, least = true, size+1, requiredReady(size)
		case other == nil && mc.Status.ObservedGeneration == mc.Generation &&
			meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady):
			moving = false
		}
		if !moving {
			continue
		}
		most, least = max(most, size+1), min(least, requiredReady(size))
		members, ready := now.members()
		if members > most && tooMany == "" {
			tooMany = fmt.Sprintf("version %d: there are %d members in a move, at most %d are allowed", e.version, members, most)
		}
		if ready < least && tooFew == "" {
			tooFew = fmt.Sprintf("version %d: %d nodes are ready in a move, at least %d are promised", e.version, ready, least)
		}
	}
	return slices.DeleteFunc([]string{tooMany, tooFew}, func(text string) bool { return text == "" })
}

// requiredReady is how many nodes of a Memcached of this size must be ready while nodes are replaced one at a time. A single node
// must stay ready until its replacement is ready.
func requiredReady(size int) int { return max(size-1, min(size, 1)) }

func (o objects) members() (members, ready int) {
	for _, pod := range o.pods() {
		if pod.DeletionTimestamp == nil {
			members++
			if podReady(pod) {
				ready++
			}
		}
	}
	return members, ready
}

// serverViolations returns the violations of the rules for status.servers. The list must contain the first nodes, in order. Except
// during a pause, it must not be longer than the size, and must be empty with a Deployment. It must not get shorter, unless the size
// decreases or a Deployment has existed.
func serverViolations(entries []entry) []string {
	var found []string
	deployed, before := false, 0
	for _, e := range entries {
		if _, ok := e.object.(*appsv1.Deployment); ok && e.object.GetName() == cacheName {
			deployed = true
		}
		mc, ok := e.object.(*cachev1alpha1.Memcached)
		if !ok || mc.Status.ObservedGeneration != mc.Generation {
			continue
		}
		count, most := len(mc.Status.Servers), len(servers(mc))
		switch {
		case !slices.Equal(mc.Status.Servers, firstServers(mc, count)),
			count > most && !mc.Spec.Paused,
			count < min(before, most) && !deployed:
			found = append(found, fmt.Sprintf("version %d: after %d servers, these are not those of size %d with a %s: %v",
				e.version, before, mc.Spec.Size, wantedKind(mc), mc.Status.Servers))
		}
		before = count
	}
	return found
}
