// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
)

// previousCheckout is where hack/cluster/olm.sh puts the sources of the previous version.
const previousCheckout = "bin/images/previous/checkout"

// This story does not use OLM. It is in this suite because "make test-olm" builds the previous version and the version of the
// checkout.
var _ = Describe("An administrator who does not use OLM", func() {
	It("upgrades the operator with make, the CRD first, without losing a key", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		previous := mirrored(tagged(operatorImage, "v"+clustertest.PreviousVersion()))
		DeferCleanup(func(ctx SpecContext) {
			k8s.Make(ctx, "undeploy-all", "IMG="+previous, "CONFIRM=yes", "ignore-not-found=true")
		})
		k8s.Make(ctx, "-C", previousCheckout, "deploy", "IMG="+previous)
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3)
		cache := k8s.Fill(ctx, mc, keys)

		cache.MustSurvive(ctx, func() {
			k8s.Make(ctx, "install")

			By("using the previous operator with the new CRD")
			k8s.Change(ctx, mc, func() { mc.Spec.UpdateStrategy.MinReadySeconds++ })
			k8s.UntilReady(ctx, mc)

			k8s.Make(ctx, "deploy", "IMG="+mirrored(operatorImage))
			Expect(runningImage(ctx, "memcached-operator-system")).To(Equal(mirrored(operatorImage)))
		})

		By("scaling the cache, which proves that the new operator serves it")
		k8s.Change(ctx, mc, func() { mc.Spec.Size = 4 })
		k8s.UntilReady(ctx, mc)
		Expect(mc.Status.Nodes).To(HaveLen(4))
	})
})
