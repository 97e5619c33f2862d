// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/testenv"
)

type golden struct {
	name string
	spec cachev1alpha1.MemcachedSpec
}

// goldens are the specs of the golden files, one for every feature of the API, and of the samples.
func goldens() []golden {
	files, err := filepath.Glob(testenv.Path("internal", "memcached", "desired", "testdata", "*.input.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	samples, err := filepath.Glob(testenv.Path("config", "samples", "cache_*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(samples).NotTo(BeEmpty())
	files = append(files, samples...)
	var goldens []golden
	for _, file := range files {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		var mc cachev1alpha1.Memcached
		Expect(yaml.UnmarshalStrict(text, &mc)).To(Succeed(), file)
		goldens = append(goldens, golden{name: filepath.Base(file), spec: mc.Spec})
	}
	return goldens
}

var _ = Describe("Every golden Memcached", func() {
	It("is accepted by the API server, converges, and is a fixed point: the second reconcile writes nothing", func(ctx SpecContext) {
		for _, golden := range goldens() {
			By(golden.name)
			o := newOperator(defaults)
			mc := newMemcached(ctx, 0, func(mc *cachev1alpha1.Memcached) { mc.Spec = golden.spec })
			writes := []string{writeService, writeDeployment, writeStatus}
			if enabled := mc.Spec.PodDisruptionBudget.Enabled; enabled == nil || *enabled {
				writes = append(writes, writeBudget)
			}
			if policy := mc.Spec.NetworkPolicy; ptr.Deref(policy.Enabled, len(policy.From) > 0) {
				writes = append(writes, writePolicy)
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
