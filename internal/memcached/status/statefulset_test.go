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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/rollout"
)

func inStatefulSet(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet }

// reported sets the condition Progressing of the last status: False for some reasons and True for the others. It is this old.
func reported(reason string, age time.Duration) func(*cachev1alpha1.Memcached) {
	status := metav1.ConditionTrue
	if reason == cachev1alpha1.ReasonAsExpected || reason == cachev1alpha1.ReasonStuck {
		status = metav1.ConditionFalse
	}
	return func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions = []metav1.Condition{{
			Type: cachev1alpha1.ConditionProgressing, Status: status, Reason: reason, ObservedGeneration: mc.Generation,
			LastTransitionTime: metav1.NewTime(noon.Add(-age)),
		}}
	}
}

// makeStatefulSet returns the live StatefulSet of a Memcached. It has a status only if changes set one.
func makeStatefulSet(t testing.TB, mc *cachev1alpha1.Memcached, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	t.Helper()
	plan := desired.For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	set := memcachedtest.Live(t, mc, plan.Workload().(*appsv1.StatefulSet))
	for _, change := range changes {
		change(set)
	}
	return set
}

// setCounts sets the status that the StatefulSet controller writes when it has observed the StatefulSet.
func setCounts(replicas, ready int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Status.ObservedGeneration = set.Generation
		set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas = replicas, ready, ready
	}
}

// changed makes a StatefulSet one that has changed since its creation.
func changed(set *appsv1.StatefulSet) { set.Generation++ }

// setPods returns ready pods of the StatefulSet. They are what its template asks for, unless changes say otherwise.
func setPods(count int, changes ...func(*corev1.Pod)) []corev1.Pod {
	var pods []corev1.Pod
	for i := range count {
		pods = append(pods, setPod(i, changes...))
	}
	return pods
}

func setPod(ordinal int, changes ...func(*corev1.Pod)) corev1.Pod {
	return makePod(fmt.Sprintf("cache-%d", ordinal), append([]func(*corev1.Pod){func(pod *corev1.Pod) {
		pod.Labels = map[string]string{memcached.NameLabel: "memcached", memcached.InstanceLabel: "cache"}
		pod.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("StatefulSet", "cache", "statefulset-uid")}
		limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ti")}
		pod.Spec.Containers = []corev1.Container{{Name: memcached.ContainerName, Resources: corev1.ResourceRequirements{Limits: limits}}}
	}}, changes...)...)
}

// of returns a change that makes a pod one that was created for this Memcached.
func of(t testing.TB, mc *cachev1alpha1.Memcached) func(*corev1.Pod) {
	t.Helper()
	template := makeStatefulSet(t, mc).Spec.Template
	return func(pod *corev1.Pod) { pod.Annotations, pod.Spec = template.Annotations, *template.Spec.DeepCopy() }
}

// statefulSetRows have a StatefulSet of three nodes.
func statefulSetRows(t *testing.T) []statusCase {
	cache := func(changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
		return memcachedtest.Cache(3, append([]func(*cachev1alpha1.Memcached){inStatefulSet}, changes...)...)
	}
	set := func(mc *cachev1alpha1.Memcached, changes ...func(*appsv1.StatefulSet)) []client.Object {
		return []client.Object{makeStatefulSet(t, mc, changes...)}
	}
	newImage := memcachedtest.Image("memcached:2")
	change := func(c statusCase, changes []func(*statusCase)) statusCase {
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	// away has a node that is not ready, and nothing that the spec asks to change. halfway has two nodes with another image than spec.image.
	away := func(name string, mc *cachev1alpha1.Memcached, changes ...func(*statusCase)) statusCase {
		return change(statusCase{
			name: name, mc: mc, others: set(cache(), setCounts(3, 2)), pods: append(setPods(2), setPod(2, notReady)),
			ready: "False NotReady: 2 of 3 nodes are ready", available: available2,
		}, changes)
	}
	halfway := func(name string, mc *cachev1alpha1.Memcached, changes ...func(*statusCase)) statusCase {
		newImage(mc)
		return change(statusCase{
			name: name, mc: mc, others: set(cache(newImage), changed, setCounts(3, 3)),
			pods: append(setPods(2, of(t, cache())), setPod(2, of(t, cache(newImage)))),
		}, changes)
	}
	changing := func(text string) func(*statusCase) { return func(c *statusCase) { c.ready, c.changing = "", text } }
	stuck := func(text string) func(*statusCase) {
		return func(c *statusCase) { c.ready, c.progressing = "False Stuck: "+text, "False Stuck: "+text }
	}
	hasChanged := func(c *statusCase) { c.others = set(cache(), changed, setCounts(3, 2)) }
	moved := func(c *statusCase) { created(-60)(&c.pods[2]) }
	waits := func(wait rollout.Wait, words string) func(*statusCase) {
		return func(c *statusCase) {
			c.planned = func(plan *memcached.Plan) {
				p := &plan.Rollout
				p.Steps, p.Waits, p.Waiting, p.Words = nil, wait, "cache-1", words
			}
		}
	}
	refuses := func(reason string) func(*statusCase) {
		return func(c *statusCase) {
			c.written = memcached.Written{Problem: &memcached.Problem{Reason: reason, Message: "no"}}
			c.ready, c.stuck = "", reason+": no"
		}
	}
	const idle, describe = "No node has come, gone or changed for 10 minutes: ", "; to see why: kubectl describe statefulset cache -n shop"
	const notYet, half = "cache-2 is not ready yet", replacing + "1 of 3 nodes are updated; "
	return []statusCase{
		{
			name: "StatefulSet: its controller has not seen it", mc: cache(), others: set(cache()),
			changing: "Creating: Starting 3 nodes", available: noReport,
		},
		{
			name: "StatefulSet: no node has started", mc: cache(), others: set(cache(), setCounts(0, 0)),
			changing: "Creating: 0 of 3 nodes are started", available: unavailable0,
		},
		{
			name: "StatefulSet: one node has started", mc: cache(), others: set(cache(), setCounts(3, 1)),
			pods:     append(setPods(1), setPod(1, notReady), setPod(2, notReady)),
			changing: "Creating: 1 of 3 nodes are started", available: unavailable1,
		},
		{
			name: "StatefulSet: all nodes are ready", mc: cache(), others: set(cache(), setCounts(3, 3)), pods: setPods(3),
		},
		{
			name: "StatefulSet: it was created after a long wait", mc: cache(reported("Creating", time.Hour)),
			others:   set(cache(), setCounts(0, 0), func(set *appsv1.StatefulSet) { set.CreationTimestamp = metav1.NewTime(noon) }),
			changing: "Creating: 0 of 3 nodes are started", available: unavailable0,
		},
		away("StatefulSet: its start is still stuck", cache(reported("Stuck", time.Minute)), stuck(idle+notYet+describe)),
		away("StatefulSet: its start was stuck, and goes on", cache(reported("Stuck", time.Hour)), changing("Creating: 2 of 3 nodes are started"),
			moved),
		away("StatefulSet: a node is away and comes back", cache(reported("AsExpected", time.Hour))),
		away("StatefulSet: the last new node does not serve yet", cache(reported("RollingOut", time.Minute)), hasChanged,
			changing("RollingOut: 2 of 3 nodes are updated; "+notYet)),
		away("StatefulSet: the last new node was stuck, and goes on", cache(reported("Stuck", time.Hour)), hasChanged,
			changing("RollingOut: 2 of 3 nodes are updated; "+notYet),
			moved),
		away("StatefulSet: a node is away, and something is refused", cache(reported("Stuck", time.Hour)), refuses("Conflict")),
		{
			name: "StatefulSet: it has not seen a new size", mc: cache(reported("AsExpected", time.Hour)),
			others: set(cache(), setCounts(2, 2)), pods: setPods(2), changing: "Scaling: Scaling from 2 to 3 nodes", available: available2,
		},
		{
			name: "StatefulSet: a node leaves", mc: cache(), others: set(cache(), setCounts(4, 4)), pods: setPods(3),
			changing: "Scaling: Scaling from 4 to 3 nodes",
		},
		{
			name: "StatefulSet: somebody has lowered a limit that was computed", mc: cache(), others: set(cache(), setCounts(3, 3)),
			pods: append(setPods(2, of(t, cache())), setPod(2, of(t, cache()), limitedPod("160Mi"))), trouble: lessMemory(2, 160, 202),
		},
		{
			name: "StatefulSet: somebody has lowered a limit of the spec", mc: cache(limitedTo("1Gi", "128Mi")),
			others: set(cache(limitedTo("1Gi", "128Mi")), setCounts(3, 3)),
			pods:   setPods(3, of(t, cache(limitedTo("1Gi", "128Mi"))), limitedPod("160Mi")), trouble: lessMemory(0, 160, 1024),
		},
		{
			name: "StatefulSet: an earlier operator has asked for less", mc: cache(), others: set(cache(), setCounts(3, 3)),
			pods:        setPods(3, of(t, cache()), limitedPod("160Mi"), asked(func(a *memcached.Asked) { a.DefaultLimit = 160 << 20 })),
			progressing: "False Outdated: 3 of 3 nodes have an older agent or defaults of the operator; new pods get the present ones. " + toReplace,
		},
		{
			name: "StatefulSet: a limit changes in place", mc: cache(), others: set(cache(), setCounts(3, 3)),
			pods: append(setPods(2, of(t, cache())), setPod(2, of(t, cache()), limitedPod("160Mi"), asked(func(a *memcached.Asked) {
				a.Former = &memcached.FormerPod{Resources: "former", PodResources: "former"}
			}))),
		},
		halfway("StatefulSet: a rollout", cache(), changing(half+"cache-1 is replaced")),
		halfway("StatefulSet: a rollout waits for a new node", cache(), changing(replacing+"0 of 3 nodes are updated; cache-2 is not ready yet"),
			func(c *statusCase) { notReady(&c.pods[2]); c.available = available2 }),
		halfway("StatefulSet: paused in a rollout", cache(memcachedtest.Paused), func(c *statusCase) {
			c.ready = "Unknown Paused: spec.paused holds back: a rollout"
			c.progressing = "False Paused: spec.paused holds back: a rollout" + replaced + resume
		}),
		halfway("StatefulSet: paused while the last new node starts", cache(memcachedtest.Paused, reported("RollingOut", 0)), func(c *statusCase) {
			c.pods = append(setPods(2, of(t, c.mc)), setPod(2, of(t, c.mc), notReady))
			c.ready, c.available = "False NotReady: 2 of 3 nodes are ready", available2
			c.progressing = nothingHeld
		}),
		halfway("StatefulSet: no step is taken while something is refused", cache(), refuses("ChangeRefused")),
		halfway("StatefulSet: a rollout has not moved for its deadline", cache(reported("RollingOut", 10*time.Minute)),
			stuck(idle+"cache-1 is replaced"+describe)),
		halfway("StatefulSet: a rollout is stuck, and a parent does not answer", cache(reported("Stuck", time.Minute)),
			stuck(idle+"cache-1 waits for an answer on port 9151, which the operator must be able to reach: cache-0 does not answer: timeout"),
			waits(rollout.WaitAnswer, "cache-0 does not answer: timeout")),
		halfway("StatefulSet: memcached may need more than the memory limit", cache(), waits(rollout.WaitMemory, "too much"),
			changing(half+"cache-1 waits until spec.replacedAt replaces the pods: too much. "+toReplace)),
		halfway("StatefulSet: a change after a long time is not overdue", cache(reported("AsExpected", time.Hour)), changing(half+"cache-1 is replaced")),
		halfway("StatefulSet: a change that a problem had stopped begins when that is gone", cache(reported("Stuck", time.Hour), hadProblem),
			changing(half+"cache-1 is replaced")),
	}
}

// limitedPod gives memcached another memory limit than its template.
func limitedPod(limit string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
		pod.Spec.Containers = []corev1.Container{{Name: memcached.ContainerName, Resources: corev1.ResourceRequirements{Limits: limits}}}
	}
}

// asked changes what a pod was asked for.
func asked(change func(*memcached.Asked)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		asked, _ := memcached.AskedOf(pod.Annotations)
		change(&asked)
		pod.Annotations = map[string]string{memcached.AskedAnnotation: asked.Annotation()}
	}
}

func lessMemory(ordinal, has, wanted int) string {
	return fmt.Sprintf("FieldContested: Pod cache-%d has a memory limit of %d MiB instead of %d MiB, and memcached is killed when it fills: let no "+
		"webhook, autoscaler or LimitRange lower limits of this pod, or lower spec.config.memory", ordinal, has, wanted)
}

const toReplace = "To replace the nodes now, without their items: " + replaceNow

const replaceNow = "kubectl patch memcached cache -n shop --type=merge " + `-p '{"spec":{"replacedAt":"'$(date -u +%FT%TZ)'"}}'`

// hadProblem adds to the last status that a problem had stopped a change.
func hadProblem(mc *cachev1alpha1.Memcached) { mc.Status.Conditions[0].Message = stoppedByProblem }

// TestNodesOfStatefulSetsAreSortedByNumber has more than ten nodes: by name, cache-10 would come before cache-2.
func TestNodesOfStatefulSetsAreSortedByNumber(t *testing.T) {
	mc, pods := memcachedtest.Cache(12, inStatefulSet), setPods(12)
	slices.Reverse(pods)
	observed := memcached.Observed{Children: []client.Object{makeStatefulSet(t, mc, setCounts(12, 12))}, Pods: pods}
	nodes := statusOf(mc, observed, memcached.Written{}, noon).Nodes
	for i, node := range nodes {
		if node != fmt.Sprintf("cache-%d", i) {
			t.Fatalf("%v", nodes)
		}
	}
}

// TestRequeueAfter expects another computation when a silent node becomes a problem, and when a change exceeds a deadline that Kubernetes
// does not watch.
func TestRequeueAfter(t *testing.T) {
	set := memcachedtest.Cache(3, inStatefulSet)
	of := func(ready int32, changes ...func(*corev1.Pod)) memcached.Observed {
		return memcached.Observed{Children: []client.Object{makeStatefulSet(t, set, setCounts(3, ready))}, Pods: append(setPods(2), setPod(2, changes...))}
	}
	onDeployment := memcached.Observed{Children: []client.Object{makeDeployment(t, memcachedtest.Cache(3))}}
	atRest := memcachedtest.Cache(3, inStatefulSet, reported("AsExpected", time.Hour))
	for name, c := range map[string]struct {
		mc       *cachev1alpha1.Memcached
		observed memcached.Observed
		want     time.Duration
	}{
		"a StatefulSet is created":         {set, of(2, notReady), 10 * time.Minute},
		"a StatefulSet rests":              {set, of(3), 0},
		"a Deployment is created":          {memcachedtest.Cache(3), onDeployment, 0},
		"a node has just become silent":    {atRest, of(2, silent(-60, -60, -3)), 7 * time.Second},
		"a node has started and is silent": {atRest, of(2, silent(-20, -21, -21)), 40 * time.Second},
		"a node has been silent for long":  {atRest, of(2, silent(-60, -60, -10)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			status := statusOf(c.mc, c.observed, memcached.Written{}, noon)
			if got := RequeueAfter(memcached.NewView(c.mc, c.observed, noon), status); got != c.want {
				t.Errorf("in %s", got)
			}
		})
	}
}

// TestItemsLeft covers caches with and without copies, and one in which a node lacks items.
func TestItemsLeft(t *testing.T) {
	for _, test := range []struct {
		workloads int
		problem   *memcached.Problem
		items     string
	}{
		{2, nil, "while their copies keep the items"},
		{2, &memcached.Problem{}, "without their items"},
		{1, nil, "without their items"},
	} {
		f := &facts{View: memcached.View{Workloads: make([]*memcached.Workload, test.workloads)}}
		f.plan.Fills.Problem = test.problem
		if items := f.itemsLeft(); items != test.items {
			t.Error(items, test.workloads)
		}
	}
}
