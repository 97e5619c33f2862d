// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/controllers/proxy"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/testenv"
)

// The operator runs with its own roles and under the policies. The API server must permit all of its requests, at the creation of
// Memcacheds and after changes. The Memcacheds are those of the golden files and the samples.
func TestOperatorWorksUnderThePolicies(t *testing.T) {
	i := install(t)
	i.createMemcacheds(t)
	i.grantNothingMore(t)
	g := NewWithT(t)
	all := goldenMemcacheds(t)
	i.allowImages(t, all)
	i.allowMetadata(t, all)
	requests := i.start(t)
	lost := i.loseClusterNode(t)
	for _, mc := range all {
		g.Expect(i.admin.Create(t.Context(), mc)).To(Succeed())
	}
	for _, mc := range all {
		g.Eventually(i.deployed(t, mc), timeout).Should(Equal(mc.Spec.Size), mc.Name)
	}
	for _, mc := range all {
		i.change(t, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Size += 2
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "changed"}
			mc.Spec.PodDisruptionBudget = cachev1alpha1.MemcachedPodDisruptionBudget{Enabled: ptr.To(false)}
			mc.Spec.NetworkPolicy.Enabled = ptr.To(mc.Spec.NetworkPolicy.Enabled == nil)
		})
		g.Eventually(i.deployed(t, mc), timeout).Should(Equal(mc.Spec.Size), mc.Name)
		g.Eventually(t.Context(), func() bool { return i.gone(t, mc, &policyv1.PodDisruptionBudget{}) }, timeout).Should(BeTrue(), mc.Name)
		i.healsDrift(t, mc)
	}
	i.servesProxies(t)
	for _, mc := range all {
		g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), mc)).To(Succeed())
		degraded := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded)
		g.Expect(degraded.Status).To(Equal(metav1.ConditionFalse), "%s: %s", mc.Name, degraded.Message)
		g.Expect(i.admin.Delete(t.Context(), mc)).To(Succeed())
	}
	g.Eventually(t.Context(), func() error {
		return i.admin.Get(t.Context(), client.ObjectKeyFromObject(lost), &corev1.Pod{})
	}, timeout).Should(Satisfy(apierrors.IsNotFound))
	g.Expect(requests.Refused()).To(BeEmpty())
	permitted := slices.DeleteFunc(requests.Writes(), func(write string) bool { return strings.Contains(write, "(") })
	g.Expect(len(permitted)).To(BeNumerically(">", 7*len(all)), "permitted writes")
}

// A Memcached must report that its image is refused because the list of allowed images lacks it. It must recover after the image is
// added to the list.
func TestForeignImageIsReportedAndRecovers(t *testing.T) {
	i := install(t)
	i.createMemcacheds(t)
	i.grantNothingMore(t)
	i.start(t)
	g := NewWithT(t)
	mc := &cachev1alpha1.Memcached{ObjectMeta: named("foreign")}
	mc.Spec.Size, mc.Spec.Image = 1, "registry.example.com/cache/memcached:1.6.45"
	g.Expect(i.admin.Create(t.Context(), mc)).To(Succeed())
	g.Eventually(t.Context(), func() string {
		g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), mc)).To(Succeed())
		if degraded := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded); degraded != nil {
			return degraded.Reason + ": " + degraded.Message
		}
		return ""
	}, timeout).Should(And(HavePrefix("AdmissionDenied"), ContainSubstring(mc.Spec.Image+" is not in the ConfigMap")))
	i.allowImages(t, []*cachev1alpha1.Memcached{mc})
	// The operator retries within a minute, and at once when the user changes something.
	i.change(t, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 2 })
	g.Eventually(i.deployed(t, mc), timeout).Should(Equal(int32(2)))
}

// grantNothingMore installs the policies. installPolicies needs an operator that is a cluster administrator, so this function
// grants that role and then removes it.
func (i *installation) grantNothingMore(t *testing.T) {
	t.Helper()
	binding := i.grantEverything(t)
	i.installPolicies(t)
	g := NewWithT(t)
	g.Expect(i.admin.Delete(t.Context(), binding)).To(Succeed())
	g.Eventually(t.Context(), func() error { return i.operator.List(t.Context(), &corev1.SecretList{}) }, timeout).
		Should(Satisfy(apierrors.IsForbidden))
}

// allowImages adds the images of Memcacheds to the ConfigMap of allowed images, and waits until each is permitted.
func (i *installation) allowImages(t *testing.T, all []*cachev1alpha1.Memcached) {
	t.Helper()
	all = slices.DeleteFunc(slices.Clone(all), func(mc *cachev1alpha1.Memcached) bool { return mc.Spec.Image == "" })
	for _, mc := range all {
		i.addToList(t, "images", strings.SplitN(mc.Spec.Image, "@", 2)[0])
	}
	for _, mc := range all {
		probe := updateDeployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = mc.Spec.Image })
		NewWithT(t).Eventually(t.Context(), func() error { return probe(t, i.admin) }, timeout).Should(Succeed())
	}
}

// goldenMemcacheds returns the Memcacheds of the golden files and the samples.
func goldenMemcacheds(t *testing.T) []*cachev1alpha1.Memcached {
	t.Helper()
	goldens, err := repository.Memcacheds()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var all []*cachev1alpha1.Memcached
	for i, golden := range goldens {
		all = append(all, &cachev1alpha1.Memcached{ObjectMeta: named(fmt.Sprintf("golden-%d", i)), Spec: golden.Spec})
	}
	return all
}

// start starts the operator with its own permissions, and records its requests. The operator stops at the end of the test.
func (i *installation) start(t *testing.T, edits ...func(*controllers.Options)) *testenv.Requests {
	t.Helper()
	g := NewWithT(t)
	requests := &testenv.Requests{}
	mgr, err := ctrl.NewManager(requests.Record(i.asOperator()), ctrl.Options{
		Scheme: testenv.Scheme(), Cache: controllers.CacheOptions(""), Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "memcached-operator.cache.example.com", LeaderElectionNamespace: operatorNamespace,
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)}, // several tests in this process start a manager
	})
	g.Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(context.Background())
	options := controllers.Options{
		Memcached: memcached.Options{DefaultImage: "docker.io/library/memcached:1.6.45", AgentImage: agentImage}, MaxConcurrentReconciles: 8,
	}
	for _, edit := range edits {
		edit(&options)
	}
	g.Expect(controllers.SetupWithManager(running, mgr, metrics.New(prometheus.NewRegistry()), options)).To(Succeed())
	g.Expect(proxy.SetupWithManager(mgr, proxy.Options{Options: options, Retry: time.Second})).To(Succeed())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(running) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-stopped).To(Succeed())
	})
	return requests
}

// servesProxies changes a MemcachedProxy and the size of its pool, and waits until the operator has changed the children.
func (i *installation) servesProxies(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	front := &cachev1alpha1.MemcachedProxy{ObjectMeta: named(freshProxy)}
	g.Eventually(t.Context(), func() error {
		return i.admin.Get(t.Context(), client.ObjectKeyFromObject(front), &appsv1.Deployment{})
	}, timeout).Should(Succeed())
	g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(front), front)).To(Succeed())
	front.Spec.Size, front.Spec.PodDisruptionBudget.Enabled, front.Spec.NetworkPolicy.Enabled = ptr.To(int32(5)), ptr.To(false), ptr.To(false)
	front.Spec.Config.Threads, front.Spec.PodMetadata.Labels = 2, map[string]cachev1alpha1.LabelValue{"team": "shop"}
	g.Expect(i.admin.Update(t.Context(), front)).To(Succeed())
	pool := &cachev1alpha1.Memcached{}
	g.Expect(i.admin.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: stable}, pool)).To(Succeed())
	pool.Spec.Size = 5
	g.Expect(i.admin.Update(t.Context(), pool)).To(Succeed())
	g.Eventually(t.Context(), func(g Gomega) {
		deployment, routes := &appsv1.Deployment{}, &corev1.ConfigMap{}
		g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(front), deployment)).To(Succeed())
		g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
		g.Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue("team", "shop"))
		g.Expect(i.admin.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: freshProxy + "-routes"}, routes)).To(Succeed())
		g.Expect(routes.Data["routes"]).To(ContainSubstring(" next 5 "))
		err := i.admin.Get(t.Context(), client.ObjectKeyFromObject(front), &policyv1.PodDisruptionBudget{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	}, timeout).Should(Succeed())
}
