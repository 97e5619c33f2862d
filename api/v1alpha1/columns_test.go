// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
		Expect(cells(ctx, "memcacheds", mc, 1)).To(Equal("Size=3 Ready=0 Status=WaitingForOperator Updated=0 Workload=Deployment Address=<nil> Image=<nil> Item-Memory=64Mi"))
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
