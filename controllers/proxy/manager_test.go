// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/controllers/proxy"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/testenv/suite"
)

// start runs a manager as in production, with its real caches, until the end of the spec.
func start(ctx context.Context) *testenv.Requests {
	GinkgoHelper()
	requests := &testenv.Requests{}
	mgr, err := ctrl.NewManager(requests.Record(config), ctrl.Options{
		Scheme: testenv.Scheme(), Cache: controllers.CacheOptions(""), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	options := controllers.Options{Memcached: defaults, MaxConcurrentReconciles: controllers.DefaultConcurrentReconciles}
	running, cancel := context.WithCancel(context.Background())
	Expect(controllers.SetupWithManager(running, mgr, metrics.New(prometheus.NewRegistry()), options)).To(Succeed())
	Expect(proxy.SetupWithManager(mgr, options)).To(Succeed())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(running) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(BeNil()))
	})
	Eventually(ctx, func() error { return controllers.Synced(ctx, mgr.GetCache()) }).Should(Succeed())
	return requests
}

// ready returns the reason of the condition Ready, or the error of reading it.
func ready(ctx context.Context, front *cachev1alpha1.MemcachedProxy) string {
	current := &cachev1alpha1.MemcachedProxy{}
	if err := user.Get(ctx, client.ObjectKeyFromObject(front), current); err != nil {
		return err.Error()
	}
	if condition := meta.FindStatusCondition(current.Status.Conditions, cachev1alpha1.ConditionReady); condition != nil {
		return condition.Reason
	}
	return ""
}

var _ = Describe("A running manager", Serial, func() {
	It("follows what counts for a MemcachedProxy", func(ctx SpecContext) {
		requests := start(ctx)
		namespace := suite.NewNamespace(ctx, user)
		front := newProxy(ctx, namespace)
		Eventually(ctx, func() string { return ready(ctx, front) }).Should(Equal("InvalidReference"))

		By("a pool that comes, whose servers the other controller reports")
		mc := &cachev1alpha1.Memcached{}
		mc.Namespace, mc.Name = namespace, "sessions"
		mc.Spec = cachev1alpha1.MemcachedSpec{Size: 3, Workload: cachev1alpha1.WorkloadStatefulSet}
		create(ctx, mc)
		Eventually(ctx, func() error { // as the controller of StatefulSets says that it could create the pods
			set := &appsv1.StatefulSet{}
			if err := user.Get(ctx, client.ObjectKeyFromObject(mc), set); err != nil {
				return err
			}
			set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 3}
			return user.Status().Update(ctx, set)
		}).Should(Succeed())
		Eventually(ctx, func() error {
			return user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "front"}, &appsv1.Deployment{})
		}).Should(Succeed())
		rollOut(ctx, front)
		Eventually(ctx, func() string { return ready(ctx, front) }).Should(Equal("AllProxiesReady"))

		By("a new size of it")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
		Eventually(ctx, func() string { return routes(ctx, front) }).Should(ContainSubstring(" 3 next 2 "))

		By("what somebody deletes")
		Expect(user.Delete(ctx, live(ctx, front, &corev1.Service{}, ""))).To(Succeed())
		Eventually(ctx, func() error {
			return user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "front"}, &corev1.Service{})
		}).Should(Succeed())

		By("a Memcached that takes its name, and is told of it")
		generation := live(ctx, front, &appsv1.Deployment{}, "").Generation
		younger := &cachev1alpha1.Memcached{}
		younger.Namespace, younger.Name, younger.Spec.Size = namespace, "front", 1
		create(ctx, younger)
		Eventually(ctx, func() string {
			Expect(user.Get(ctx, client.ObjectKeyFromObject(younger), younger)).To(Succeed())
			condition := meta.FindStatusCondition(younger.Status.Conditions, cachev1alpha1.ConditionDegraded)
			if condition == nil {
				return ""
			}
			return condition.Reason
		}).Should(Equal("Conflict"))
		Expect(live(ctx, front, &appsv1.Deployment{}, "").Generation).To(Equal(generation))
		Expect(user.Delete(ctx, younger)).To(Succeed())

		By("nothing while nothing happens")
		Eventually(ctx, func() string { return message(ctx, front) }).Should(ContainSubstring("does not answer the operator"))
		Eventually(ctx, func(g Gomega) { // the number of servers changes meanwhile
			requests.Reset()
			g.Consistently(ctx, requests.Writes).WithTimeout(2 * time.Second).Should(BeEmpty())
		}).WithTimeout(time.Minute).Should(Succeed())
	})
})
