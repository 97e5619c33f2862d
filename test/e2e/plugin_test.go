// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("kubectl memcached", func() {
	It("shows, empties and restarts a cache", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2, leavesQuickly)
		run := func(args ...string) string {
			GinkgoHelper()
			return k8s.Kubectl(ctx, append(append([]string{"memcached"}, args...), "--namespace", mc.Namespace)...)
		}
		items := func() int {
			GinkgoHelper()
			var status struct {
				Items []struct {
					Total struct{ Stats map[string]int }
				}
			}
			Expect(json.Unmarshal([]byte(run("status", mc.Name, "--output=json")), &status)).To(Succeed())
			Expect(status.Items).To(HaveLen(1))
			return status.Items[0].Total.Stats["curr_items"]
		}
		clustertest.MustStore(ctx, k8s.NewClient(ctx, mc), 100)
		Expect(items()).To(Equal(100))
		Expect(run("stats", mc.Name, "settings", "--node="+mc.Status.Nodes[0])).To(MatchRegexp(`(?m)^maxbytes +67108864$`))

		_, err := k8s.TryKubectl(ctx, "memcached", "flush", mc.Name, "--namespace", mc.Namespace)
		Expect(err).To(MatchError(ContainSubstring("--yes")), "nobody answers the question")
		clustertest.MustFind(ctx, k8s.NewClient(ctx, mc), 100)
		run("flush", mc.Name, "--yes")
		Expect(k8s.NewClient(ctx, mc).Read(ctx, 100)).To(HaveField("Hits", 0))

		before := k8s.Incarnations(ctx, mc)
		run("restart", mc.Name, "--yes")
		k8s.UntilReady(ctx, mc)
		for node := range clustertest.Incarnations(k8s.Pods(ctx, mc)) { // without the last old pods, which may still be terminating
			Expect(before).NotTo(HaveKey(node))
		}
	})
})
