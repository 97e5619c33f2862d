// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// bystander is a Memcached that nobody changes and that clients use: whatever a story does, nothing may happen to it.
type bystander struct {
	mc *cachev1alpha1.Memcached
	// since is when the watch over it began. The rest is its state at that time.
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

// mustBeUntouched fails unless every client was served and the Memcached is as it was.
func (b *bystander) mustBeUntouched(ctx context.Context) {
	GinkgoHelper()
	b.traffic.mustBeServed()
	Expect(childrenOf(ctx, b.mc)).To(Equal(b.children))
	Expect(k8s.Incarnations(ctx, b.mc)).To(Equal(b.pods), "pods and restarts")
}

// fixture is a bystander, beside another Memcached that a user changes to see whether an operator works.
type fixture struct {
	*bystander

	namespace    string
	cache, other *cachev1alpha1.Memcached
}

// newFixture creates both Memcacheds in a namespace of their own.
func newFixture(ctx context.Context) *fixture {
	GinkgoHelper()
	f := &fixture{namespace: k8s.NewNamespace(ctx)}
	f.cache = k8s.NewMemcached(ctx, f.namespace, 3)
	f.other = k8s.NewMemcached(ctx, f.namespace, 1, clustertest.Named("other"))
	return f
}

// begin records the state of the cache and starts to use it.
func (f *fixture) begin(ctx context.Context) {
	GinkgoHelper()
	f.bystander = watchOver(ctx, f.cache)
}

// userScalesOther changes the size of the other Memcached, from 1 to 2 to 3 to 1, and returns when its Deployment followed.
func (f *fixture) userScalesOther(ctx context.Context) time.Time {
	GinkgoHelper()
	k8s.Change(ctx, f.other, func() { f.other.Spec.Size = f.other.Spec.Size%3 + 1 })
	Eventually(ctx, func(g Gomega) {
		var deployment appsv1.Deployment
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(f.other), &deployment)).To(Succeed())
		g.Expect(*deployment.Spec.Replicas).To(Equal(f.other.Spec.Size))
	}).WithPolling(20 * time.Millisecond).Should(Succeed())
	return time.Now()
}

// mustBeUntouched also fails if the operator has sent a write to the cache, even one that changed nothing.
func (f *fixture) mustBeUntouched(ctx context.Context) {
	GinkgoHelper()
	f.bystander.mustBeUntouched(ctx)
	for event := range requestsOf(operatorUser(operatorNamespace), f.since) {
		if isWrite(event) && resourceOf(event) != "" {
			Expect(event.ObjectRef.Namespace+"/"+event.ObjectRef.Name).NotTo(Equal(f.namespace+"/"+f.cache.Name),
				"%s %s", event.Verb, event.RequestURI)
		}
	}
}

// child is what differs in an object that the operator manages after any write.
type child struct {
	kind, uid string
	// generation counts the changes of the spec.
	generation int64
	// applied is the time of the operator's last change.
	applied time.Time
}

// childrenOf returns the objects that the operator manages for a Memcached.
func childrenOf(ctx context.Context, mc *cachev1alpha1.Memcached) []child {
	GinkgoHelper()
	var children []child
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}} {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), object)).To(Succeed())
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

// scaleOperator changes the number of operators until the spec ends.
func scaleOperator(ctx context.Context, replicas int) {
	GinkgoHelper()
	scale := func(ctx context.Context, replicas int) {
		GinkgoHelper()
		k8s.Kubectl(ctx, "--namespace", operatorNamespace, "scale", "deployment", operatorDeployment, fmt.Sprint("--replicas=", replicas))
		untilOperators(ctx, replicas)
	}
	scale(ctx, replicas)
	DeferCleanup(func(ctx SpecContext) { scale(ctx, 1) })
}

// replaceOperator starts the operator in a new pod: the old one may have to wait for ever longer before it restarts.
func replaceOperator(ctx context.Context) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "--namespace", operatorNamespace, "delete", "pod", "--selector", "control-plane=controller-manager")
	untilOperators(ctx, 1)
}

// untilOperators waits until exactly so many operators exist, and each is ready and runs.
func untilOperators(ctx context.Context, replicas int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := operatorPods(ctx, g)
		g.Expect(pods).To(HaveLen(replicas))
		for i := range pods {
			g.Expect(clustertest.Ready(&pods[i])).To(BeTrue(), "pod %s must be ready", pods[i].Name)
			if clusterDir != "" {
				// The status says ready until Kubernetes notices the end of the container.
				g.Expect(managersOf(&pods[i])).To(HaveLen(1), "processes in pod %s", pods[i].Name)
			}
		}
	}).Should(Succeed())
}

func operatorPods(ctx context.Context, g Gomega) []corev1.Pod {
	pods, err := k8s.OperatorPods(ctx, operatorNamespace)
	g.Expect(err).NotTo(HaveOccurred())
	return pods
}

// leader returns the pod of the operator that holds the lease.
func leader(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(ctx, func(g Gomega) {
		lease := coordinationv1.Lease{}
		lease.Namespace, lease.Name = operatorNamespace, "memcached-operator.cache.example.com"
		g.Expect(k8s.Reread(ctx, &lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
		holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: holder}, &pod)).To(Succeed())
	}).Should(Succeed())
	return &pod
}

// managerOf returns the process of the operator in a pod.
func managerOf(pod *corev1.Pod) process {
	GinkgoHelper()
	return theOne(managersOf(pod), "processes of the operator in pod "+pod.Name)
}

// writesOf returns the writes of a pod of the operator in a namespace since a time.
func writesOf(pod *corev1.Pod, namespace string, since time.Time) []string {
	GinkgoHelper()
	var writes []string
	for event := range requestsOf(operatorUser(operatorNamespace), since) {
		if podOf(event) == pod.Name && isWrite(event) && event.ObjectRef != nil && event.ObjectRef.Namespace == namespace {
			writes = append(writes, event.Verb+" "+event.RequestURI)
		}
	}
	return writes
}
