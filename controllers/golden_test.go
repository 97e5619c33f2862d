// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/repository"
)

// goldens returns the Memcacheds of the golden files and of the samples.
func goldens() []cachev1alpha1.Memcached {
	all, err := repository.Memcacheds()
	Expect(err).NotTo(HaveOccurred())
	return all
}

var _ = Describe("Every golden Memcached", func() {
	It("is accepted by the API server, converges, and is a fixed point: the second reconcile writes nothing", func(ctx SpecContext) {
		for _, golden := range goldens() {
			if memcached.HasProxies(&golden) {
				continue // see proxies_test.go
			}
			By(golden.Name)
			o := newOperator(defaults)
			mc := newMemcached(ctx, 0, func(mc *cachev1alpha1.Memcached) { mc.Spec = golden.Spec })
			writes := []string{writeService, writeDeployment, writeStatus}
			if enabled := mc.Spec.PodDisruptionBudget.Enabled; enabled == nil || *enabled {
				writes = append(writes, writeBudget)
			}
			if mc.Spec.NetworkPolicy != nil {
				writes = append(writes, writePolicy)
			}
			if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
				writes[1] = writeStatefulSet
				writes = append(writes, writeConfigMap)
			}
			o.step(ctx, mc, writes...)
			o.step(ctx, mc)
			newOperator(defaults).step(ctx, mc)
			rollOut(ctx, mc)
			o.step(ctx, mc, writeStatus)
			Expect(summary(ctx, mc, cachev1alpha1.ConditionReady)).To(Equal("True/AllNodesReady"))
			newOperator(defaults).step(ctx, mc)
		}
	})
})
