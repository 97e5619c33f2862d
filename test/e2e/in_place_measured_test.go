// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// measured labels the specs for the changes in place in docs/benchmarks.md. Only E2E_FLAGS=--ginkgo.label-filter=measured runs them.
const measured = "measured"

var _ = Describe("Changes in place, measured", Label(onLocalCluster, measured), func() {
	const nodes = 5
	threads := func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = otherThreads(mc) }

	It("with items in a file", SpecTimeout(30*time.Minute), func(ctx SpecContext) {
		c := newKeptCacheOf(ctx, nodes, filledKeys, 100, inFile, memoryLimit("400Mi"))
		c.mustKeep(ctx, "threads", longestRestart, 0, threads)
		c.mustKeep(ctx, "kubectl memcached restart", longestRestart, 0, restartNow(ctx))
		withDefaultSync(ctx)
		c.mustKeep(ctx, "threads, syncFrequency of a minute", longestRestart, 0, threads)

		k8s.Change(ctx, c.mc, func() { inPlace(c.mc) })
		allowInPlace(ctx, c.mc.Namespace)
		c.mustKeep(ctx, "threads, syncFrequency of a minute, with the right to patch pods", longestRestart, 0, threads)
		c.mustKeep(ctx, "image", longestUpdate, 1, c.image("-alpine"))
		c.mustKeep(ctx, "resources.limits.memory", 0, 0, memoryLimit("420Mi"))
	})

	It("with items in memory", SpecTimeout(15*time.Minute), func(ctx SpecContext) {
		c := newKeptCacheOf(ctx, nodes, filledKeys, 100, memoryLimit("400Mi"))
		c.mustKeep(ctx, "config.memory, the limit given", 0, 0, memory("128Mi"))
		c = newKeptCacheOf(ctx, nodes, filledKeys, 100, inPlace)
		allowInPlace(ctx, c.mc.Namespace)
		c.mustKeep(ctx, "config.memory, the limit computed, with the right to patch pods", 0, 0, memory("128Mi"))
	})
})

// withDefaultSync makes the kubelet sync ConfigMaps at its default frequency, once a minute, until the spec ends.
func withDefaultSync(ctx context.Context) {
	GinkgoHelper()
	file := filepath.Join(clusterDir, "kubelet.yaml")
	config := string(clustertest.Must(os.ReadFile(file)))
	Expect(config).To(ContainSubstring("\nsyncFrequency: 10s\n"))
	DeferCleanup(func(ctx SpecContext) {
		Expect(os.WriteFile(file, []byte(config), 0o600)).To(Succeed())
		restartKubelet(ctx)
	})
	Expect(os.WriteFile(file, []byte(strings.Replace(config, "\nsyncFrequency: 10s\n", "\n", 1)), 0o600)).To(Succeed())
	restartKubelet(ctx)
}
