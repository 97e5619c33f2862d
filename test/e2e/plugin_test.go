// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// The plugin must report what the nodes themselves report, and find keys on the nodes where clients find them.
var _ = Describe("kubectl memcached", func() {
	for _, workload := range workloads {
		It("shows and changes a cache of a "+string(workload), SpecTimeout(2*time.Minute), func(ctx SpecContext) {
			p := newPluginStory(ctx, workload)
			p.placesKeys(ctx)
			p.lists(ctx)
			p.showsItems(ctx)
			if workload == cachev1alpha1.WorkloadStatefulSet {
				return
			}
			p.namesPermissions(ctx)
			p.tellsOfNoKeys(ctx)
			p.flushes(ctx)
			p.restarts(ctx)
		})
	}
})

// pluginStory is a cache with its servers, and the ring by which its clients choose a server.
type pluginStory struct {
	mc      *cachev1alpha1.Memcached
	servers []traffic.Server
	ring    *traffic.Ring
}

func newPluginStory(ctx context.Context, workload cachev1alpha1.WorkloadKind) *pluginStory {
	GinkgoHelper()
	p := &pluginStory{mc: k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2, clustertest.RunBy(workload), leavesQuickly)}
	Eventually(ctx, k8s.Object(p.mc)).Should(HaveField("Status.Nodes", HaveLen(2)))
	p.servers = k8s.Servers(ctx, p.mc)
	if workload == cachev1alpha1.WorkloadDeployment { // clients know the nodes by their addresses
		for i := range p.servers {
			p.servers[i].Name = strings.TrimSuffix(p.servers[i].Address, ":11211")
		}
	}
	p.ring = clustertest.Must(traffic.NewRing(p.servers...))
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
		hits, last, err := k8s.ConnectTo(ctx, server.Address).Get(ctx, key)
		Expect(err).NotTo(HaveOccurred())
		Expect(last).To(Equal("END"))
		if hits > 0 {
			nodes = append(nodes, server.Name)
		}
	}
	return nodes
}

// placesKeys writes, reads and deletes a key of each node with the plugin.
func (p *pluginStory) placesKeys(ctx context.Context) {
	GinkgoHelper()
	keys := map[string]string{}
	for number := 1; len(keys) < len(p.servers); number++ {
		keys[p.ring.Owner(traffic.Key(number)).Name] = traffic.Key(number)
	}
	for node, key := range keys {
		p.run(ctx, "set", p.mc.Name, key, "the value", "--expire=10m")
		Expect(p.has(ctx, key)).To(Equal([]string{node}))
		Expect(p.run(ctx, "get", p.mc.Name, key)).To(Equal("the value"))
		p.run(ctx, "delete", p.mc.Name, key)
		Expect(p.has(ctx, key)).To(BeEmpty())
	}
}

// lists checks that the plugin prints each server with the name that clients put on their ring, and with the port.
func (p *pluginStory) lists(ctx context.Context) {
	GinkgoHelper()
	var names []string
	for _, server := range p.servers {
		names = append(names, server.Name+":11211")
	}
	Expect(strings.Fields(p.run(ctx, "servers", p.mc.Name))).To(ConsistOf(names))
}

// showsItems stores keys, and compares the plugin's figures with those of the nodes.
func (p *pluginStory) showsItems(ctx context.Context) {
	GinkgoHelper()
	clustertest.MustStore(ctx, k8s.NewClientOf(p.servers...), 100)
	var status struct {
		Nodes []struct {
			Name, State string
			Figures     struct {
				Items   int
				Version string
			}
		}
		Total struct{ Items int }
	}
	Expect(json.Unmarshal([]byte(p.run(ctx, "status", p.mc.Name, "--output=json")), &status)).To(Succeed())
	Expect(status.Total.Items).To(Equal(100))
	Expect(status.Nodes).To(HaveLen(2))
	for _, node := range status.Nodes { // in another order than in the status of the Memcached
		Expect(p.mc.Status.Nodes).To(ContainElement(node.Name))
		server := clustertest.Must(traffic.Servers(ctx, k8s, p.mc.Namespace, []string{node.Name}))[0]
		stats := clustertest.Must(k8s.ConnectTo(ctx, server.Address).Stats(ctx))
		Expect(node.State).To(Equal("Ready"))
		Expect(node.Figures.Version).To(Equal(stats["version"]))
		Expect(stats).To(HaveKeyWithValue("curr_items", Equal(jsonNumber(node.Figures.Items))))
	}
	Expect(p.run(ctx, "stats", p.mc.Name, "settings", "--node="+p.mc.Status.Nodes[0])).To(MatchRegexp(`(?m)^maxbytes +67108864$`))
}

func jsonNumber(number int) string { return string(clustertest.Must(json.Marshal(number))) }

// tellsOfNoKeys checks that the files for a bug report have no keys and values, although memcached logs every request.
func (p *pluginStory) tellsOfNoKeys(ctx context.Context) {
	GinkgoHelper()
	const key, value = "a-private-key", "a-private-value"
	for _, server := range p.servers {
		Expect(k8s.ConnectTo(ctx, server.Address).Command(ctx, "verbosity 2")).To(Equal("OK"))
	}
	p.run(ctx, "set", p.mc.Name, key, value)
	Eventually(ctx, func(ctx context.Context) string {
		return k8s.Kubectl(ctx, "logs", "--namespace", p.mc.Namespace, "--selector", "app.kubernetes.io/instance="+p.mc.Name)
	}).Should(ContainSubstring(key))
	file := filepath.Join(GinkgoT().TempDir(), "debug.tar.gz")
	p.run(ctx, "debug", p.mc.Name, "--file="+file)
	files := unpack(file)
	for name, content := range files {
		Expect(content).NotTo(Or(ContainSubstring(key), ContainSubstring(value)), name)
	}
	Expect(files).To(And(HaveKey("cache/memcached.yaml"), HaveKey("cache/events.txt"), HaveKey("cache/pods.yaml"),
		HaveKey("cache/logs/"+p.mc.Status.Nodes[0]+"/memcached.log"), HaveKey("cache/statistics/"+p.mc.Status.Nodes[0]+".yaml"),
		HaveKey(HavePrefix("cache/operator/")), Not(HaveKey("cache/problems.txt"))))
	Expect(files["cache/events.txt"]).To(ContainSubstring("Memcached/cache"))
}

// unpack returns the contents of the files in a .tar.gz archive, by name.
func unpack(file string) map[string]string {
	GinkgoHelper()
	archive := clustertest.Must(os.Open(file))
	defer archive.Close()
	files := map[string]string{}
	for reader := tar.NewReader(clustertest.Must(gzip.NewReader(archive))); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		Expect(err).NotTo(HaveOccurred())
		files[header.Name] = string(clustertest.Must(io.ReadAll(reader)))
	}
}

func (p *pluginStory) flushes(ctx context.Context) {
	GinkgoHelper()
	_, err := k8s.TryKubectl(ctx, "memcached", "flush", p.mc.Name, "--namespace", p.mc.Namespace)
	Expect(err).To(MatchError(ContainSubstring("--yes")), "nobody answers the question")
	Expect(p.has(ctx, traffic.Key(1))).NotTo(BeEmpty())
	p.run(ctx, "flush", p.mc.Name, "--yes")
	Expect(p.has(ctx, traffic.Key(1))).To(BeEmpty())
}

// namesPermissions checks that a user with read permissions learns which permission is missing.
func (p *pluginStory) namesPermissions(ctx context.Context) {
	GinkgoHelper()
	in := "--namespace=" + p.mc.Namespace
	k8s.Kubectl(ctx, "create", "role", "viewer", in, "--verb=get,list", "--resource=pods,memcacheds.cache.example.com")
	k8s.Kubectl(ctx, "create", "rolebinding", "viewer", in, "--role=viewer", "--user=john")
	Eventually(ctx, func(ctx context.Context) error { // the API server learns of roles a little later
		_, err := k8s.TryKubectl(ctx, "auth", "can-i", "list", "pods", in, "--as=john")
		return err
	}).Should(Succeed())
	_, err := k8s.TryKubectl(ctx, "memcached", "status", p.mc.Name, "--as=john", in) // it fails, because no node answers
	Expect(err).To(MatchError(ContainSubstring("forbidden: you need the permission to create pods/portforward")))
}

func (p *pluginStory) restarts(ctx context.Context) {
	GinkgoHelper()
	before := k8s.Incarnations(ctx, p.mc)
	p.run(ctx, "restart", p.mc.Name, "--yes", "--timeout=1m")
	k8s.UntilReady(ctx, p.mc)
	for node := range clustertest.Incarnations(k8s.Pods(ctx, p.mc)) { // without the last old pods, which may still be terminating
		Expect(before).NotTo(HaveKey(node))
	}
}
