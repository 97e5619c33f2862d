// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// For kstatus, an object with neither conditions nor observedGeneration is Current, so the schema sets a default status.
var _ = It("A Memcached that the operator has not seen is InProgress for kstatus", func(ctx SpecContext) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "kstatus-"}}
	Expect(k8s.Create(ctx, mc)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, mc)).To(Succeed()) })
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), stored)).To(Succeed())
	result, err := status.Compute(stored)
	Expect(err).NotTo(HaveOccurred())
	Expect(result.Status).To(Equal(status.InProgressStatus), result.Message)
})
