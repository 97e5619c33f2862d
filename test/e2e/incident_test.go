// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// incidentNodes and incidentKeys are how many nodes and keys a cache has before its failure.
	incidentNodes = 3
	incidentKeys  = 300
	// longestRecovery is how long a Memcached may take to be Ready after its failure is fixed.
	longestRecovery = time.Minute
)

// incident is a failure of a cache. The namespace of the cache also has a neighbor: a Memcached that nobody changes.
type incident struct {
	namespace string
	cache     *cachev1alpha1.Memcached
	readiness *readiness
	// client and ring know the servers from before the failure. pods has the UID and the restarts of each pod from before
	// the failure.
	client *traffic.Client
	ring   *traffic.Ring
	pods   map[string]clustertest.Incarnation

	// The neighbor and the pods of the operator must stay as they are.
	neighbor  *bystander
	operators map[string]clustertest.Incarnation
}

// newIncident creates a namespace with the neighbor and the cache, waits until both are Ready, and stores keys.
func newIncident(ctx context.Context, edits ...clustertest.Edit) *incident {
	GinkgoHelper()
	i := &incident{namespace: k8s.NewNamespace(ctx)}
	neighbor := k8s.CreateMemcached(ctx, i.namespace, 1, clustertest.Named("neighbor"))
	i.cache = k8s.NewMemcached(ctx, i.namespace, incidentNodes, edits...)
	i.neighbor = watchOver(ctx, neighbor)
	i.operators = clustertest.Incarnations(operatorPods(ctx, Default))
	i.pods = k8s.Incarnations(ctx, i.cache)
	servers := k8s.Servers(ctx, i.cache)
	i.ring = clustertest.Must(traffic.NewRing(servers...))
	i.client = k8s.NewClientOf(servers...)
	Expect(i.client.Write(ctx, incidentKeys, 100)).To(Succeed())
	i.readiness = followReadiness(ctx, i.cache)
	return i
}

// passes causes a failure and fixes it. The operator must report the failure with this reason and with all texts in says. At least this
// number of nodes must always be ready.
func (i *incident) passes(ctx context.Context, nodes int, failure, fix func(), reason string, says ...string) {
	GinkgoHelper()
	i.happens(ctx, failure, reason, says...)
	i.mustServe(ctx, nodes)
	i.endsWith(ctx, fix)
	i.mustServe(ctx, nodes)
}

// happens causes the failure. It waits until the condition Degraded, the condition Ready and an event have the reason. The messages of
// Degraded and of the event must contain all texts in says.
func (i *incident) happens(ctx context.Context, what func(), reason string, says ...string) {
	GinkgoHelper()
	what()
	var degraded metav1.Condition
	Eventually(ctx, func(g Gomega) {
		degraded = k8s.Condition(ctx, g, i.cache, cachev1alpha1.ConditionDegraded)
		g.Expect(degraded.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(degraded.Reason).To(Equal(reason), degraded.Message)
	}).WithPolling(50 * time.Millisecond).Should(Succeed())

	By("showing it to people, scripts and dashboards")
	for _, words := range says {
		Expect(degraded.Message).To(ContainSubstring(words))
	}
	k8s.Kubectl(ctx, "wait", "--namespace", i.namespace, "memc/"+i.cache.Name, "--for=condition=Degraded", "--timeout=10s")
	k8s.UntilCondition(ctx, i.cache, cachev1alpha1.ConditionReady,
		And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", reason)))
	i.untilEvent(ctx, "Warning", reason, says...)
}

// mustServe fails unless the cache is Available, at least this number of nodes was always ready, and each ready node
// from before the failure has kept its keys.
func (i *incident) mustServe(ctx context.Context, nodes int) {
	GinkgoHelper()
	available := k8s.Condition(ctx, Default, i.cache, cachev1alpha1.ConditionAvailable)
	Expect(available.Status).To(Equal(metav1.ConditionTrue), available.Message)
	Expect(i.readiness.fewest()).To(BeNumerically(">=", nodes), "of %d nodes, the least that were ready", incidentNodes)
	stayed := map[string]bool{}
	for _, pod := range k8s.Pods(ctx, i.cache) {
		stayed[pod.Name] = clustertest.Ready(&pod) && i.pods[pod.Name].Pod == pod.UID
	}
	kept := 0
	for number := range incidentKeys {
		if stayed[clustertest.PodOf(i.ring.Owner(traffic.Key(number+1)).Name)] {
			kept++
		}
	}
	Expect(kept).To(BeNumerically(">", 0), "keys of nodes that have stayed")
	hits := clustertest.Must(i.client.Read(ctx, incidentKeys))
	// A terminating node still serves for a while, so there may be more hits.
	Expect(hits.Hits).To(BeNumerically(">=", kept), "%+v", hits)
}

// endsWith fixes the failure, and waits until the cache is Ready again. The neighbor and the operator must be undisturbed.
func (i *incident) endsWith(ctx context.Context, fix func()) {
	GinkgoHelper()
	began := time.Now()
	fix()
	k8s.UntilReady(ctx, i.cache)
	Expect(time.Since(began)).To(BeNumerically("<", longestRecovery))
	degraded := k8s.Condition(ctx, Default, i.cache, cachev1alpha1.ConditionDegraded)
	Expect(degraded.Status).To(Equal(metav1.ConditionFalse), degraded.Message)
	i.untilEvent(ctx, "Normal", "Recovered")

	By("having left everything else alone")
	i.neighbor.mustBeUntouched(ctx)
	Expect(clustertest.Incarnations(operatorPods(ctx, Default))).To(Equal(i.operators), "the operator must not need a restart")
}

// untilEvent waits for an event about the cache with this reason. kind is the event's type. Its note must contain all texts in says.
func (i *incident) untilEvent(ctx context.Context, kind, reason string, says ...string) {
	GinkgoHelper()
	notes := []types.GomegaMatcher{Not(BeEmpty())}
	for _, words := range says {
		notes = append(notes, ContainSubstring(words))
	}
	Eventually(ctx, func(g Gomega) {
		var events eventsv1.EventList
		g.Expect(k8s.List(ctx, &events, client.InNamespace(i.namespace))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("Regarding.UID", i.cache.UID), HaveField("Type", kind), HaveField("Reason", reason), HaveField("Note", And(notes...)),
		)))
	}).Should(Succeed())
}

// readiness counts the nodes of a Memcached that are ready and not terminating. Because it watches the pods, it misses no change.
type readiness struct {
	mutex  sync.Mutex
	ready  map[apitypes.UID]bool
	least  int
	broken error
}

// followReadiness counts the ready nodes of a Memcached until the spec ends.
func followReadiness(ctx context.Context, mc *cachev1alpha1.Memcached) *readiness {
	GinkgoHelper()
	r := &readiness{ready: map[apitypes.UID]bool{}}
	nodes := clustertest.PodsOf(mc)
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, nodes...)).To(Succeed())
	for i := range pods.Items {
		r.note(watch.Added, &pods.Items[i])
	}
	r.least = len(r.ready)
	// The watch starts at the version of the list, so that it misses no change after the list.
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: pods.ResourceVersion}}
	changes := clustertest.Must(k8s.Watch(context.WithoutCancel(ctx), &corev1.PodList{}, append(nodes, since)...))
	DeferCleanup(changes.Stop)
	go r.follow(changes.ResultChan())
	return r
}

func (r *readiness) follow(changes <-chan watch.Event) {
	for change := range changes {
		if pod, ok := change.Object.(*corev1.Pod); ok {
			r.note(change.Type, pod)
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.broken = errors.New("the watch of the pods has ended")
}

func (r *readiness) note(change watch.EventType, pod *corev1.Pod) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if change != watch.Deleted && pod.DeletionTimestamp == nil && clustertest.Ready(pod) {
		r.ready[pod.UID] = true
	} else {
		delete(r.ready, pod.UID)
	}
	r.least = min(r.least, len(r.ready))
}

// fewest returns the smallest number of nodes that were ready at the same time so far.
func (r *readiness) fewest() int {
	GinkgoHelper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	Expect(r.broken).NotTo(HaveOccurred())
	return r.least
}
