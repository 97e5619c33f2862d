// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
)

// Each page with a block that needs pods has a spec. The spec runs the shell and YAML blocks of the page in their order, except blocks
// with a name and blocks that are marked as not run.
var _ = Describe("The documentation", func() {
	for _, page := range clustertest.Must(docs.Pages("../..")) {
		if !slices.ContainsFunc(page.Blocks, func(b docs.Block) bool { return b.Marker == docs.OnCluster }) {
			continue
		}
		It("tells readers of "+page.Path+" what works", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
			namespace := k8s.NewNamespace(ctx)
			runner := &docs.Runner{Root: "../..", Scratch: GinkgoT().TempDir(), Env: []string{"IMG=" + operatorImage}}
			Expect(runner.Enter(ctx, namespace)).To(Succeed())
			// A single node is enough, and a rollout is three times as fast as with three nodes.
			k8s.Kubectl(ctx, "scale", "--namespace", namespace, "memcached/sessions", "--replicas=1")
			k8s.Kubectl(ctx, "wait", "--namespace", namespace, "--for=condition=Ready", "memcached/sessions", "--timeout=2m")
			Eventually(ctx, func() []cachev1alpha1.Memcached { return othersThan(ctx, namespace) }).WithTimeout(2*time.Minute).
				Should(BeEmpty(), "caches of former stories, which a page's commands would report")
			for _, block := range page.Blocks {
				if block.Runs() {
					By(strings.TrimSpace(block.Text))
					Expect(runner.Run(ctx, page, block)).To(Succeed())
				}
			}
		})
	}
})

func othersThan(ctx context.Context, namespace string) []cachev1alpha1.Memcached {
	var all cachev1alpha1.MemcachedList
	Expect(k8s.List(ctx, &all)).To(Succeed())
	return slices.DeleteFunc(all.Items, func(mc cachev1alpha1.Memcached) bool { return mc.Namespace == namespace })
}

// documentedIn returns the named block of a page. A comment before the block gives it the name.
func documentedIn(page, name string) string {
	GinkgoHelper()
	parsed := docs.Parse(page, []byte(clustertest.Read(page)))
	blocks := parsed.Named()
	Expect(blocks).To(HaveKey(name), page)
	return blocks[name]
}
