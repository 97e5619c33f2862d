// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/manifests"
	"github.com/example/memcached-operator/test/repository"
)

// docs/operations/tenants.yaml must refuse in the namespace shop what docs/operations/security.md says, and permit usual pods.
func TestTenantsAreHeldByQuotas(t *testing.T) {
	g := NewWithT(t)
	i := manifests.Start(t)
	i.Apply(t, kustomize.Render(t, config("crd")))
	in := metav1.ObjectMeta{Namespace: "shop", Name: "tenant"}
	g.Expect(i.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in.Namespace}})).To(Succeed())
	applyTenants(t, i)
	mc := &cachev1alpha1.Memcached{ObjectMeta: in}
	tolerant, careless := mc.DeepCopy(), mc.DeepCopy()
	every := corev1.Toleration{Operator: corev1.TolerationOpExists}
	tolerant.Spec.Scheduling.Tolerations = []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Operator: every.Operator}}
	careless.Spec.Scheduling.Tolerations = []corev1.Toleration{every}
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	usual := &corev1.Pod{ObjectMeta: in, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "memcached", Image: "memcached", Resources: corev1.ResourceRequirements{Requests: amounts, Limits: amounts},
	}}}}
	pod := func(change func(*corev1.PodSpec)) *corev1.Pod {
		pod := usual.DeepCopy()
		change(&pod.Spec)
		return pod
	}
	near := func(term corev1.PodAffinityTerm) func(*corev1.PodSpec) {
		term.TopologyKey = corev1.LabelOSStable
		terms := []corev1.PodAffinityTerm{term}
		anti := &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
		return func(pod *corev1.PodSpec) { pod.Affinity = &corev1.Affinity{PodAntiAffinity: anti} }
	}
	full := []string{"count/memcacheds.cache.example.com", "count/configmaps"}
	for _, refused := range []struct {
		object client.Object
		words  string
	}{
		{mc, "exceeded quota: memcacheds, requested: " + full[0]},
		{&corev1.ConfigMap{ObjectMeta: in}, "exceeded quota: memcacheds, requested: " + full[1]},
		{tolerant, "spec.scheduling.tolerations: must have keys, and none that starts with node-role.kubernetes.io/"},
		{careless, "spec.scheduling.tolerations: must have keys"},
		{pod(func(pod *corev1.PodSpec) { pod.PriorityClassName = "system-node-critical" }), "exceeded quota: no-system-priority"},
		{pod(near(corev1.PodAffinityTerm{Namespaces: []string{"default"}})), "exceeded quota: no-affinity-across-namespaces"},
		{pod(near(corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}})), "exceeded quota: no-affinity-across-namespaces"},
		{pod(func(pod *corev1.PodSpec) {
			pod.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("65Gi")}
		}), "exceeded quota: memcacheds"},
	} {
		g.Eventually(func() error { return i.Admin.Create(t.Context(), refused.object, client.DryRunAll) }, time.Minute).
			Should(MatchError(ContainSubstring(refused.words)))
	}
	g.Expect(i.Admin.Create(t.Context(), usual)).To(Succeed())
}

// applyTenants applies tenants.yaml and sets the status of the quotas, because there is no controller manager: those of Memcacheds
// and ConfigMaps are used up.
func applyTenants(t *testing.T, i *manifests.Installation) {
	t.Helper()
	g := NewWithT(t)
	file, err := os.Open(repository.Path("docs", "operations", "tenants.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		object := &unstructured.Unstructured{}
		if decoder.Decode(object) != nil {
			break
		}
		g.Expect(i.Admin.Create(t.Context(), object)).To(Succeed())
	}
	quotas := &corev1.ResourceQuotaList{}
	g.Expect(i.Admin.List(t.Context(), quotas, client.InNamespace("shop"))).To(Succeed())
	g.Expect(quotas.Items).To(HaveLen(3))
	for _, quota := range quotas.Items {
		quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, maps.Clone(quota.Spec.Hard)
		for name, most := range quota.Spec.Hard {
			if !strings.HasPrefix(string(name), "count/") {
				most.Set(0)
				quota.Status.Used[name] = most
			}
		}
		g.Expect(i.Admin.Status().Update(t.Context(), &quota)).To(Succeed())
	}
}
