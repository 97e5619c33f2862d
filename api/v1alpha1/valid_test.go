// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A valid Memcached", func() {
	It("needs a size only, and gets the documented defaults", func(ctx SpecContext) {
		Expect(specOf(dryRunSpec(ctx, `size: 3`))).To(MatchYAML(`
size: 3
imagePullPolicy: IfNotPresent
config: {memory: 64Mi, maxConnections: 1024, maxItemSize: 1Mi, flushAll: true, dump: false}
podDisruptionBudget: {enabled: true}
workload: Deployment
copies: 1
updateStrategy: {minReadySeconds: 0}
gracefulShutdown: {preStopDelaySeconds: 5}
`))
	})

	It("may have every field at once, and keeps what was given", func(ctx SpecContext) {
		Expect(specOf(dryRunSpec(ctx, everyField()))).To(MatchYAML(everyField()))
	})

	DescribeTable("may have values at the very limits", func(ctx SpecContext, spec string) {
		_, err := dryRunSpec(ctx, spec)
		Expect(err).NotTo(HaveOccurred())
	},
		EntryDescription("%s"),
		Entry(nil, `size: 0`),
		Entry(nil, `size: 1000`),
		Entry(nil, `size: 1.0`),
		Entry(nil, `{size: 1, config: null}`),
		Entry(nil, `{size: 1, config: {memory: null, maxItemSize: null}}`),
		Entry(nil, `{size: 1, config: {memory: 64Mi, maxItemSize: 32Mi}}`),
		Entry(nil, `{size: 1, config: {memory: 1Ti, maxItemSize: 1Gi}}`),
		Entry(nil, `{size: 1, config: {memory: 1.5Gi, maxItemSize: 512Ki}}`),
		Entry(nil, `{size: 1, config: {memory: 67108864, maxItemSize: 524288}}`),
		Entry(nil, `{size: 1, config: {maxConnections: 1, threads: 1}}`),
		Entry(nil, `{size: 1, config: {maxConnections: 65536, threads: 64}}`),
		Entry(nil, `{size: 1, config: {idleTimeout: 1s}}`),
		Entry(nil, `{size: 1, config: {idleTimeout: 719h59m60s}}`),
		Entry(nil, `{size: 1, config: {idleTimeout: 720h}}`),
		// 64Mi and 1024 connections need 164.7Mi. 1Gi and 1 connection need 1187.7Mi.
		Entry(nil, `{size: 1, resources: {limits: {memory: 165Mi}}}`),
		Entry(nil, `{size: 1, resources: {requests: {memory: 165Mi}}}`),
		Entry(nil, `{size: 1, config: {memory: 1Gi, maxConnections: 1}, resources: {limits: {memory: 1188Mi}}}`),
		// TLS takes 5Mi, and 42Ki more for each connection: 211.7Mi.
		Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a}, resources: {limits: {memory: 212Mi}}}`),
		Entry(nil, `{size: 1, workload: StatefulSet, auth: {secretName: a}, resources: {limits: {memory: 165Mi}}}`),
		Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a.b-c, clientAuth: None, minVersion: "1.2", plaintext: Disabled}, auth: {secretName: a}}`),
		Entry(nil, `{size: 1, tls: null, auth: null}`),
		// Each thread takes 7.09Mi. A CPU limit of 1 means one thread.
		Entry(nil, `{size: 1, config: {threads: 1}, resources: {limits: {memory: 144Mi}}}`),
		Entry(nil, `{size: 1, resources: {limits: {memory: 144Mi, cpu: 1}}}`),
		// With a limit, only the limit must reach what memcached needs. The request may be lower.
		Entry(nil, `{size: 1, resources: {limits: {memory: 1Gi}, requests: {memory: 0}}}`),
		Entry(nil, `{size: 1, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1000m, memory: 1024Mi}}}`),
		Entry(nil, `{size: 1, resources: {limits: {cpu: 0}, requests: {ephemeral-storage: 1Gi}}}`),
		Entry(nil, `{size: 1, resources: {limits: {cpu: "0.5"}, requests: {cpu: ".5"}}}`),
		Entry(nil, `{size: 1, resources: {limits: {}, requests: {}}}`),
		Entry(nil, `{size: 1, workload: StatefulSet, agent: {resources: {limits: {memory: 24Mi}, requests: {memory: 1}}}}`),
		Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a}, agent: {resources: {requests: {memory: 33554432}}}}`),
		Entry(nil, `{size: 1, podDisruptionBudget: {maxUnavailable: 0}}`),
		Entry(nil, `{size: 1, podDisruptionBudget: {maxUnavailable: 1000}}`),
		Entry(nil, `{size: 1, podDisruptionBudget: {maxUnavailable: 100%}}`),
		Entry(nil, `{size: 1, networkPolicy: {}}`),
		Entry(nil, `{size: 3, workload: StatefulSet}`),
		Entry(nil, `{size: 3, workload: StatefulSet, storage: {type: MemoryFile}, config: {memory: 128Mi}}`),
		Entry(nil, `{size: 3, workload: StatefulSet, storage: {type: MemoryFile}, config: {memory: 134217728}}`),
		Entry(nil, `{size: 3, storage: {type: Memory}}`),
		Entry(nil, `{size: 3, storage: {type: null}}`),
		Entry(nil, `{size: 3, storage: {}}`),
		Entry(nil, `{size: 3, workload: StatefulSet, updateStrategy: {maxUnavailable: 50%}}`),
		Entry(nil, `{size: 3, workload: Deployment, updateStrategy: {maxUnavailable: 0}}`),
		Entry(nil, `{size: 1, updateStrategy: {maxUnavailable: 0%}}`),
		Entry(nil, `{size: 333, workload: StatefulSet, copies: 3}`),
		Entry(nil, `{size: 1, workload: StatefulSet, copies: 2, tls: {secretName: tls}, proxy: {threads: 1}}`),
		Entry(nil, `{size: 1, workload: StatefulSet, copies: 2, storage: {type: Memory}, podDisruptionBudget: {maxUnavailable: 0}}`),
		// With proxies, TLS takes no memory of nodes.
		Entry(nil, `{size: 1, workload: StatefulSet, proxy: {}, tls: {secretName: a}, resources: {limits: {memory: 165Mi}}}`),
		Entry(nil, `{size: 1, workload: StatefulSet, copies: 2, tls: {secretName: a}, resources: {limits: {memory: 165Mi}}}`),
		Entry(nil, `{size: 1, workload: StatefulSet, proxy: {size: 0, threads: 64, resources: {limits: {memory: 1}}}}`),
		Entry(nil, `{size: 1, updateStrategy: {minReadySeconds: 3600}}`),
		Entry(nil, `{size: 1, gracefulShutdown: {preStopDelaySeconds: 0}}`),
		Entry(nil, `{size: 1, gracefulShutdown: {preStopDelaySeconds: 300}}`),
		Entry(nil, `{size: 1, imagePullSecrets: [{name: a}, {name: b.c-d}]}`),
		Entry(nil, `{size: 1, scheduling: {priorityClassName: system-cluster-critical}}`),
		Entry(nil, `{size: 1, podMetadata: {labels: {empty: "", Team_1.x: "A_b.c-1", example.com/team: a}}}`),
		Entry(nil, `{size: 1, podMetadata: {annotations: {empty: "", example.com/text: "🚀 and a\nline"}}}`),
		Entry(nil, `{size: 1, service: {labels: {team: a}, annotations: {Example.com/lb: internal}}}`),
		Entry(nil, `{size: 1, paused: true, restartedAt: "2026-01-01T00:00:00Z"}`),
		Entry(nil, `{size: 1, paused: false, restartedAt: "2026-01-01T00:00:00.5+01:00"}`),
		Entry(nil, `{size: 1, restartedAt: "9999-12-31T23:59:59Z"}`),
		Entry(nil, `{size: 1, restartedAt: "0001-01-01T00:00:01Z"}`),
		Entry(nil, `{size: 1, workload: StatefulSet, restartedAt: "2026-01-01T00:00:00Z", replacedAt: "2026-01-01T00:00:00Z"}`),
		Entry(nil, `{size: 1, resources: {limits: {memory: 1Pi, cpu: 1Pi, ephemeral-storage: 1Pi}}}`),
	)
})

var _ = Describe("The subresources of a Memcached", func() {
	It("scale reads and writes spec.size, as kubectl scale does", func(ctx SpecContext) {
		mc := create(ctx, "scaled", cachev1alpha1.MemcachedSpec{Size: 3})
		mc.Status = cachev1alpha1.MemcachedStatus{Replicas: 2, Selector: "app.kubernetes.io/instance=scaled"}
		Expect(k8s.Status().Update(ctx, mc)).To(Succeed())

		scale := &autoscalingv1.Scale{}
		Expect(k8s.SubResource("scale").Get(ctx, mc, scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(Equal(int32(3)))
		Expect(scale.Status).To(Equal(autoscalingv1.ScaleStatus{
			Replicas: 2, Selector: "app.kubernetes.io/instance=scaled",
		}))

		scale.Spec.Replicas = 4
		Expect(k8s.SubResource("scale").Update(ctx, mc, client.WithSubResourceBody(scale))).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
		Expect(mc.Spec.Size).To(Equal(int32(4)))
		Expect(mc.Generation).To(Equal(int64(2)))

		scale.Spec.Replicas = 1001
		scale.ResourceVersion = ""
		err := k8s.SubResource("scale").Update(ctx, mc, client.WithSubResourceBody(scale))
		expectRefusal(err, "spec.size in body should be less than or equal to 1000")
	})

	It("status holds each node and each condition once", func(ctx SpecContext) {
		mc := create(ctx, "once", cachev1alpha1.MemcachedSpec{Size: 3})
		mc.Status.Nodes = []string{"once-1", "once-1"}
		expectRefusal(k8s.Status().Update(ctx, mc), `status.nodes[1]: Duplicate value: "once-1"`)

		condition := metav1.Condition{
			Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionTrue,
			Reason: cachev1alpha1.ReasonAllNodesReady, LastTransitionTime: metav1.Unix(1, 0),
		}
		mc.Status.Nodes, mc.Status.Conditions = nil, []metav1.Condition{condition, condition}
		expectRefusal(k8s.Status().Update(ctx, mc), `status.conditions[1]: Duplicate value: {"type":"Ready"}`)
	})
})

// specOf returns the spec of a stored Memcached. It takes the results of dryRun.
func specOf(stored []byte, err error) string {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	memcached := struct {
		Spec json.RawMessage `json:"spec"`
	}{}
	Expect(json.Unmarshal(stored, &memcached)).To(Succeed())
	return string(memcached.Spec)
}

// everyField returns testdata/every_field.yaml: a spec with all fields that can be set together, each with another value than its
// default.
func everyField() string {
	text, err := os.ReadFile("testdata/every_field.yaml")
	utilruntime.Must(err)
	return string(text)
}
