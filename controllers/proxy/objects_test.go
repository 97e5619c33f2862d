// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcachedproxy"
	"github.com/example/memcached-operator/test/testenv/suite"
)

// newPool creates a Memcached, and reports its servers as the operator does.
func newPool(ctx context.Context, namespace string, size int32) *cachev1alpha1.Memcached {
	GinkgoHelper()
	return newPoolNamed(ctx, namespace, "sessions", size)
}

func newPoolNamed(ctx context.Context, namespace, name string, size int32) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	mc.Spec = cachev1alpha1.MemcachedSpec{Size: size, Workload: cachev1alpha1.WorkloadStatefulSet}
	create(ctx, mc)
	resize(ctx, mc, size)
	return mc
}

// resize changes the size of a pool, and reports its servers.
func resize(ctx context.Context, mc *cachev1alpha1.Memcached, size int32) {
	GinkgoHelper()
	change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
	mc.Status.ObservedGeneration, mc.Status.Servers = mc.Generation, nil
	for i := range size {
		mc.Status.Servers = append(mc.Status.Servers, fmt.Sprintf("%s-%d.%s.%s.svc:11211", mc.Name, i, mc.Name, mc.Namespace))
	}
	Expect(user.Status().Update(ctx, mc)).To(Succeed())
}

func newProxy(ctx context.Context, namespace string, changes ...func(*cachev1alpha1.MemcachedProxy)) *cachev1alpha1.MemcachedProxy {
	GinkgoHelper()
	front := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"}}
	front.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: "sessions"}}
	for _, change := range changes {
		change(front)
	}
	create(ctx, front)
	return front
}

func create(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(user.Create(ctx, object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(user.Delete(ctx, object))).To(Succeed()) })
}

func change[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	change(object)
	Expect(user.Patch(ctx, object, client.MergeFrom(before), client.FieldOwner("user"))).To(Succeed())
}

func live[T client.Object](ctx context.Context, front *cachev1alpha1.MemcachedProxy, object T, suffix string) T {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKey{Namespace: front.Namespace, Name: front.Name + suffix}, object)).To(Succeed())
	return object
}

func routes(ctx context.Context, front *cachev1alpha1.MemcachedProxy) string {
	GinkgoHelper()
	return live(ctx, front, &corev1.ConfigMap{}, "-routes").Data["routes"]
}

// rollOut does the work of the Deployment controller, the scheduler and the kubelet in one step.
func rollOut(ctx context.Context, front *cachev1alpha1.MemcachedProxy) {
	GinkgoHelper()
	deployment := live(ctx, front, &appsv1.Deployment{}, "")
	size, hash := *deployment.Spec.Replicas, fmt.Sprintf("rev%d", deployment.Generation)
	Expect(user.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(front.Namespace), client.GracePeriodSeconds(0))).To(Succeed())
	for i := range size {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("front-%s-%d", hash, i), Namespace: front.Namespace, Labels: memcachedproxy.SelectorLabels(front),
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "front-" + hash, UID: "replicaset", Controller: ptr.To(true),
				}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
		}
		pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
		Expect(user.Create(ctx, pod)).To(Succeed())
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: size, UpdatedReplicas: size, ReadyReplicas: size, AvailableReplicas: size,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		}},
	}
	Expect(user.Status().Update(ctx, deployment)).To(Succeed())
}

// converged creates a MemcachedProxy and its pool of three nodes, and reconciles until the MemcachedProxy is Ready.
func converged(ctx context.Context, o *operator) (*cachev1alpha1.MemcachedProxy, *cachev1alpha1.Memcached) {
	GinkgoHelper()
	namespace := suite.NewNamespace(ctx, user)
	pool := newPool(ctx, namespace, 3)
	front := newProxy(ctx, namespace)
	o.step(ctx, front, writeService, writeBudget, writeConfigMap, writeDeployment, writeStatus)
	rollOut(ctx, front)
	o.step(ctx, front, writeStatus)
	expectConditions(ctx, front, "True/AllProxiesReady", "True/AsExpected", "False/AsExpected", "False/AsExpected")
	o.events()
	return front, pool
}

// expectConditions expects Ready, Available, Progressing and Degraded, in the form True/AllProxiesReady.
func expectConditions(ctx context.Context, front *cachev1alpha1.MemcachedProxy, conditions ...string) {
	GinkgoHelper()
	status := live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status
	var got []string
	for _, condition := range status.Conditions[:4] {
		got = append(got, string(condition.Status)+"/"+condition.Reason)
	}
	Expect(got).To(Equal(conditions), "%v", status.Conditions[0].Message)
}

func pods(ctx context.Context, front *cachev1alpha1.MemcachedProxy) (names []string) {
	GinkgoHelper()
	var found corev1.PodList
	Expect(user.List(ctx, &found, client.InNamespace(front.Namespace))).To(Succeed())
	for i := range found.Items {
		names = append(names, found.Items[i].Name)
	}
	return names
}

func message(ctx context.Context, front *cachev1alpha1.MemcachedProxy) string {
	GinkgoHelper()
	status := live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status
	return meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionProgressing).Message
}
