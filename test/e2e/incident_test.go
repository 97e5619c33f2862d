// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// incidentNodes and incidentKeys are the size of a cache before something goes wrong, and what it holds.
	incidentNodes = 3
	incidentKeys  = 300
	// longestRecovery is how long a Memcached may take to recover from what is mended.
	longestRecovery = time.Minute
)

// incident is something that goes wrong with a cache. Beside it, in the same namespace, is a neighbor that nobody changes.
type incident struct {
	title, namespace string
	cache            *cachev1alpha1.Memcached
	readiness        *readiness
	// client and ring know the nodes from before.
	client *traffic.Client
	ring   *traffic.Ring

	// The rest is what must stay as it is: the neighbor, its children, pods and traffic, and the pods of the operator.
	neighbor  *cachev1alpha1.Memcached
	children  []child
	pods      []string
	traffic   *steadyTraffic
	operators []string

	// told is how long it took until the condition was there, recovered how long until the cache was Ready again. Fewest is
	// how many nodes were ready at least, -1 if there was no cache.
	told, recovered time.Duration
	fewest          int
	condition       metav1.Condition
}

// newIncident makes the neighbor, and what else is needed: the cache as a rule.
func newIncident(ctx context.Context, more ...func(*incident)) *incident {
	GinkgoHelper()
	i := &incident{title: CurrentSpecReport().LeafNodeText, namespace: newNamespace(ctx), fewest: -1}
	i.neighbor = createMemcached(ctx, i.namespace, 1, func(mc *cachev1alpha1.Memcached) { mc.Name = "neighbor" })
	for _, add := range more {
		add(i)
	}
	untilReady(ctx, i.neighbor)
	i.children, i.pods = childrenOf(ctx, i.neighbor), livesOf(ctx, i.neighbor)
	i.traffic = startTraffic(ctx, serversOf(ctx, i.neighbor))
	i.operators = operatorLives(ctx)
	return i
}

// newIncidentInCache makes a cache that is Ready and holds keys, too.
func newIncidentInCache(ctx context.Context) *incident {
	GinkgoHelper()
	i := newIncident(ctx, func(i *incident) { i.cache = createMemcached(ctx, i.namespace, incidentNodes) })
	untilReady(ctx, i.cache)
	servers := serversOf(ctx, i.cache)
	var err error
	i.ring, err = traffic.NewRing(servers...)
	Expect(err).NotTo(HaveOccurred())
	i.client = newClient(servers)
	Expect(i.client.Write(ctx, incidentKeys, 100)).To(Succeed())
	i.readiness = followReadiness(ctx, i.cache)
	return i
}

// happens does what goes wrong, and returns when a condition has a reason and says something of it.
func (i *incident) happens(ctx context.Context, what func(), reason string, says ...string) {
	GinkgoHelper()
	began := time.Now()
	what()
	Eventually(ctx, func(g Gomega) {
		i.condition = i.conditionNow(ctx, g, cachev1alpha1.ConditionDegraded)
		g.Expect(i.condition.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(i.condition.Reason).To(Equal(reason), i.condition.Message)
	}).WithPolling(50 * time.Millisecond).Should(Succeed())
	i.told = time.Since(began)

	By("telling it to people, scripts and dashboards")
	for _, words := range says {
		Expect(i.condition.Message).To(ContainSubstring(words))
	}
	kubectl(ctx, "wait", "--namespace", i.namespace, "memc/"+i.cache.Name, "--for=condition=Degraded", "--timeout=10s")
	Eventually(ctx, func(g Gomega) {
		ready := i.conditionNow(ctx, g, cachev1alpha1.ConditionReady)
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(ready.Reason).To(Equal(reason), ready.Message)
	}).Should(Succeed())
	i.untilEvent(ctx, "Warning", reason, says...)
}

// mustServe fails unless the cache is Available, so many nodes have been ready all the time, and those that were there
// before hold their keys.
func (i *incident) mustServe(ctx context.Context, nodes int) {
	GinkgoHelper()
	available := i.conditionNow(ctx, Default, cachev1alpha1.ConditionAvailable)
	Expect(available.Status).To(Equal(metav1.ConditionTrue), available.Message)
	i.fewest = i.readiness.fewest()
	Expect(i.fewest).To(BeNumerically(">=", nodes), "of %d nodes, the least that were ready", incidentNodes)
	stayed := map[string]bool{}
	for _, pod := range podsOf(ctx, i.cache) {
		stayed[pod.Name] = isReady(&pod)
	}
	kept := 0
	for number := range incidentKeys {
		if stayed[i.ring.Owner(traffic.Key(number+1)).Name] {
			kept++
		}
	}
	Expect(kept).To(BeNumerically(">", 0), "keys of nodes that have stayed")
	hits, err := i.client.Read(ctx, incidentKeys)
	Expect(err).NotTo(HaveOccurred())
	// A node that leaves serves for a while, so there may be more.
	Expect(hits.Hits).To(BeNumerically(">=", kept), "%+v", hits)
}

// endsWith does what mends it, and returns when the cache is Ready again. Nothing else may have been disturbed meanwhile.
func (i *incident) endsWith(ctx context.Context, fix func()) {
	GinkgoHelper()
	began := time.Now()
	fix()
	untilReady(ctx, i.cache)
	i.recovered = time.Since(began)
	Expect(i.recovered).To(BeNumerically("<", longestRecovery))
	degraded := i.conditionNow(ctx, Default, cachev1alpha1.ConditionDegraded)
	Expect(degraded.Status).To(Equal(metav1.ConditionFalse), degraded.Message)
	i.untilEvent(ctx, "Normal", "Recovered")

	By("having left everything else alone")
	i.traffic.mustBeServed()
	Expect(childrenOf(ctx, i.neighbor)).To(Equal(i.children))
	Expect(livesOf(ctx, i.neighbor)).To(Equal(i.pods))
	Expect(operatorLives(ctx)).To(Equal(i.operators), "the operator must not need a restart")
}

// conditionNow returns a condition of the cache if it describes the latest spec.
func (i *incident) conditionNow(ctx context.Context, g Gomega, name string) metav1.Condition {
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(i.cache), i.cache)).To(Succeed())
	condition := apimeta.FindStatusCondition(i.cache.Status.Conditions, name)
	g.Expect(condition).NotTo(BeNil())
	g.Expect(condition.ObservedGeneration).To(Equal(i.cache.Generation))
	return *condition
}

// untilEvent waits for an event about the cache that says something.
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

// untilRefused waits until the API server refuses an object, which is tried only.
func (i *incident) untilRefused(ctx context.Context, object client.Object, because string) {
	GinkgoHelper()
	object.SetNamespace(i.namespace)
	object.SetName("trial")
	Eventually(ctx, func() error {
		return k8s.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}).Should(MatchError(ContainSubstring(because)))
}

// operatorLives returns what a restarted or replaced operator has not in common with the one before.
func operatorLives(ctx context.Context) []string {
	GinkgoHelper()
	var lives []string
	for _, pod := range operatorPods(ctx, Default) {
		lives = append(lives, fmt.Sprint(pod.Name, " ", pod.UID, " ", restartsOf(&pod)))
	}
	return lives
}

// row is the incident in a table. What has not been reached is empty.
func (i *incident) row() []string {
	fewest := "-"
	if i.fewest >= 0 {
		fewest = fmt.Sprintf("%d of %d", i.fewest, incidentNodes)
	}
	return []string{i.title, seconds(i.told), seconds(i.recovered), fewest, i.condition.Reason, i.condition.Message}
}
