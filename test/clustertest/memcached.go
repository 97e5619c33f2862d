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

// NewNamespace is like NewNamespaceAt, with the level "restricted".
func (c *Cluster) NewNamespace(ctx context.Context) string {
	GinkgoHelper()
	return c.NewNamespaceAt(ctx, "restricted")
}

// NewNamespaceAt creates a namespace that enforces this level of Pod Security, and returns its name. At the end of the calling spec
// or Ginkgo container, Report runs and then the namespace is deleted.
func (c *Cluster) NewNamespaceAt(ctx context.Context, level string) string {
	GinkgoHelper()
	return c.createNamespace(ctx, metav1.ObjectMeta{GenerateName: "story-"}, level)
}

// NewNamespaceNamed is like NewNamespace, but the name is fixed, for results that depend on the name. Only one Ginkgo container may
// use a name.
func (c *Cluster) NewNamespaceNamed(ctx context.Context, name string) string {
	GinkgoHelper()
	return c.createNamespace(ctx, metav1.ObjectMeta{Name: name}, "restricted")
}

func (c *Cluster) createNamespace(ctx context.Context, metadata metav1.ObjectMeta, level string) string {
	GinkgoHelper()
	metadata.Labels = map[string]string{"pod-security.kubernetes.io/enforce": level}
	namespace := &corev1.Namespace{ObjectMeta: metadata}
	Expect(c.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // Ginkgo gives the cleanup its own context
		c.Report(ctx, namespace.Name)
		Expect(c.Delete(ctx, namespace)).To(Succeed())
	})
	return namespace.Name
}

// Edit changes a Memcached before it is created.
type Edit func(*cachev1alpha1.Memcached)

// Named sets the name, which otherwise is "cache".
func Named(name string) Edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Name = name }
}

// RunBy sets spec.workload, the kind of workload that runs the nodes.
func RunBy(workload cachev1alpha1.WorkloadKind) Edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = workload }
}

// CreateMemcached creates a Memcached with the name "cache" and this size, as changed by the edits. It does not wait until the
// Memcached is Ready.
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

// NewMemcached calls CreateMemcached and waits until the Memcached is Ready.
func (c *Cluster) NewMemcached(ctx context.Context, namespace string, size int32, edits ...Edit) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := c.CreateMemcached(ctx, namespace, size, edits...)
	c.UntilReady(ctx, mc)
	return mc
}

// Change calls edit, which changes the object, and patches only the changed fields in the cluster.
func (c *Cluster) Change(ctx context.Context, object client.Object, edit func()) {
	GinkgoHelper()
	before := object.DeepCopyObject().(client.Object)
	edit()
	Expect(c.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

// Reread reads the object from the cluster again.
func (c *Cluster) Reread(ctx context.Context, object client.Object) error {
	return c.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// Object returns a function that rereads an object, for Eventually.
func (c *Cluster) Object(object client.Object) func(context.Context) (client.Object, error) {
	return func(ctx context.Context) (client.Object, error) { return object, c.Reread(ctx, object) }
}

// Condition rereads a Memcached and returns the condition with this name. The condition must exist, and its observedGeneration must
// be current.
func (c *Cluster) Condition(ctx context.Context, g Gomega, mc *cachev1alpha1.Memcached, name string) metav1.Condition {
	g.Expect(c.Reread(ctx, mc)).To(Succeed())
	condition := apimeta.FindStatusCondition(mc.Status.Conditions, name)
	g.Expect(condition).NotTo(BeNil(), "condition %s of %s", name, mc.Name)
	g.Expect(condition.ObservedGeneration).To(Equal(mc.Generation), "the generation that %s of %s describes", name, mc.Name)
	return *condition
}

// UntilCondition rereads a Memcached until the condition with this name has the current observedGeneration and matches.
func (c *Cluster) UntilCondition(ctx context.Context, mc *cachev1alpha1.Memcached, name string, match types.GomegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Condition(ctx, g, mc, name)).To(match, "condition of %s", mc.Name)
	}).Should(Succeed())
}

// UntilReady rereads a Memcached until Ready is True for the current generation.
func (c *Cluster) UntilReady(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	c.UntilCondition(ctx, mc, cachev1alpha1.ConditionReady, HaveField("Status", metav1.ConditionTrue))
}

// UntilReason rereads a Memcached until the condition with this name has this reason for the current generation.
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

// PodsOf returns list options that select the pods of a Memcached.
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

// Incarnation identifies one run of the containers of a pod: it changes when the pod is replaced or a container restarts. It ignores
// restarts of init containers, such as the agent.
type Incarnation struct {
	Pod      apitypes.UID
	Restarts int32
}

// Incarnations returns the incarnation of each pod by the name of the pod.
func Incarnations(pods []corev1.Pod) map[string]Incarnation {
	incarnations := map[string]Incarnation{}
	for i := range pods {
		incarnations[pods[i].Name] = Incarnation{pods[i].UID, Restarts(&pods[i])}
	}
	return incarnations
}

// Restarts returns how often the containers of a pod have restarted, without its init containers.
func Restarts(pod *corev1.Pod) int32 {
	var restarts int32
	for _, container := range pod.Status.ContainerStatuses {
		restarts += container.RestartCount
	}
	return restarts
}

// Incarnations returns the incarnation of each pod of a Memcached, terminating pods included, by the name of the pod.
func (c *Cluster) Incarnations(ctx context.Context, mc *cachev1alpha1.Memcached) map[string]Incarnation {
	GinkgoHelper()
	return Incarnations(c.allPods(ctx, mc))
}
