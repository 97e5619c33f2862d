// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// The plugin must report what the nodes themselves report.
var _ = Describe("kubectl memcached", func() {
	It("shows, empties and restarts a cache", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		p := newPluginStory(ctx)
		p.showsItems(ctx)
		p.flushes(ctx)
		p.restarts(ctx)
	})
})

// pluginStory is a cache with its servers.
type pluginStory struct {
	mc      *cachev1alpha1.Memcached
	servers []traffic.Server
}

func newPluginStory(ctx context.Context) *pluginStory {
	GinkgoHelper()
	p := &pluginStory{mc: k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2, leavesQuickly)}
	Eventually(ctx, k8s.Object(p.mc)).Should(HaveField("Status.Nodes", HaveLen(2)))
	p.servers = k8s.Servers(ctx, p.mc)
	for i := range p.servers { // clients know the nodes of a Deployment by their addresses
		p.servers[i].Name = strings.TrimSuffix(p.servers[i].Address, ":11211")
	}
	return p
}

func (p *pluginStory) run(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return k8s.Kubectl(ctx, append(append([]string{"memcached"}, args...), "--namespace", p.mc.Namespace)...)
}

// has returns the nodes that have a key.
func (p *pluginStory) has(ctx context.Context, key string) []string {
	GinkgoHelper()
	var nodes []string
	for _, server := range p.servers {
		hits, last, err := traffic.Get(ctx, k8s.ConnectTo(ctx, server.Address), key)
		Expect(err).NotTo(HaveOccurred())
		Expect(last).To(Equal("END"))
		if hits > 0 {
			nodes = append(nodes, server.Name)
		}
	}
	return nodes
}

// showsItems stores keys, and compares the plugin's figures with those of the nodes.
func (p *pluginStory) showsItems(ctx context.Context) {
	GinkgoHelper()
	clustertest.MustStore(ctx, k8s.NewClientOf(p.servers...), 100)
	type figures struct {
		Version string
		Stats   map[string]int
	}
	var status struct {
		Items []struct {
			Nodes []struct {
				Name, State string
				Figures     figures
			}
			Total figures
		}
	}
	Expect(json.Unmarshal([]byte(p.run(ctx, "status", p.mc.Name, "--output=json")), &status)).To(Succeed())
	Expect(status.Items).To(HaveLen(1))
	Expect(status.Items[0].Total.Stats).To(HaveKeyWithValue("curr_items", 100))
	Expect(status.Items[0].Nodes).To(HaveLen(2))
	for _, node := range status.Items[0].Nodes { // in another order than in the status of the Memcached
		Expect(p.mc.Status.Nodes).To(ContainElement(node.Name))
		server := clustertest.Must(traffic.Servers(ctx, k8s, p.mc.Namespace, []string{node.Name}))[0]
		stats := clustertest.Must(k8s.ConnectTo(ctx, server.Address).Stats(ctx))
		Expect(node.State).To(Equal("Ready"))
		Expect(node.Figures.Version).To(Equal(stats["version"]))
		Expect(stats).To(HaveKeyWithValue("curr_items", strconv.Itoa(node.Figures.Stats["curr_items"])))
	}
	Expect(p.run(ctx, "stats", p.mc.Name, "settings", "--node="+p.mc.Status.Nodes[0])).To(MatchRegexp(`(?m)^maxbytes +67108864$`))
}

func (p *pluginStory) flushes(ctx context.Context) {
	GinkgoHelper()
	_, err := k8s.TryKubectl(ctx, "memcached", "flush", p.mc.Name, "--namespace", p.mc.Namespace)
	Expect(err).To(MatchError(ContainSubstring("--yes")), "nobody answers the question")
	Expect(p.has(ctx, traffic.Key(1))).NotTo(BeEmpty())
	p.run(ctx, "flush", p.mc.Name, "--yes")
	Expect(p.has(ctx, traffic.Key(1))).To(BeEmpty())
}

func (p *pluginStory) restarts(ctx context.Context) {
	GinkgoHelper()
	before := k8s.Incarnations(ctx, p.mc)
	p.run(ctx, "restart", p.mc.Name, "--yes")
	k8s.UntilReady(ctx, p.mc)
	for node := range clustertest.Incarnations(k8s.Pods(ctx, p.mc)) { // without the last old pods, which may still be terminating
		Expect(before).NotTo(HaveKey(node))
	}
}
