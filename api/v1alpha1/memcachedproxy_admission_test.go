// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// dryRunProxy creates a MemcachedProxy with this name and spec (YAML), without storing it. It returns what would be stored.
func dryRunProxy(ctx context.Context, name, spec string) (*cachev1alpha1.MemcachedProxy, error) {
	text, err := yaml.YAMLToJSON([]byte(spec))
	Expect(err).NotTo(HaveOccurred())
	body := `{"apiVersion": "cache.example.com/v1alpha1", "kind": "MemcachedProxy", "metadata": {"name": "` + name + `"}, "spec": ` +
		string(text) + `}`
	result := raw.Post().Namespace(metav1.NamespaceDefault).Resource("memcachedproxies").
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body([]byte(body)).Do(ctx)
	stored, err := result.Raw()
	if err != nil {
		return nil, result.Error()
	}
	proxy := &cachev1alpha1.MemcachedProxy{}
	return proxy, json.Unmarshal(stored, proxy)
}

var _ = DescribeTable("The spec of a proxy that cannot work is refused with the field and the fix",
	func(ctx SpecContext, spec string, cause ...string) {
		_, err := dryRunProxy(ctx, "front", spec)
		expectRefusal(err, strings.Join(cause, ""))
	},
	entryOf,
	Entry(nil, `{}`, `spec.pools: Required value`),
	Entry(nil, `{pools: []}`, `spec.pools in body should have at least 1 items`),
	Entry(nil, `{pools: [{name: a}, {name: a}]}`, `spec.pools[1]: Duplicate value`),
	Entry(nil, `{pools: [{name: a}, {name: b}, {name: c}, {name: d}]}`, `must have at most 3 items`),
	Entry(nil, `{pools: [{}]}`, `spec.pools[0].name: Required value`),
	Entry(nil, `{pools: [{name: Sessions}]}`, `spec.pools[].name must be the name of a Memcached of the namespace`),
	Entry(nil, `{pools: [{name: a}, {name: front}]}`, `spec.pools[].name must not be the name of the MemcachedProxy, whose `,
		`objects bear the same names as those of a Memcached: give the MemcachedProxy another name`),
	Entry(nil, `{pools: [{name: a}], size: -1}`, `spec.size in body should be greater than or equal to 0`),
	Entry(nil, `{pools: [{name: a}], size: 1001}`, `spec.size in body should be less than or equal to 1000`),
	Entry(nil, `{pools: [{name: a}], config: {threads: 65}}`, `spec.config.threads in body should be less than or equal to 64`),
	Entry(nil, `{pools: [{name: a}], config: {threads: 0}}`, `spec.config.threads in body should be greater than or equal to 1`),
	Entry(nil, `{pools: [{name: a}], config: {maxConnections: 65537}}`,
		`spec.config.maxConnections in body should be less than or equal to 65536`),
	Entry(nil, `{pools: [{name: a}], image: "Memcached"}`, `spec.image must be an image reference`),
	Entry(nil, `{pools: [{name: a}], imagePullPolicy: Sometimes}`, `spec.imagePullPolicy: Unsupported value: "Sometimes"`),
	Entry(nil, `{pools: [{name: a}], resources: {limits: {gpu: 1}}}`, `spec.resources.limits may hold cpu, memory and ephemeral-storage only`),
	Entry(nil, `{pools: [{name: a}], podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}}`, `spec.podDisruptionBudget`),
	Entry(nil, `{pools: [{name: a}], networkPolicy: {from: []}}`, `spec.networkPolicy.from in body should have at least 1 items`),
	Entry(nil, `{pools: [{name: a}], networkPolicy: {from: [{}]}}`, peerRule),
	Entry(nil, `{pools: [{name: a}], networkPolicy: {metricsFrom: []}}`, `spec.networkPolicy.metricsFrom in body should have at least 1 items`),
	Entry(nil, `{pools: [{name: a}], tls: {}}`, `spec.tls.secretName: Required value`),
	Entry(nil, `{pools: [{name: a}], tls: {secretName: Front}}`, `spec.tls.secretName must be the name of a Secret`),
	Entry(nil, `{pools: [{name: a}], tls: {secretName: front, clientAuth: Maybe}}`, `spec.tls.clientAuth: Unsupported value: "Maybe"`),
	Entry(nil, `{pools: [{name: a}], tls: {secretName: front, minVersion: "1.1"}}`, `spec.tls.minVersion must be "1.2" or "1.3"`),
	Entry(nil, `{pools: [{name: a}], podMetadata: {labels: {app.kubernetes.io/name: x}}}`, `they belong to the operator, remove them`),
	Entry(nil, `{pools: [{name: a}], scheduling: {priorityClassName: High}}`, priorityClassRule),
)

var _ = Describe("A MemcachedProxy", func() {
	It("needs nothing but a pool", func(ctx SpecContext) {
		proxy, err := dryRunProxy(ctx, "front", `{pools: [{name: sessions}]}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(proxy.Spec.Size).To(HaveValue(BeEquivalentTo(2)))
		Expect(proxy.Spec.Config.MaxConnections).To(BeEquivalentTo(1024))
		Expect(proxy.Spec.PodDisruptionBudget.Enabled).To(HaveValue(BeTrue()))
		Expect(proxy.Status.ObservedGeneration).To(BeEquivalentTo(-1))
	})
	It("has the name of a Service", func(ctx SpecContext) {
		for _, name := range []string{"1front", "front.end", strings.Repeat("a", 64)} {
			_, err := dryRunProxy(ctx, name, `{pools: [{name: sessions}]}`)
			expectRefusal(err, "metadata.name must be the name of a Service")
		}
	})
	It("accepts each field", func(ctx SpecContext) {
		_, err := dryRunProxy(ctx, "front", `{size: 0, pools: [{name: sessions}], image: "memcached:1.6.45", imagePullPolicy: Always,
			imagePullSecrets: [{name: a}], config: {threads: 64, maxConnections: 65536}, resources: {limits: {memory: 1Gi}},
			scheduling: {nodeSelector: {a: b}}, podMetadata: {labels: {a: b}}, service: {annotations: {a: b}, ipFamilyPolicy: PreferDualStack},
			podDisruptionBudget: {minAvailable: 50%}, networkPolicy: {enabled: true, from: [{podSelector: {}}],
			metricsFrom: [{namespaceSelector: {}}]},
			tls: {secretName: front, clientAuth: Require, minVersion: "1.3", plaintext: Enabled}}`)
		Expect(err).NotTo(HaveOccurred())
	})
	It("can be scaled, and kubectl get shows what it leads to", func(ctx SpecContext) {
		proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "scaled"}}
		proxy.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: "sessions"}}
		Expect(k8s.Create(ctx, proxy)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, proxy)).To(Succeed()) })
		proxy.Status = cachev1alpha1.MemcachedProxyStatus{
			Replicas: 2, ReadyReplicas: 1, Selector: "a=b", Image: "memcached:1.6.45", ObservedGeneration: 1,
			Routes: &cachev1alpha1.MemcachedProxyRoutes{Nodes: 3, Next: ptr.To(int32(4)), From: ptr.To(metav1.Now())},
			Conditions: []metav1.Condition{{
				Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonCreating, LastTransitionTime: metav1.Now(),
			}},
		}
		Expect(k8s.Status().Update(ctx, proxy)).To(Succeed())
		scale := &autoscalingv1.Scale{}
		Expect(k8s.SubResource("scale").Get(ctx, proxy, scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(2))
		Expect(scale.Status).To(Equal(autoscalingv1.ScaleStatus{Replicas: 2, Selector: "a=b"}))
		scale.Spec.Replicas = 5
		Expect(k8s.SubResource("scale").Update(ctx, proxy, client.WithSubResourceBody(scale))).To(Succeed())
		Expect(cellsOf(ctx, "memcachedproxies", proxy, 1)).To(Equal(
			"Size=5 Ready=1 Pool=sessions Status=Creating Nodes=3 Image=memcached:1.6.45 Generation=2 Observed=1"))
	})
})
