// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
)

// The pages with blocks that need pods run on the cluster, from the first block to the last.
var _ = Describe("The documentation", func() {
	for _, page := range clustertest.Must(docs.Pages("../..")) {
		if !slices.ContainsFunc(page.Blocks, func(b docs.Block) bool { return b.Marker == docs.OnCluster }) {
			continue
		}
		It("tells readers of "+page.Path+" what works", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
			namespace := k8s.NewNamespace(ctx)
			runner := &docs.Runner{Root: "../..", Scratch: GinkgoT().TempDir(), Env: []string{"IMG=" + operatorImage}}
			Expect(runner.Enter(ctx, namespace)).To(Succeed())
			// A single node is enough, and is replaced three times as fast.
			k8s.Kubectl(ctx, "scale", "--namespace", namespace, "memcached/sessions", "--replicas=1")
			k8s.Kubectl(ctx, "wait", "--namespace", namespace, "--for=condition=Ready", "memcached/sessions", "--timeout=2m")
			for _, block := range page.Blocks {
				if block.Runs() {
					By(strings.TrimSpace(block.Text))
					Expect(runner.Run(ctx, page, block)).To(Succeed())
				}
			}
		})
	}
})
