// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A manager that is restarted", Ordered, func() {
	var all []*cachev1alpha1.Memcached
	namespaces := map[string]cache.Config{} // other tests have left Memcacheds in others

	BeforeAll(func(ctx SpecContext) {
		p := start(ctx, "", 0)
		for _, golden := range goldens() {
			all = append(all, newMemcached(ctx, 0, func(mc *cachev1alpha1.Memcached) { mc.Spec = golden.Spec }))
			namespaces[all[len(all)-1].Namespace] = cache.Config{}
		}
		ready(ctx, all...)
		p.stop()
	})

	It("sends nothing over converged resources, nor at resyncs", func(ctx SpecContext) {
		p := start(ctx, "", time.Second, func(options *ctrl.Options) { options.Cache.DefaultNamespaces = namespaces })
		// Each Memcached is reconciled when the caches are filled, and again at every resync.
		Eventually(ctx, func() float64 { return p.reconciles("Unchanged") }).Should(BeNumerically(">=", 3*len(all)))
		Expect(p.requests.Writes()).To(BeEmpty())
		Expect(p.requests.Gets()).To(BeEmpty())
	})
})
