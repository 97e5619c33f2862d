// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Many users see no more of a status than these columns.
var _ = Describe("kubectl get", func() {
	var mc *cachev1alpha1.Memcached
	BeforeEach(func(ctx SpecContext) {
		mc = &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "columns-"}}
		mc.Spec.Size = 3
		Expect(k8s.Create(ctx, mc)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, mc)).To(Succeed()) })
	})

	It("shows how many nodes are ready and why not all are", func(ctx SpecContext) {
		for _, c := range []struct {
			ready  int32
			reason string
			want   string
		}{
			{0, cachev1alpha1.ReasonCreating, "Size=3 Ready=0 Status=Creating"},
			{2, cachev1alpha1.ReasonImagePullFailed, "Size=3 Ready=2 Status=ImagePullFailed"},
			{3, cachev1alpha1.ReasonAllNodesReady, "Size=3 Ready=3 Status=AllNodesReady"},
		} {
			report(ctx, mc, c.ready, c.reason)
			Expect(cells(ctx, "memcacheds", mc, 0)).To(Equal(c.want))
		}
	})

	It("says that nobody has seen it, before the operator has", func(ctx SpecContext) {
		Expect(cells(ctx, "memcacheds", mc, 1)).To(Equal("Size=3 Ready=0 Status=WaitingForOperator Updated=0 Workload=Deployment Image=<nil> Item-Memory=64Mi"))
		stored := &cachev1alpha1.Memcached{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), stored)).To(Succeed())
		Expect(stored.Status.Conditions).To(ConsistOf(And(HaveField("Type", "Ready"), HaveField("Status", metav1.ConditionUnknown),
			HaveField("Message", "Waiting for the operator"))))

		// For kstatus, an object with neither conditions nor observedGeneration is Current, so the schema sets a default status.
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
		Expect(err).NotTo(HaveOccurred())
		result, err := kstatus.Compute(&unstructured.Unstructured{Object: content})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Status).To(Equal(kstatus.InProgressStatus), result.Message)
	})
})

func report(ctx context.Context, mc *cachev1alpha1.Memcached, ready int32, reason string) {
	mc.Status = cachev1alpha1.MemcachedStatus{
		ObservedGeneration: mc.Generation, ReadyReplicas: ready, UpdatedReplicas: ready, Image: "memcached:1.6.45",
		Conditions: []metav1.Condition{{
			Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now(),
		}},
	}
	Expect(k8s.Status().Update(ctx, mc)).To(Succeed())
}

// cells returns the columns of kubectl get, or with priority 1 those of kubectl get -o wide. It leaves out name and age.
func cells(ctx context.Context, resource string, object client.Object, priority int32) string {
	text, err := raw.Get().SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Namespace(object.GetNamespace()).Resource(resource).Name(object.GetName()).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	table := metav1.Table{}
	Expect(json.Unmarshal(text, &table)).To(Succeed())
	line := ""
	for i, column := range table.ColumnDefinitions {
		if column.Name != "Name" && column.Name != "Age" && column.Priority <= priority {
			line += fmt.Sprintf(" %s=%v", column.Name, table.Rows[0].Cells[i])
		}
	}
	return line[1:]
}

var _ = Describe("A MemcachedProxy", func() {
	It("needs nothing but a pool, and gets the documented defaults", func(ctx SpecContext) {
		Expect(specOf(dryRun(ctx, "MemcachedProxy", "front", `{"pools": [{"name": "sessions"}]}`))).To(MatchYAML(`
size: 2
pools: [{name: sessions}]
imagePullPolicy: IfNotPresent
config: {maxConnections: 1024}
podDisruptionBudget: {enabled: true}
`))
	})

	It("can be scaled, and kubectl get shows what it leads to", func(ctx SpecContext) {
		proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "scaled"}}
		proxy.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: "sessions"}}
		Expect(k8s.Create(ctx, proxy)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, proxy)).To(Succeed()) })
		Expect(proxy.Status.ObservedGeneration).To(BeEquivalentTo(-1))
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
		Expect(cells(ctx, "memcachedproxies", proxy, 1)).To(Equal("Size=5 Ready=1 Pool=sessions Status=Creating Nodes=3 Image=memcached:1.6.45"))
	})
})
