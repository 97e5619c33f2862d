// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"cmp"
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/testenv/suite"
)

// process is a manager that runs as in production, with its real caches. Its requests are recorded.
type process struct {
	requests *testenv.Requests
	registry *prometheus.Registry
	manager  ctrl.Manager
	stop     func()
}

// start starts a manager for this namespace, or for all, and waits until its caches are filled. If resync is 0, the default period applies.
func start(ctx context.Context, namespace string, resync time.Duration, changes ...func(*ctrl.Options)) *process {
	GinkgoHelper()
	return startWith(ctx, namespace, resync, controllers.Options{Memcached: defaults}, changes...)
}

// startWith is like start, but takes the controller's options.
func startWith(
	ctx context.Context, namespace string, resync time.Duration, options controllers.Options, changes ...func(*ctrl.Options),
) *process {
	GinkgoHelper()
	p := &process{requests: &testenv.Requests{}, registry: prometheus.NewRegistry()}
	cacheOptions := controllers.CacheOptions(namespace)
	if resync > 0 {
		cacheOptions.SyncPeriod = &resync
	}
	managerOptions := ctrl.Options{
		Scheme:     testenv.Scheme(),
		Cache:      cacheOptions,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
	}
	for _, change := range changes {
		change(&managerOptions)
	}
	var err error
	p.manager, err = ctrl.NewManager(p.requests.Record(config), managerOptions)
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(context.Background())
	options.MaxConcurrentReconciles = cmp.Or(managerOptions.Controller.MaxConcurrentReconciles, controllers.DefaultConcurrentReconciles)
	Expect(controllers.SetupWithManager(running, p.manager, metrics.New(p.registry), options)).To(Succeed())
	stopped := make(chan error, 1)
	go func() { stopped <- p.manager.Start(running) }()
	p.stop = func() {
		cancel()
		Eventually(stopped).Should(Receive(BeNil()))
		p.stop = func() {}
	}
	DeferCleanup(func() { p.stop() })
	Eventually(ctx, func() error { return controllers.Synced(ctx, p.manager.GetCache()) }).Should(Succeed())
	return p
}

func (p *process) reconciles(reason string) float64 { return reconcilesIn(p.registry, reason) }

func reconcilesIn(registry *prometheus.Registry, reason string) float64 {
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() != "memcached_operator_reconciles_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == reason {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// ready rolls out the pods of all these Memcacheds, and waits until the Memcacheds are Ready.
func ready(ctx context.Context, all ...*cachev1alpha1.Memcached) {
	GinkgoHelper()
	for _, mc := range all {
		Eventually(ctx, func() error { return user.Get(ctx, client.ObjectKeyFromObject(mc), workloadOf(mc)) }).Should(Succeed())
		rollOut(ctx, mc)
	}
	for _, mc := range all {
		if memcached.HasProxies(mc) {
			Eventually(ctx, func() error { return user.Get(ctx, proxyName(mc), &appsv1.Deployment{}) }).Should(Succeed())
			rollOutProxies(ctx, mc)
		}
		Eventually(ctx, func() string { return summary(ctx, mc, "Ready") }).Should(Equal("True/AllNodesReady"))
	}
}

var _ = Describe("A running manager", Ordered, func() {
	It("converges with as few writes as a single step, lagging caches and all", func(ctx SpecContext) {
		p := start(ctx, "", 0)
		mc := newMemcached(ctx, 3)
		ready(ctx, mc)
		writes := p.requests.Writes()
		Expect(writes).To(ContainElements(writeService, writeBudget, writeDeployment))
		Expect(writes).To(HaveLen(3+countOf(writes, writeStatus)), "no write to a child is repeated or refused")
		Expect(countOf(writes, writeStatus)).To(BeNumerically("<=", 3))

		By("scaling it")
		p.requests.Reset()
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 4 })
		Eventually(ctx, func() int32 { return *live(ctx, mc, &appsv1.Deployment{}).Spec.Replicas }).Should(Equal(int32(4)))
		ready(ctx, mc)
		Expect(countOf(p.requests.Writes(), writeDeployment)).To(Equal(1))
		Expect(len(p.requests.Writes())).To(BeNumerically("<=", 4))

		By("noticing a pod that goes")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: status(ctx, mc).Nodes[0]}}
		Expect(user.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(ctx, func() []string { return status(ctx, mc).Nodes }).ShouldNot(ContainElement(pod.Name))
	})

	It("brings back children that are deleted, changed or stripped of their label", func(ctx SpecContext) {
		start(ctx, "", 0)
		mc := newMemcached(ctx, 1)
		ready(ctx, mc)
		service := live(ctx, mc, &corev1.Service{})
		Expect(user.Delete(ctx, service)).To(Succeed())
		Eventually(ctx, func() bool {
			again := &corev1.Service{}
			return user.Get(ctx, client.ObjectKeyFromObject(service), again) == nil && again.UID != service.UID
		}).Should(BeTrue())
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(9)) })
		Eventually(ctx, func() int32 { return *live(ctx, mc, &appsv1.Deployment{}).Spec.Replicas }).Should(Equal(int32(1)))
		change(ctx, live(ctx, mc, &policyv1.PodDisruptionBudget{}), func(b *policyv1.PodDisruptionBudget) { b.Labels = nil })
		Eventually(ctx, func() map[string]string { return live(ctx, mc, &policyv1.PodDisruptionBudget{}).Labels }).
			Should(HaveKeyWithValue(memcached.ManagedByLabel, memcached.ManagedBy))
	})

	It("recovers within a minute when an object in the way goes, and corrects a status that is not its own", func(ctx SpecContext) {
		p := start(ctx, "", 0)
		namespace := suite.NewNamespace(ctx, user)
		theirs := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-nodes"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		Expect(user.Create(ctx, theirs)).To(Succeed())
		mc := &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"}, Spec: cachev1alpha1.MemcachedSpec{Size: 1},
		}
		Expect(user.Create(ctx, mc)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(user.Delete(ctx, mc)).To(Succeed()) })
		Eventually(ctx, func() string { return summary(ctx, mc, "Degraded") }).Should(Equal("True/Conflict"))
		Expect(countOf(p.requests.Writes(), writeService+" (409)")).To(BeNumerically("<", 20), "it must back off")
		Expect(user.Delete(ctx, theirs)).To(Succeed())
		Eventually(ctx, func() string { return summary(ctx, mc, "Degraded") }, "60s").Should(Equal("False/AsExpected"))
		ready(ctx, mc)

		current := live(ctx, mc, &cachev1alpha1.Memcached{})
		current.Status.Nodes, current.Status.Conditions = []string{"nonsense"}, nil
		Expect(user.Status().Update(ctx, current)).To(Succeed())
		Eventually(ctx, func() string { return summary(ctx, mc, "Ready") }).Should(Equal("True/AllNodesReady"))
		Expect(status(ctx, mc).Nodes).To(HaveLen(1))
	})

	It("serves the namespace it is told to, and no other", func(ctx SpecContext) {
		one, other := newMemcached(ctx, 1), newMemcached(ctx, 1)
		p := start(ctx, one.Namespace, 0)
		ready(ctx, one)
		Expect(user.Get(ctx, client.ObjectKeyFromObject(other), &appsv1.Deployment{})).NotTo(Succeed())
		Expect(status(ctx, other).ObservedGeneration).To(Equal(int64(-1)))

		By("dropping the series of what is deleted")
		Eventually(ctx, func() (int, error) { return testutil.GatherAndCount(p.registry, instanceMetrics...) }).Should(Equal(9))
		Expect(user.Delete(ctx, one)).To(Succeed())
		Eventually(ctx, func() (int, error) { return testutil.GatherAndCount(p.registry, instanceMetrics...) }).Should(BeZero())
	})
})

// instanceMetrics have nine series for each Memcached: two numbers of nodes, two settings, whether it is stuck, and four conditions.
var instanceMetrics = []string{
	"memcached_operator_memcached_condition",
	"memcached_operator_memcached_desired_nodes",
	"memcached_operator_memcached_ready_nodes",
	"memcached_operator_memcached_item_memory_bytes",
	"memcached_operator_memcached_max_connections",
	"memcached_operator_memcached_stuck",
}

func waiting(reason, message string) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{
		Name: "memcached", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}
}

func countOf(list []string, wanted string) int {
	count := 0
	for _, element := range list {
		if element == wanted {
			count++
		}
	}
	return count
}
