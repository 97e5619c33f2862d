// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// bystander is a Memcached that clients use and nobody changes. Nothing in a test may affect it.
type bystander struct {
	mc *cachev1alpha1.Memcached
	// since is when watchOver recorded the state of the Memcached: children and pods.
	since    time.Time
	children []child
	pods     map[string]clustertest.Incarnation
	traffic  *steadyTraffic
}

// watchOver waits until a Memcached is Ready, records its state and starts to use it.
func watchOver(ctx context.Context, mc *cachev1alpha1.Memcached) *bystander {
	GinkgoHelper()
	k8s.UntilReady(ctx, mc)
	return &bystander{
		mc: mc, since: time.Now(), children: childrenOf(ctx, mc), pods: k8s.Incarnations(ctx, mc),
		traffic: startTraffic(ctx, mc),
	}
}

// mustBeUntouched fails unless every request was served, and the children and pods are as watchOver recorded them.
func (b *bystander) mustBeUntouched(ctx context.Context) {
	GinkgoHelper()
	b.traffic.mustBeServed()
	Expect(childrenOf(ctx, b.mc)).To(Equal(b.children))
	Expect(k8s.Incarnations(ctx, b.mc)).To(Equal(b.pods), "pods and restarts")
}

// fixture has two Memcacheds. The field cache is the bystander. Changes of the field other show whether an operator works.
type fixture struct {
	*bystander

	namespace    string
	cache, other *cachev1alpha1.Memcached
}

func newFixture(ctx context.Context) *fixture {
	GinkgoHelper()
	f := &fixture{namespace: k8s.NewNamespace(ctx)}
	f.cache = k8s.NewMemcached(ctx, f.namespace, 3)
	f.other = k8s.NewMemcached(ctx, f.namespace, 1, clustertest.Named("other"))
	return f
}

func (f *fixture) begin(ctx context.Context) {
	GinkgoHelper()
	f.bystander = watchOver(ctx, f.cache)
}

// userScalesOther changes the size of the other Memcached: from 1 to 2, from 2 to 3, or from 3 to 1. It waits until
// the Deployment has followed, and returns that time.
func (f *fixture) userScalesOther(ctx context.Context) time.Time {
	GinkgoHelper()
	k8s.Change(ctx, f.other, func() { f.other.Spec.Size = f.other.Spec.Size%3 + 1 })
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.other.Name}}
	Eventually(ctx, k8s.Object(deployment)).WithPolling(20 * time.Millisecond).
		Should(HaveField("Spec.Replicas", HaveValue(Equal(f.other.Spec.Size))))
	return time.Now()
}

// mustBeUntouched calls bystander.mustBeUntouched. It also fails if the operator has sent a write request for an object whose name
// begins with that of the cache, even if the request changed nothing.
func (f *fixture) mustBeUntouched(ctx context.Context) {
	GinkgoHelper()
	f.bystander.mustBeUntouched(ctx)
	for event := range requestsOf(operatorUser(operatorNamespace), f.since) {
		if isWrite(event) && event.ObjectRef != nil {
			Expect(event.ObjectRef.Namespace+"/"+event.ObjectRef.Name).NotTo(HavePrefix(f.namespace+"/"+f.cache.Name),
				"%s %s", event.Verb, event.RequestURI)
		}
	}
}

// child is the state of an object that the operator manages. Every change and recreation of the object changes this state.
type child struct {
	kind, uid string
	// generation counts the changes of the spec.
	generation int64
	// applied is the time of the operator's last change.
	applied time.Time
}

func workloadOf(mc *cachev1alpha1.Memcached) client.Object {
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		return &appsv1.StatefulSet{}
	}
	return &appsv1.Deployment{}
}

// objectsOf returns the objects that the operator manages for every Memcached with this workload. Only their names
// and namespaces are set.
func objectsOf(mc *cachev1alpha1.Memcached) []client.Object {
	nodes := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: nodesOf(mc.Name)}}
	objects := []client.Object{workloadOf(mc), nodes, &policyv1.PodDisruptionBudget{}}
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: mc.Name + "-servers"}})
	}
	for _, object := range objects {
		object.SetNamespace(mc.Namespace)
		object.SetName(cmp.Or(object.GetName(), mc.Name))
	}
	return objects
}

// nodesOf returns the name of the headless Service of the nodes of a cache with this name.
func nodesOf(name string) string { return name + "-nodes" }

// childrenOf returns the current state of the objects in objectsOf.
func childrenOf(ctx context.Context, mc *cachev1alpha1.Memcached) []child {
	GinkgoHelper()
	var children []child
	for _, object := range objectsOf(mc) {
		Expect(k8s.Reread(ctx, object)).To(Succeed())
		found := child{kind: fmt.Sprintf("%T", object), uid: string(object.GetUID()), generation: object.GetGeneration()}
		for _, fields := range object.GetManagedFields() {
			if fields.Manager == "memcached-operator" {
				found.applied = fields.Time.Time
			}
		}
		Expect(found.applied).NotTo(BeZero())
		children = append(children, found)
	}
	return children
}

const (
	// roundPeriod is how often steady traffic reads and writes its keys.
	roundPeriod = 100 * time.Millisecond
	// keysPerRound is how many keys a round uses: enough for each node to have some.
	keysPerRound = 100
)

// steadyTraffic is an application that reads the same keys from all nodes of a cache again and again, and writes.
type steadyTraffic struct {
	cache *traffic.Client
	keys  int
	// write is what each round does after its reads.
	write func(ctx context.Context) error
	stop  func()

	began   time.Time
	mutex   sync.Mutex
	rounds  int
	failure string
}

// startTraffic starts steady traffic to the nodes of a cache until the spec ends. Each round reads the keys, and writes them again.
func startTraffic(ctx context.Context, mc *cachev1alpha1.Memcached) *steadyTraffic {
	GinkgoHelper()
	t := &steadyTraffic{cache: k8s.NewClient(ctx, mc), keys: keysPerRound}
	t.write = func(ctx context.Context) error { return t.cache.Write(ctx, keysPerRound, 100) }
	Expect(t.write(ctx)).To(Succeed())
	t.start(ctx)
	return t
}

// start starts the traffic until the spec ends. The keys must exist.
func (t *steadyTraffic) start(ctx context.Context) {
	t.began = time.Now()
	t.stop = clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, roundPeriod, func() { t.round(ctx) })
	})
}

func (t *steadyTraffic) round(ctx context.Context) {
	begin := time.Now()
	hits, failure := t.cache.Read(ctx, t.keys)
	if failure == nil {
		failure = t.write(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.rounds++
	if (hits.Hits != hits.Keys || failure != nil) && t.failure == "" {
		t.failure = fmt.Sprintf("after %s: %+v, %v", begin.Sub(t.began), hits, failure)
	}
}

// firstFailure describes the first round that failed. It is empty if none has failed.
func (t *steadyTraffic) firstFailure() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.failure
}

// mustBeServed fails unless every round so far succeeded, every read was a hit, and there was more than one round per second on
// average.
func (t *steadyTraffic) mustBeServed() {
	GinkgoHelper()
	Expect(t.firstFailure()).To(BeEmpty(), "memcached must serve all the time")
	t.mutex.Lock()
	defer t.mutex.Unlock()
	Expect(t.rounds).To(BeNumerically(">", time.Since(t.began)/time.Second), "rounds, if there is one in each second")
}
