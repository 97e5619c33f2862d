// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

var _ = Describe("A manager that is restarted", Ordered, func() {
	var all []*cachev1alpha1.Memcached
	var namespaces string // the namespaces of these Memcacheds; others may contain Memcacheds that other tests have left

	BeforeAll(func(ctx SpecContext) {
		p := start(ctx, "", 0)
		for _, golden := range goldens() {
			all = append(all, newMemcached(ctx, 0, func(mc *cachev1alpha1.Memcached) { mc.Spec = golden.Spec }))
			namespaces += all[len(all)-1].Namespace + ","
		}
		ready(ctx, all...)
		p.stop()
	})

	It("sends nothing over converged resources, nor at resyncs", func(ctx SpecContext) {
		p := start(ctx, namespaces, time.Second)
		// Each Memcached is reconciled when the caches are filled, and again at every resync.
		Eventually(ctx, func() float64 { return p.reconciles("Unchanged") }).Should(BeNumerically(">=", 3*len(all)))
		Expect(p.requests.Writes()).To(BeEmpty())
		Expect(p.requests.Gets()).To(BeEmpty())
	})

	It("looks first at those that somebody waits for", func(ctx SpecContext) {
		resized := all[len(all)/2]
		change(ctx, resized, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size++ })
		asked, goOn := make(chan struct{}, 1), make(chan struct{})
		p := start(ctx, namespaces, 0, func(options *ctrl.Options) {
			options.Controller.MaxConcurrentReconciles = 1
			options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
				c, err := client.NewWithWatch(config, options)
				return interceptor.NewClient(c, interceptor.Funcs{Patch: func(
					ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption,
				) error {
					asked <- struct{}{}
					select {
					case <-goOn:
					case <-ctx.Done():
					}
					return c.Patch(ctx, object, patch, opts...)
				}}), err
			}
		})
		Eventually(ctx, asked).Should(Receive())
		Expect(p.reconciles("Unchanged")).To(BeZero())
		close(goOn)
		Eventually(ctx, func() float64 { return p.reconciles("Unchanged") }).Should(BeNumerically(">=", len(all)-1))
		Expect(p.reconciles("Applied")).To(BeNumerically("==", 1))
	})
})
