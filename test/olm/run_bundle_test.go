// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// opmImage is the default image of opm for OLM and operator-sdk.
const opmImage = "quay.io/operator-framework/opm:latest"

var _ = Describe("A developer tries the bundle with operator-sdk", func() {
	It("gets a cache that serves, and removes all of it again", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		// operator-sdk runs a pod that the level restricted does not admit.
		namespace := k8s.NewNamespaceAt(ctx, "baseline")
		inTempDir().Run(ctx, "operator-sdk", "run", "bundle", mirrored(bundleImage), "--namespace", namespace, "--timeout", "3m",
			"--index-image", mirrored(opmImage))
		untilInstalled(ctx, namespace, version)

		By("creating the sample")
		k8s.Kubectl(ctx, "apply", "--namespace", namespace, "--filename", "config/samples/cache_v1alpha1_memcached.yaml")
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-sample"}}
		k8s.UntilReady(ctx, mc)
		k8s.MustServe(ctx, mc, 1000)

		By("cleaning up, which deletes the definition and with it the cache")
		inTempDir().Run(ctx, "operator-sdk", "cleanup", packageName, "--namespace", namespace, "--timeout", "1m")
		Eventually(ctx, func() []string { return left(ctx, namespace) }).Should(BeEmpty(), "left in the namespace")
		removeRest(ctx)
	})
})

// inTempDir runs commands in a folder that is deleted with the spec: operator-sdk leaves files in its working directory.
func inTempDir() *clustertest.Cluster { return k8s.In(GinkgoT().TempDir()) }
