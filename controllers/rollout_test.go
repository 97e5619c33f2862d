// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
)

// rollOut does the work of the workload's controller, the scheduler and the kubelet in one step. It replaces the pods by as many new
// ones as the workload asks for, and reports them as ready.
func rollOut(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		rollOutSet(ctx, mc)
		return
	}
	deployment := live(ctx, mc, &appsv1.Deployment{})
	removePods(ctx, mc)
	for i := range *deployment.Spec.Replicas {
		newPod(ctx, mc, fmt.Sprintf("%s-%d", revision(deployment), i), corev1.ConditionTrue)
	}
	report(ctx, mc, func(status *appsv1.DeploymentStatus) {
		status.Replicas, status.UpdatedReplicas = *deployment.Spec.Replicas, *deployment.Spec.Replicas
		status.ReadyReplicas, status.AvailableReplicas = *deployment.Spec.Replicas, *deployment.Spec.Replicas
		status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		}}
	})
}

func workloadOf(mc *cachev1alpha1.Memcached) client.Object {
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		return &appsv1.StatefulSet{}
	}
	return &appsv1.Deployment{}
}

// rollOutSet replaces all pods of a StatefulSet.
func rollOutSet(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		if metav1.GetControllerOf(&pod).Kind == "StatefulSet" {
			Expect(user.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
		}
	}
	observeSet(ctx, mc)
}

// observeSet does the work of the StatefulSet controller with the strategy OnDelete, and of the kubelet, for each copy: it creates missing
// pods, which are ready at once, and deletes those beyond the size.
func observeSet(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	for number := range memcached.Copies(mc) {
		observeCopy(ctx, mc, setOf(ctx, mc, number))
	}
}

// setOf returns the StatefulSet of a copy.
func setOf(ctx context.Context, mc *cachev1alpha1.Memcached, number int) *appsv1.StatefulSet {
	GinkgoHelper()
	set := &appsv1.StatefulSet{}
	Expect(user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: memcached.CopyName(mc, number)}, set)).To(Succeed())
	return set
}

// revisionOf returns the name of the revision with the pod template of a StatefulSet.
func revisionOf(set *appsv1.StatefulSet) string {
	GinkgoHelper()
	template, err := json.Marshal(set.Spec.Template)
	Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("rev-%08x", crc32.ChecksumIEEE(template))
}

func observeCopy(ctx context.Context, mc *cachev1alpha1.Memcached, set *appsv1.StatefulSet) {
	GinkgoHelper()
	revision, size := revisionOf(set), int(*set.Spec.Replicas)
	status := appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, CurrentRevision: revision, UpdateRevision: revision}
	missing := map[int]bool{}
	for ordinal := range size {
		missing[ordinal] = true
	}
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		if pod.Labels[memcached.NameLabel] == memcached.ProxyName {
			continue
		}
		ordinal, _ := memcached.Ordinal(&pod)
		if memcached.Copies(mc) > 1 && metav1.GetControllerOf(&pod).Name != set.Name {
			continue
		}
		delete(missing, ordinal)
		if ordinal >= size {
			Expect(user.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
			continue
		}
		status.Replicas++
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == revision {
			status.UpdatedReplicas++
		}
		if pod.Status.Conditions[0].Status == corev1.ConditionTrue {
			status.ReadyReplicas++
		}
	}
	for ordinal := range missing {
		setReady(ctx, createNode(ctx, set, ordinal), corev1.ConditionTrue)
		status.Replicas, status.UpdatedReplicas, status.ReadyReplicas = status.Replicas+1, status.UpdatedReplicas+1, status.ReadyReplicas+1
	}
	status.AvailableReplicas, status.CurrentReplicas = status.ReadyReplicas, status.UpdatedReplicas
	if !equality.Semantic.DeepEqual(status, set.Status) {
		set.Status = status
		Expect(user.Status().Update(ctx, set)).To(Succeed())
	}
}

// createNode creates a pod from the template of a StatefulSet. Its memcached runs, but it is not ready.
func createNode(ctx context.Context, set *appsv1.StatefulSet, ordinal int) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.Namespace, set.Name+"-"+strconv.Itoa(ordinal)
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revisionOf(set)
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true),
	}}
	Expect(user.Create(ctx, pod)).To(Succeed())
	if !slices.Contains(podNames[pod.Namespace], pod.Name) {
		podNames[pod.Namespace] = append(podNames[pod.Namespace], pod.Name)
	}
	pod.Status.PodIP, pod.Status.PodIPs = "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: memcached.ContainerName, Resources: &pod.Spec.Containers[0].Resources,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	setReady(ctx, pod, corev1.ConditionFalse)
	return pod
}

// setReady writes the status of a pod with this condition Ready.
func setReady(ctx context.Context, pod *corev1.Pod, ready corev1.ConditionStatus) {
	GinkgoHelper()
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	Expect(user.Status().Update(ctx, pod)).To(Succeed())
}

// report changes the Deployment's status, and sets its observed generation to the current generation.
func report(ctx context.Context, mc *cachev1alpha1.Memcached, change func(*appsv1.DeploymentStatus)) {
	GinkgoHelper()
	deployment := live(ctx, mc, &appsv1.Deployment{})
	deployment.Status.ObservedGeneration = deployment.Generation
	change(&deployment.Status)
	Expect(user.Status().Update(ctx, deployment)).To(Succeed())
}

func revision(deployment *appsv1.Deployment) string {
	return fmt.Sprintf("rev%d", deployment.Generation)
}

// newPod creates a pod of the Deployment's current revision.
func newPod(ctx context.Context, mc *cachev1alpha1.Memcached, suffix string, ready corev1.ConditionStatus) *corev1.Pod {
	GinkgoHelper()
	deployment := live(ctx, mc, &appsv1.Deployment{})
	return createPod(ctx, mc, suffix, ready, appsv1.DefaultDeploymentUniqueLabelKey, revision(deployment), metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment.Name + "-" + revision(deployment),
		UID: "replicaset", Controller: ptr.To(true),
	})
}

// createPod creates a pod of a workload. It sets the given label of the pod to the revision.
func createPod(
	ctx context.Context, mc *cachev1alpha1.Memcached, suffix string, ready corev1.ConditionStatus,
	label, revision string, owner metav1.OwnerReference,
) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: mc.Name + "-" + suffix, Namespace: mc.Namespace,
			Labels: map[string]string{
				label: revision, memcached.InstanceLabel: mc.Name, memcached.ManagedByLabel: memcached.ManagedBy,
				"app.kubernetes.io/name": "memcached",
			},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
	}
	Expect(user.Create(ctx, pod)).To(Succeed())
	if !slices.Contains(podNames[pod.Namespace], pod.Name) {
		podNames[pod.Namespace] = append(podNames[pod.Namespace], pod.Name)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	Expect(user.Status().Update(ctx, pod)).To(Succeed())
	return pod
}

func removePods(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		Expect(user.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
	}
}

// podNames has the names of the pods that the tests have created, by namespace.
var podNames = map[string][]string{}

// pods returns the pods of a Memcached. It gets them one by one, because a list from an idle API server takes up to 100 ms: the
// API server first makes sure that the list is up to date.
func pods(ctx context.Context, namespace, instance string) []corev1.Pod {
	GinkgoHelper()
	var found []corev1.Pod
	for _, name := range podNames[namespace] {
		var pod corev1.Pod
		err := user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err == nil && pod.Labels[memcached.InstanceLabel] == instance {
			found = append(found, pod)
		}
	}
	return found
}

// converged creates a Memcached, and reconciles until it is Ready.
func converged(
	ctx context.Context, o *operator, size int32, changes ...func(*cachev1alpha1.Memcached),
) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := newMemcached(ctx, size, changes...)
	Expect(o.try(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)).To(Succeed())
	rollOut(ctx, mc)
	o.step(ctx, mc, writeStatus)
	Expect(summary(ctx, mc, cachev1alpha1.ConditionReady)).To(Equal("True/AllNodesReady"))
	o.events()
	return mc
}

var _ = Describe("A manager that is restarted", Ordered, func() {
	var all []*cachev1alpha1.Memcached
	namespaces := map[string]cache.Config{} // other tests have left Memcacheds in others

	BeforeAll(func(ctx SpecContext) {
		p := start(ctx, "", 0)
		old, err := controllers.LacksMatchLabelKeys(config)
		Expect(err).NotTo(HaveOccurred())
		for _, golden := range goldens() {
			if old && memcached.Copies(&golden) > 1 {
				continue // refused
			}
			all = append(all, newMemcached(ctx, 0, func(mc *cachev1alpha1.Memcached) { mc.Spec = golden.Spec }))
			namespaces[all[len(all)-1].Namespace] = cache.Config{}
		}
		ready(ctx, all...)
		p.stop()
	})

	It("sends nothing over converged resources, nor at resyncs", func(ctx SpecContext) {
		p := start(ctx, "", time.Second, func(options *ctrl.Options) { options.Cache.DefaultNamespaces = namespaces })
		// Each Memcached is reconciled when the caches are filled, and again at every resync.
		Eventually(ctx, func() float64 { return p.reconciles("Unchanged") }).Should(BeNumerically(">=", 3*len(all)))
		Expect(p.requests.Writes()).To(BeEmpty())
		Expect(p.requests.Gets()).To(BeEmpty())
	})
})
