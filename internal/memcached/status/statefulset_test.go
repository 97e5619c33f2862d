// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func inStatefulSet(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet }

// progressing sets the condition Progressing of the last status, with its transition time.
func progressing(status metav1.ConditionStatus, reason string, since time.Time) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions = []metav1.Condition{{
			Type: cachev1alpha1.ConditionProgressing, Status: status, Reason: reason, ObservedGeneration: mc.Generation,
			LastTransitionTime: metav1.NewTime(since),
		}}
	}
}

// makeStatefulSet returns the live StatefulSet of a Memcached. It has a status only if changes set one.
func makeStatefulSet(t testing.TB, mc *cachev1alpha1.Memcached, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	t.Helper()
	plan := desired.For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
	rendered := plan.Workload()
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	set := rendered.(*appsv1.StatefulSet)
	set.UID, set.Generation = "statefulset-uid", 1
	set.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Memcached", mc.Name, mc.UID)}
	for _, change := range changes {
		change(set)
	}
	return set
}

// setCounts sets the status that the StatefulSet controller writes when it has observed the StatefulSet.
func setCounts(replicas, updated, ready int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Status.ObservedGeneration = set.Generation
		set.Status.Replicas, set.Status.UpdatedReplicas = replicas, updated
		set.Status.ReadyReplicas, set.Status.AvailableReplicas = ready, ready
		revisions("a", "a")(set)
	}
}

func revisions(current, update string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { set.Status.CurrentRevision, set.Status.UpdateRevision = current, update }
}

// setPods returns ready pods of the StatefulSet, one for each given revision.
func setPods(revisions ...string) []corev1.Pod {
	var pods []corev1.Pod
	for i, revision := range revisions {
		pods = append(pods, makePod(fmt.Sprintf("cache-%d", i), ofStatefulSet(revision)))
	}
	return pods
}

func ofStatefulSet(revision string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{memcached.NameLabel: "memcached", memcached.InstanceLabel: "cache", appsv1.ControllerRevisionHashLabelKey: revision}
		pod.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("StatefulSet", "cache", "statefulset-uid")}
	}
}

func statefulSetRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3, inStatefulSet)
	of := func(changes ...func(*appsv1.StatefulSet)) []client.Object {
		return []client.Object{makeStatefulSet(t, mc, changes...)}
	}
	became := func(at time.Time) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(at) }
	}
	const stuck = "No node has come, gone or changed for 10 minutes; to see why: kubectl describe statefulset cache -n shop"
	return []statusCase{{
		name: "StatefulSet: its controller has not seen it", mc: mc, others: of(),
		ready: "False Creating: Starting 3 nodes", available: unreported,
		progressing: "True Creating: Starting 3 nodes", degraded: asExpected,
	}, {
		name: "StatefulSet: one node has started", mc: mc, others: of(setCounts(3, 3, 1)),
		pods:  append(setPods("a"), makePod("cache-1", ofStatefulSet("a"), notReady), makePod("cache-2", ofStatefulSet("a"), notReady)),
		ready: "False Creating: 1 of 3 nodes are started", available: unavailable1,
		progressing: "True Creating: 1 of 3 nodes are started", degraded: asExpected,
	}, {
		name: "StatefulSet: all nodes are ready", mc: mc, others: of(setCounts(3, 3, 3)), pods: setPods("a", "a", "a"),
		ready: allThreeReady, available: available3, progressing: complete, degraded: asExpected,
	}, {
		name: "StatefulSet: a rollout", mc: mc, others: of(setCounts(3, 1, 3), revisions("a", "b")), pods: setPods("a", "a", "b"),
		ready: "False " + replacing + "1 of 3 nodes are updated", available: available3,
		progressing: "True " + replacing + "1 of 3 nodes are updated", degraded: asExpected,
	}, {
		name: "StatefulSet: a rollout is taken back", mc: mc, others: of(setCounts(3, 2, 3)), pods: setPods("a", "a", "b"),
		ready: "False " + replacing + "2 of 3 nodes are updated", available: available3,
		progressing: "True " + replacing + "2 of 3 nodes are updated", degraded: asExpected,
	}, {
		name: "StatefulSet: a rollout that was stuck is taken back, and the node is replaced",
		mc: memcachedtest.Cache(3, inStatefulSet, progressing(metav1.ConditionFalse, cachev1alpha1.ReasonStuck, noon.Add(-time.Minute)),
			func(mc *cachev1alpha1.Memcached) {
				mc.Status.LastApplied = &cachev1alpha1.MemcachedRecord{Former: &cachev1alpha1.MemcachedFormerRecord{TemplateHash: "other"}}
			}),
		others: of(setCounts(3, 2, 2)), pods: setPods("a", "a"),
		ready: "False NodesUnavailable: 2 of 3 nodes are ready", available: available2, progressing: complete, degraded: asExpected,
	}, {
		name: "StatefulSet: paused in a rollout that only the operator can finish",
		mc:   memcachedtest.Cache(3, inStatefulSet, memcachedtest.Paused),
		others: of(setCounts(3, 1, 3), revisions("a", "b"), func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(2))
		}), pods: setPods("a", "a", "b"),
		ready: "Unknown Paused: spec.paused holds back: the rest of a rollout", available: available3,
		progressing: "False Paused: spec.paused holds back: the rest of a rollout" + replaced + resume,
	}, {
		name:   "StatefulSet: a node is away and comes back",
		mc:     memcachedtest.Cache(3, inStatefulSet, progressing(metav1.ConditionFalse, cachev1alpha1.ReasonComplete, noon)),
		others: of(setCounts(3, 2, 2)), pods: setPods("a", "a"),
		ready: "False NodesUnavailable: 2 of 3 nodes are ready", available: available2, progressing: complete, degraded: asExpected,
	}, {
		name:   "StatefulSet: it has not seen a new size",
		mc:     memcachedtest.Cache(3, inStatefulSet, progressing(metav1.ConditionFalse, cachev1alpha1.ReasonComplete, noon)),
		others: of(setCounts(2, 2, 2)), pods: setPods("a", "a"),
		ready: "False Scaling: Scaling from 2 to 3 nodes", available: available2,
		progressing: "True Scaling: Scaling from 2 to 3 nodes", degraded: asExpected,
	}, {
		name: "StatefulSet: a node leaves", mc: mc, others: of(setCounts(4, 3, 4)), pods: setPods("a", "a", "a"),
		ready: "False Scaling: Scaling from 4 to 3 nodes", available: available3,
		progressing: "True Scaling: Scaling from 4 to 3 nodes", degraded: asExpected,
	}, {
		name: "StatefulSet: a rollout has not moved for its deadline",
		mc: memcachedtest.Cache(3, inStatefulSet,
			progressing(metav1.ConditionTrue, cachev1alpha1.ReasonRollingOut, noon.Add(-10*time.Minute))),
		others: of(setCounts(3, 1, 3), revisions("a", "b")), pods: setPods("a", "a", "b"),
		ready: "False Stuck: " + stuck, available: available3, progressing: "False Stuck: " + stuck, degraded: asExpected,
	}, {
		name: "StatefulSet: a rollout is still stuck",
		mc: memcachedtest.Cache(3, inStatefulSet,
			progressing(metav1.ConditionFalse, cachev1alpha1.ReasonStuck, noon.Add(-time.Minute))),
		others: of(setCounts(3, 1, 3), revisions("a", "b")), pods: setPods("a", "a", "b"),
		ready: "False Stuck: " + stuck, available: available3, progressing: "False Stuck: " + stuck, degraded: asExpected,
	}, {
		name: "StatefulSet: a rollout moves again",
		mc: memcachedtest.Cache(3, inStatefulSet,
			progressing(metav1.ConditionFalse, cachev1alpha1.ReasonStuck, noon.Add(-time.Hour))),
		others: of(setCounts(3, 1, 2), revisions("a", "b")),
		pods:   append(setPods("a", "a"), makePod("cache-2", ofStatefulSet("b"), notReady, became(noon.Add(-time.Minute)))),
		ready:  "False " + replacing + "1 of 3 nodes are updated", available: available2,
		progressing: "True " + replacing + "1 of 3 nodes are updated", degraded: asExpected,
	}, {
		name: "StatefulSet: its start is still stuck",
		mc: memcachedtest.Cache(3, inStatefulSet,
			progressing(metav1.ConditionFalse, cachev1alpha1.ReasonStuck, noon.Add(-time.Minute))),
		others: of(setCounts(3, 3, 2)), pods: append(setPods("a", "a"), makePod("cache-2", ofStatefulSet("a"), notReady)),
		ready: "False Stuck: " + stuck, available: available2, progressing: "False Stuck: " + stuck,
	}, {
		name: "StatefulSet: it was created after a long wait",
		mc: memcachedtest.Cache(3, inStatefulSet,
			progressing(metav1.ConditionTrue, cachev1alpha1.ReasonCreating, noon.Add(-time.Hour))),
		others:   of(setCounts(0, 0, 0), func(set *appsv1.StatefulSet) { set.CreationTimestamp = metav1.NewTime(noon) }),
		changing: "Creating: 0 of 3 nodes are started", available: unavailable0,
	}, {
		name: "StatefulSet: a change after a long time is not overdue",
		mc: memcachedtest.Cache(3, inStatefulSet,
			progressing(metav1.ConditionFalse, cachev1alpha1.ReasonComplete, noon.Add(-time.Hour))),
		others: of(setCounts(3, 0, 3), revisions("a", "b")), pods: setPods("a", "a", "a"),
		ready: "False " + replacing + "0 of 3 nodes are updated", available: available3,
		progressing: "True " + replacing + "0 of 3 nodes are updated", degraded: asExpected,
	}, {
		name: "StatefulSet: a change that a problem had stopped begins when that is gone",
		mc: memcachedtest.Cache(3, inStatefulSet,
			progressing(metav1.ConditionFalse, cachev1alpha1.ReasonStuck, noon.Add(-time.Hour)), hadProblem),
		others: of(setCounts(3, 0, 3), revisions("a", "b")), pods: setPods("a", "a", "a"),
		ready: "False " + replacing + "0 of 3 nodes are updated", available: available3,
		progressing: "True " + replacing + "0 of 3 nodes are updated", degraded: asExpected,
	}, {
		name: "StatefulSet: a change that is overdue stays so beside another problem",
		mc: memcachedtest.Cache(3, inStatefulSet, progressing(metav1.ConditionFalse, cachev1alpha1.ReasonStuck, noon.Add(-time.Hour)), hadProblem,
			func(mc *cachev1alpha1.Memcached) { mc.Status.Conditions[0].Message = "No node has come" }),
		others: of(setCounts(3, 0, 3), revisions("a", "b")), pods: setPods("a", "a", "a"),
		written: memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConfigurationRefused, Message: "no"}},
		ready:   "False ConfigurationRefused: no", available: available3,
		progressing: "False Stuck: " + overdueText, degraded: "True ConfigurationRefused: no",
	}}
}

const overdueText = "No node has come, gone or changed for 10 minutes; to see why: kubectl describe statefulset cache -n shop"

// hadProblem adds to the last status that a problem had stopped a change.
func hadProblem(mc *cachev1alpha1.Memcached) {
	mc.Status.Conditions[0].Message = stoppedByProblem
	mc.Status.Conditions = append(mc.Status.Conditions, metav1.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue})
}

// TestNodesOfStatefulSetsAreSortedByNumber has more than ten nodes: by name, cache-10 would come before cache-2.
func TestNodesOfStatefulSetsAreSortedByNumber(t *testing.T) {
	mc := memcachedtest.Cache(12, inStatefulSet)
	pods := setPods(slices.Repeat([]string{"a"}, 12)...)
	slices.Reverse(pods)
	observed := memcached.Observed{Children: []client.Object{makeStatefulSet(t, mc, setCounts(12, 12, 12))}, Pods: pods}
	nodes := statusOf(mc, observed, memcached.Written{}, noon).Nodes
	for i, node := range nodes {
		if node != fmt.Sprintf("cache-%d", i) {
			t.Fatalf("%v", nodes)
		}
	}
}

// TestRequeueAfter expects another computation when a silent node becomes a problem, when a change exceeds a deadline that Kubernetes
// does not watch, and when a node has been ready for minReadySeconds.
func TestRequeueAfter(t *testing.T) {
	of := func(changes ...func(*appsv1.StatefulSet)) memcached.Observed {
		mc := memcachedtest.Cache(3, inStatefulSet)
		return memcached.Observed{Children: []client.Object{makeStatefulSet(t, mc, changes...)}, Pods: setPods("a", "a", "a")}
	}
	with := func(observed memcached.Observed, change func(*corev1.Pod)) memcached.Observed {
		change(&observed.Pods[2])
		return observed
	}
	minReady60 := func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 60 }
	young := func(pod *corev1.Pod) {
		since := metav1.NewTime(noon.Add(-20 * time.Second))
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
	}
	noRoom := of(setCounts(3, 0, 2), revisions("a", "b"))
	noRoom.Pods[0].Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	onDeployment := memcached.Observed{Children: []client.Object{makeDeployment(t, memcachedtest.Cache(3))}}
	for name, c := range map[string]struct {
		mc       *cachev1alpha1.Memcached
		observed memcached.Observed
		want     time.Duration
	}{
		"a StatefulSet rolls out": {memcachedtest.Cache(3, inStatefulSet), of(setCounts(3, 0, 3), revisions("a", "b")), 10 * time.Minute},
		"a node of a rollout is young": {
			memcachedtest.Cache(3, inStatefulSet, minReady60), with(of(setCounts(3, 0, 3), revisions("a", "b")), young), 45 * time.Second,
		},
		"a node is young, and another one has no room": {memcachedtest.Cache(3, inStatefulSet, minReady60), with(noRoom, young), 45 * time.Second},
		"a StatefulSet rests":                          {memcachedtest.Cache(3, inStatefulSet), of(setCounts(3, 3, 3)), 0},
		"a Deployment is created":                      {memcachedtest.Cache(3), onDeployment, 0},
		"a node has just become silent": {
			memcachedtest.Cache(3, inStatefulSet), with(of(setCounts(3, 3, 2)), silent(-60, -60, -3)), 7 * time.Second,
		},
		"a node has started and is silent": {
			memcachedtest.Cache(3, inStatefulSet), with(of(setCounts(3, 3, 2)), silent(-20, -21, -21)), 40 * time.Second,
		},
		"a node has been silent for long": {memcachedtest.Cache(3, inStatefulSet), with(of(setCounts(3, 3, 2)), silent(-60, -60, -10)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			status := statusOf(c.mc, c.observed, memcached.Written{}, noon)
			if got := RequeueAfter(memcached.NewView(c.mc, c.observed, noon), status); got != c.want {
				t.Errorf("in %s", got)
			}
		})
	}
}
