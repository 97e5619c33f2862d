// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// NewNamespace creates a namespace for a story, in which Pod Security admits only restricted pods.
func (c *Cluster) NewNamespace(ctx context.Context) string {
	GinkgoHelper()
	return c.NewNamespaceAt(ctx, "restricted")
}

// NewNamespaceAt creates a namespace with another level of Pod Security. The namespace is deleted at the end of the spec or of the
// container that called this function. If a spec has failed, the diagnostics run first.
func (c *Cluster) NewNamespaceAt(ctx context.Context, level string) string {
	GinkgoHelper()
	return c.createNamespace(ctx, metav1.ObjectMeta{GenerateName: "story-"}, level)
}

// NewNamespaceNamed creates a namespace with a name, for figures that depend on the name. Only one container may use it.
func (c *Cluster) NewNamespaceNamed(ctx context.Context, name string) string {
	GinkgoHelper()
	return c.createNamespace(ctx, metav1.ObjectMeta{Name: name}, "restricted")
}

func (c *Cluster) createNamespace(ctx context.Context, metadata metav1.ObjectMeta, level string) string {
	GinkgoHelper()
	metadata.Labels = map[string]string{"pod-security.kubernetes.io/enforce": level}
	namespace := &corev1.Namespace{ObjectMeta: metadata}
	Expect(c.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // Ginkgo gives the cleanup its own
		c.Report(ctx, namespace.Name)
		Expect(c.Delete(ctx, namespace)).To(Succeed())
	})
	return namespace.Name
}

// Edit changes a Memcached before it is created.
type Edit func(*cachev1alpha1.Memcached)

// Named gives a Memcached another name than cache.
func Named(name string) Edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Name = name }
}

// RunBy makes a Kind of workload run the nodes.
func RunBy(workload cachev1alpha1.WorkloadKind) Edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = workload }
}

// CreateMemcached creates a Memcached of this size, called cache, and does not wait.
func (c *Cluster) CreateMemcached(ctx context.Context, namespace string, size int32, edits ...Edit) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, edit := range edits {
		edit(mc)
	}
	Expect(c.Create(ctx, mc)).To(Succeed())
	return mc
}

// NewMemcached creates a Memcached and waits until it is Ready.
func (c *Cluster) NewMemcached(ctx context.Context, namespace string, size int32, edits ...Edit) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := c.CreateMemcached(ctx, namespace, size, edits...)
	c.UntilReady(ctx, mc)
	return mc
}

// Change patches an object with what edit changes, and leaves everything else as it is in the cluster.
func (c *Cluster) Change(ctx context.Context, object client.Object, edit func()) {
	GinkgoHelper()
	before := object.DeepCopyObject().(client.Object)
	edit()
	Expect(c.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

// Reread reads an object again.
func (c *Cluster) Reread(ctx context.Context, object client.Object) error {
	return c.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// Object returns a function that rereads an object, for Eventually.
func (c *Cluster) Object(object client.Object) func(context.Context) (client.Object, error) {
	return func(ctx context.Context) (client.Object, error) { return object, c.Reread(ctx, object) }
}

// Condition rereads a Memcached and returns a condition, which must describe the latest spec.
func (c *Cluster) Condition(ctx context.Context, g Gomega, mc *cachev1alpha1.Memcached, name string) metav1.Condition {
	g.Expect(c.Reread(ctx, mc)).To(Succeed())
	condition := apimeta.FindStatusCondition(mc.Status.Conditions, name)
	g.Expect(condition).NotTo(BeNil(), "condition %s of %s", name, mc.Name)
	g.Expect(condition.ObservedGeneration).To(Equal(mc.Generation), "the generation that %s of %s describes", name, mc.Name)
	return *condition
}

// UntilCondition rereads a Memcached until a condition describes the latest spec and matches.
func (c *Cluster) UntilCondition(ctx context.Context, mc *cachev1alpha1.Memcached, name string, match types.GomegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Condition(ctx, g, mc, name)).To(match, "condition of %s", mc.Name)
	}).Should(Succeed())
}

// UntilReady rereads a Memcached until it is Ready with the latest spec.
func (c *Cluster) UntilReady(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	c.UntilCondition(ctx, mc, cachev1alpha1.ConditionReady, HaveField("Status", metav1.ConditionTrue))
}

// UntilReason rereads a Memcached until a condition has a reason with the latest spec.
func (c *Cluster) UntilReason(ctx context.Context, mc *cachev1alpha1.Memcached, name, reason string) {
	GinkgoHelper()
	c.UntilCondition(ctx, mc, name, HaveField("Reason", reason))
}

// Pods returns the pods of a Memcached that are not terminating, sorted by name.
func (c *Cluster) Pods(ctx context.Context, mc *cachev1alpha1.Memcached) []corev1.Pod {
	GinkgoHelper()
	return slices.DeleteFunc(c.allPods(ctx, mc), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

func (c *Cluster) allPods(ctx context.Context, mc *cachev1alpha1.Memcached) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(c.List(ctx, &pods, PodsOf(mc)...)).To(Succeed())
	return pods.Items
}

// PodsOf selects the pods of a Memcached.
func PodsOf(mc *cachev1alpha1.Memcached) []client.ListOption {
	return []client.ListOption{client.InNamespace(mc.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": mc.Name,
	}}
}

// OperatorPods returns the pods of the operator in a namespace.
func (c *Cluster) OperatorPods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"control-plane": "controller-manager"})
	return pods.Items, err
}

// Ready reports whether a pod is ready.
func Ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// Incarnation is one run of the containers of a pod. Everything in memory ends with it.
type Incarnation struct {
	Pod      apitypes.UID
	Restarts int32
}

// Incarnations returns the incarnations of pods by name.
func Incarnations(pods []corev1.Pod) map[string]Incarnation {
	incarnations := map[string]Incarnation{}
	for i := range pods {
		incarnations[pods[i].Name] = Incarnation{pods[i].UID, Restarts(&pods[i])}
	}
	return incarnations
}

// Restarts returns how often the containers of a pod have restarted.
func Restarts(pod *corev1.Pod) int32 {
	var restarts int32
	for _, container := range pod.Status.ContainerStatuses {
		restarts += container.RestartCount
	}
	return restarts
}

// Incarnations returns the incarnations of all pods of a Memcached, terminating ones included.
func (c *Cluster) Incarnations(ctx context.Context, mc *cachev1alpha1.Memcached) map[string]Incarnation {
	GinkgoHelper()
	return Incarnations(c.allPods(ctx, mc))
}
