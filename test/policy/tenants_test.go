// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/repository"
)

// docs/operations/tenants.yaml limits the namespace of a tenant. It must refuse what docs/operations/security.md says that it refuses,
// and permit usual pods.
func TestTenantsAreHeldByQuotas(t *testing.T) {
	i := install(t)
	older := &cachev1alpha1.Memcached{ObjectMeta: named("older")}
	older.Spec.Scheduling.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	NewWithT(t).Expect(i.admin.Create(t.Context(), older)).To(Succeed())
	i.applyTenants(t)
	t.Run("off the control plane", i.tenantsStayOffTheControlPlane)
	t.Run("an older Memcached can change its size", func(t *testing.T) {
		g := NewWithT(t)
		older.Spec.Size = 4
		g.Expect(i.admin.Update(t.Context(), older)).To(Succeed())
		g.Expect(i.admin.Delete(t.Context(), older)).To(Succeed())
	})
	t.Run("a Memcached more than the quota", func(t *testing.T) {
		g := NewWithT(t)
		for n := range 20 {
			g.Expect(i.admin.Create(t.Context(), &cachev1alpha1.Memcached{ObjectMeta: named(fmt.Sprintf("cache-%d", n))})).To(Succeed())
		}
		g.Expect(i.admin.Create(t.Context(), &cachev1alpha1.Memcached{ObjectMeta: named("more")})).
			To(MatchError(ContainSubstring("exceeded quota: memcacheds, requested: count/memcacheds.cache.example.com=1, used: count/memcacheds.cache.example.com=20")))
	})
	t.Run("a MemcachedProxy more than the quota", func(t *testing.T) {
		g := NewWithT(t)
		for n := range 20 {
			g.Expect(i.admin.Create(t.Context(), newProxy(fmt.Sprintf("proxy-%d", n)))).To(Succeed())
		}
		g.Expect(i.admin.Create(t.Context(), newProxy("more"))).
			To(MatchError(ContainSubstring("exceeded quota: memcacheds, requested: count/memcachedproxies.cache.example.com=1, used: count/memcachedproxies.cache.example.com=20")))
	})
	t.Run("a ConfigMap more than the quota", func(t *testing.T) {
		g := NewWithT(t)
		for n := range 100 {
			g.Expect(i.admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(fmt.Sprintf("config-%d", n))})).To(Succeed())
		}
		g.Expect(i.admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("more")})).
			To(MatchError(ContainSubstring("exceeded quota: memcacheds, requested: count/configmaps=1, used: count/configmaps=100")))
	})
	for quota, changes := range excessivePods() {
		for n, change := range changes {
			t.Run(fmt.Sprintf("%s %d", quota, n), func(t *testing.T) {
				pod := tenantsPod()
				change(&pod.Spec)
				NewWithT(t).Expect(i.admin.Create(t.Context(), pod, client.DryRunAll)).To(MatchError(ContainSubstring("exceeded quota: " + quota)))
			})
		}
	}
	t.Run("pods as usual", func(t *testing.T) {
		NewWithT(t).Expect(i.admin.Create(t.Context(), tenantsPod())).To(Succeed())
	})
}

// Quotas cannot limit tolerations, so tenants.yaml has a policy for them.
func (i *installation) tenantsStayOffTheControlPlane(t *testing.T) {
	with := func(toleration corev1.Toleration) []attempt {
		mc, proxy := &cachev1alpha1.Memcached{ObjectMeta: named("tolerant")}, newProxy("tolerant")
		mc.Spec.Scheduling.Tolerations = []corev1.Toleration{toleration}
		proxy.Spec.Scheduling.Tolerations = mc.Spec.Scheduling.Tolerations
		return []attempt{create(mc), create(proxy)}
	}
	g := NewWithT(t)
	for _, toleration := range []corev1.Toleration{
		{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists},
	} {
		for _, create := range with(toleration) {
			g.Eventually(t.Context(), func() error { return create(t, i.admin) }, timeout).
				Should(MatchError(ContainSubstring("spec.scheduling.tolerations: must have keys, and none that starts with node-role.kubernetes.io/")))
		}
	}
	for _, create := range with(corev1.Toleration{Key: "dedicated", Value: "cache"}) {
		g.Expect(create(t, i.admin)).To(Succeed())
	}
}

func newProxy(name string) *cachev1alpha1.MemcachedProxy {
	proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: named(name)}
	proxy.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: stable}}
	return proxy
}

// excessivePods returns, for each quota, changes with which a pod exceeds it.
func excessivePods() map[string][]func(*corev1.PodSpec) {
	class := func(name string) func(*corev1.PodSpec) {
		return func(pod *corev1.PodSpec) { pod.PriorityClassName = name }
	}
	term := func(term corev1.PodAffinityTerm) func(*corev1.PodSpec) {
		term.TopologyKey = corev1.LabelOSStable
		return func(pod *corev1.PodSpec) {
			pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
			}}
		}
	}
	return map[string][]func(*corev1.PodSpec){
		"no-system-priority": {class("system-cluster-critical"), class("system-node-critical")},
		"no-affinity-across-namespaces": {
			term(corev1.PodAffinityTerm{Namespaces: []string{"default"}}),
			term(corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}),
		},
		"memcacheds": {func(pod *corev1.PodSpec) {
			pod.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("17")
		}},
	}
}

// applyTenants applies tenants.yaml and sets the status of the quotas, because there is no controller manager. It then waits until
// the quotas are enforced.
func (i *installation) applyTenants(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	file, err := os.Open(repository.Path("docs", "operations", "tenants.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(file.Close()).To(Succeed()) })
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		object := &unstructured.Unstructured{}
		if decoder.Decode(object) != nil {
			break
		}
		g.Expect(i.admin.Create(t.Context(), object)).To(Succeed())
	}
	quotas := &corev1.ResourceQuotaList{}
	g.Expect(i.admin.List(t.Context(), quotas, client.InNamespace(shop))).To(Succeed())
	g.Expect(quotas.Items).To(HaveLen(3))
	for _, quota := range quotas.Items {
		quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{}
		for name, most := range quota.Spec.Hard {
			most.Set(0)
			quota.Status.Used[name] = most
		}
		g.Expect(i.admin.Status().Update(t.Context(), &quota)).To(Succeed())
	}
	for quota, changes := range excessivePods() {
		pod := tenantsPod()
		changes[0](&pod.Spec)
		g.Eventually(t.Context(), func() error { return i.admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll) }, timeout).
			Should(MatchError(ContainSubstring("exceeded quota: " + quota)))
	}
}

// tenantsPod returns a pod with the resources that the quota "memcacheds" requires.
func tenantsPod() *corev1.Pod {
	pod := newPod()
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: amounts, Requests: amounts}
	return pod
}
