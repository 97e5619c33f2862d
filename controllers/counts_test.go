// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A Memcached without nodes", func() {
	It("has counts, so that clients can show them and wait for them", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 0)
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
		Expect(user.Get(ctx, client.ObjectKeyFromObject(mc), stored)).To(Succeed())
		Expect(stored.Object["status"]).To(And(
			HaveKeyWithValue("replicas", int64(0)), HaveKeyWithValue("readyReplicas", int64(0)), HaveKeyWithValue("updatedReplicas", int64(0)),
		))
	})
})
