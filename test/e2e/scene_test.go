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
)

// scene is a cache in use that nobody changes, beside another one that a user changes to see whether an operator works.
type scene struct {
	namespace    string
	cache, other *cachev1alpha1.Memcached
	traffic      *steadyTraffic
	// began is since when nothing may happen to the cache. The rest is how it was then.
	began    time.Time
	children []child
	pods     []string
}

// newScene makes both Memcacheds in a namespace of their own.
func newScene(ctx context.Context) *scene {
	GinkgoHelper()
	s := &scene{namespace: newNamespace(ctx)}
	s.cache = newMemcached(ctx, s.namespace, 3)
	s.other = newMemcached(ctx, s.namespace, 1, func(mc *cachev1alpha1.Memcached) { mc.Name = "other" })
	return s
}

// begin takes down how the cache is and starts to use it.
func (s *scene) begin(ctx context.Context) {
	GinkgoHelper()
	untilReady(ctx, s.cache)
	s.began, s.children, s.pods = time.Now(), childrenOf(ctx, s.cache), livesOf(ctx, s.cache)
	s.traffic = startTraffic(ctx, serversOf(ctx, s.cache))
}

// userScalesAnother changes the size of the other Memcached, from 1 to 2 to 3 to 1, and returns when its Deployment followed.
func (s *scene) userScalesAnother(ctx context.Context) time.Time {
	GinkgoHelper()
	change(ctx, s.other, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = mc.Spec.Size%3 + 1 })
	Eventually(ctx, func(g Gomega) {
		var deployment appsv1.Deployment
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(s.other), &deployment)).To(Succeed())
		g.Expect(*deployment.Spec.Replicas).To(Equal(s.other.Spec.Size))
	}).WithPolling(20 * time.Millisecond).Should(Succeed())
	return time.Now()
}

// mustBeUntouched fails if clients were not served, or something was done to the cache.
func (s *scene) mustBeUntouched(ctx context.Context) {
	GinkgoHelper()
	s.traffic.mustBeServed()
	Expect(childrenOf(ctx, s.cache)).To(Equal(s.children))
	Expect(livesOf(ctx, s.cache)).To(Equal(s.pods))
	for event := range requestsOf(operatorUser(operatorNamespace), s.began) {
		if isWrite(event) && resourceOf(event) != "" {
			Expect(event.ObjectRef.Namespace+"/"+event.ObjectRef.Name).NotTo(Equal(s.namespace+"/"+s.cache.Name),
				"%s %s", event.Verb, event.RequestURI)
		}
	}
}

// child is what no two writes leave the same of an object that the operator manages.
type child struct {
	kind, uid string
	// generation counts the changes of the spec.
	generation int64
	// applied is when the operator has last changed something.
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

// livesOf returns what a restarted or replaced pod has not in common with the one before: its uid and its restarts.
func livesOf(ctx context.Context, mc *cachev1alpha1.Memcached) []string {
	GinkgoHelper()
	var lives []string
	for _, pod := range podsOf(ctx, mc) {
		for _, container := range pod.Status.ContainerStatuses {
			lives = append(lives, fmt.Sprint(pod.Name, " ", pod.UID, " ", container.Name, " ", container.RestartCount))
		}
	}
	return lives
}

// scaleOperator makes several operators of one, until the spec ends.
func scaleOperator(ctx context.Context, replicas int) {
	GinkgoHelper()
	scale := func(ctx context.Context, replicas int) {
		GinkgoHelper()
		kubectl(ctx, "--namespace", operatorNamespace, "scale", "deployment", operatorDeployment, fmt.Sprint("--replicas=", replicas))
		untilOperators(ctx, replicas)
	}
	scale(ctx, replicas)
	DeferCleanup(func(ctx SpecContext) { scale(ctx, 1) })
}

// replaceOperator starts the operator in a new pod: in one that has ended several times it would be restarted ever later.
func replaceOperator(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "--namespace", operatorNamespace, "delete", "pod", "--selector", "control-plane=controller-manager")
	untilOperators(ctx, 1)
}

// untilOperators waits until there are just so many operators, and each is ready and runs.
func untilOperators(ctx context.Context, replicas int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := operatorPods(ctx, g)
		g.Expect(pods).To(HaveLen(replicas))
		for i := range pods {
			g.Expect(isReady(&pods[i])).To(BeTrue(), "pod %s must be ready", pods[i].Name)
			if clusterDir != "" {
				// Kubernetes says that a container is ready until it notices that it is not any more.
				g.Expect(managersOf(&pods[i])).To(HaveLen(1), "processes in pod %s", pods[i].Name)
			}
		}
	}).Should(Succeed())
}

func operatorPods(ctx context.Context, g Gomega) []corev1.Pod {
	var pods corev1.PodList
	g.Expect(k8s.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
	return pods.Items
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// leaderOf returns the pod of the operator that holds the lease in a namespace.
func leaderOf(ctx context.Context, namespace string) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(ctx, func(g Gomega) {
		var lease coordinationv1.Lease
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "memcached-operator.cache.example.com"}, &lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
		holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: holder}, &pod)).To(Succeed())
	}).Should(Succeed())
	return &pod
}

// managerOf returns the process of the operator in a pod.
func managerOf(pod *corev1.Pod) process {
	GinkgoHelper()
	found := managersOf(pod)
	Expect(found).To(HaveLen(1), "processes of the operator in pod %s", pod.Name)
	return found[0]
}

// writesOf returns what a pod of the operator has written in a namespace since a time.
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
