// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestMoveInvariants checks moveViolations with a Memcached of size 2 that moves to a StatefulSet.
func TestMoveInvariants(t *testing.T) {
	t.Parallel()
	mc := statusEntry(1, 1, 0)
	mc.object.(*cachev1alpha1.Memcached).Spec.Size = 2
	mc.object.(*cachev1alpha1.Memcached).Spec.Workload = cachev1alpha1.WorkloadStatefulSet
	both := []entry{mc, podEntry("cache-a-0", true), podEntry("cache-a-1", true), deploymentEntry("1", 1, 1), setEntry()}
	then := func(more ...entry) []entry { return slices.Concat(both, more) }
	gone := func(e entry) entry {
		e.event = watch.Deleted
		return e
	}
	for name, test := range map[string]struct {
		history []entry
		want    []string
	}{
		"one member more": {then(podEntry("cache-0", false)), nil},
		"two members more": {
			then(podEntry("cache-0", false), podEntry("cache-1", false)),
			[]string{"version 7: there are 4 members in a move, at most 3 are allowed"},
		},
		"a terminating member does not count": {
			then(podEntry("cache-0", false), terminatingEntry("cache-a-1"), podEntry("cache-1", false)), nil,
		},
		"an old node leaves after a new one is ready": {
			then(podEntry("cache-0", true), gone(podEntry("cache-a-0", true)), gone(podEntry("cache-a-1", true))), nil,
		},
		"the old nodes leave too early": {
			then(podEntry("cache-0", false), gone(podEntry("cache-a-0", true)), gone(podEntry("cache-a-1", true))),
			[]string{"version 8: 0 nodes are ready in a move, at least 1 are promised"},
		},
		"before the move": {[]entry{mc, deploymentEntry("1", 1, 1)}, nil},
		"the Deployment is deleted with its nodes": {
			then(gone(deploymentEntry("1", 1, 1)), gone(podEntry("cache-a-0", true)), gone(podEntry("cache-a-1", true))),
			[]string{"version 8: 0 nodes are ready in a move, at least 1 are promised"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := moveViolations(numbered(test.history)); !slices.Equal(test.want, got) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestServerInvariants checks serverViolations with lists that violate the rules and others that do not.
func TestServerInvariants(t *testing.T) {
	t.Parallel()
	of := func(size int32, workload cachev1alpha1.WorkloadKind, servers ...string) entry {
		e := statusEntry(1, 1, 0)
		mc := e.object.(*cachev1alpha1.Memcached)
		mc.Namespace, mc.Spec.Size, mc.Spec.Workload, mc.Status.Servers = "shop", size, workload, servers
		return e
	}
	const kind, zero, one = cachev1alpha1.WorkloadStatefulSet, "cache-0.cache.shop.svc:11211", "cache-1.cache.shop.svc:11211"
	for name, test := range map[string]struct {
		history []entry
		wrong   int
	}{
		"complete":                 {[]entry{of(2, kind), of(2, kind, zero, one)}, 0},
		"a node is missing":        {[]entry{of(2, kind, one)}, 1},
		"a node goes missing":      {[]entry{of(2, kind, zero, one), of(2, kind, zero)}, 1},
		"the order is wrong":       {[]entry{of(2, kind, one, zero)}, 1},
		"the size is not yet 2":    {[]entry{of(2, kind, zero)}, 0},
		"the size is smaller":      {[]entry{of(2, kind, zero, one), of(1, kind, zero)}, 0},
		"too many":                 {[]entry{of(1, kind, zero, one)}, 1},
		"it disappears":            {[]entry{of(2, kind, zero, one), of(2, kind)}, 1},
		"it disappears for a move": {[]entry{of(1, kind, zero), of(1, cachev1alpha1.WorkloadDeployment)}, 0},
		"it stays for a move":      {[]entry{of(1, kind, zero), of(1, cachev1alpha1.WorkloadDeployment, zero)}, 1},
		"a move back":              {[]entry{deploymentEntry("1", 1, 1), of(1, kind, zero), of(1, kind), of(1, kind, zero)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := serverViolations(numbered(test.history)); len(found) != test.wrong {
				t.Errorf("%d violations, want %d: %v", len(found), test.wrong, found)
			}
		})
	}
}

// numbered returns a copy of the history with the resource versions 1, 2, 3 and so on.
func numbered(history []entry) []entry {
	history = slices.Clone(history)
	for i, e := range history {
		e.version, e.object = uint64(i+1), e.object.DeepCopyObject().(client.Object)
		e.object.SetResourceVersion(strconv.Itoa(i + 1))
		history[i] = e
	}
	return history
}

func setEntry() entry {
	return entry{resource: "statefulsets", event: watch.Added, object: &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: cacheName, UID: "set", Generation: 1},
		Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To(int32(1))},
	}}
}

func podEntry(name string, ready bool) entry {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return entry{resource: "pods", event: watch.Modified, object: pod}
}

func terminatingEntry(name string) entry {
	e := podEntry(name, true)
	e.object.SetDeletionTimestamp(ptr.To(metav1.Now()))
	return e
}
