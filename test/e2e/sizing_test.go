// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// These specs run only on the local cluster. Elsewhere, they would need a forwarded port, for which a thousand
// connections and gigabytes of items are too much.
var _ = Describe("The memory limit of a node", Ordered, ContinueOnFailure, Label(onLocalCluster), func() {
	rows := [][]string{{
		"MiB", "limit", "process (VmHWM)", "container (cgroup)", "limit/process", "connections", "rejected_connections", "sets", "evictions",
	}}

	AfterAll(func() { clustertest.AddTable("Peak memory of a full node with all its connections", rows) })

	DescribeTable("is enough for all that clients may give the node, and no waste",
		func(ctx SpecContext, spec cachev1alpha1.MemcachedSpec, atMost float64) {
			mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1, func(mc *cachev1alpha1.Memcached) {
				mc.Spec.Config, mc.Spec.Resources = spec.Config, spec.Resources
			})
			address := k8s.Servers(ctx, mc)[0].Address
			filled := fillNode(ctx, mc, address, dial)

			pod := k8s.Pods(ctx, mc)[0]
			peak := peakOf(ctx, &pod)
			// Some of the rejected connections are from the kubelet's probes.
			rejected := clustertest.Must(k8s.ConnectTo(ctx, address).Stats(ctx))["rejected_connections"]
			rows = append(rows, peak.row(CurrentSpecReport().LeafNodeText, filled, rejected))
			Expect(clustertest.Restarts(&pod)).To(BeZero())
			Expect(pod.Status.ContainerStatuses[0].LastTerminationState.Terminated).To(BeNil())
			Expect(peak.process).To(BeNumerically("<", peak.limit))
			Expect(peak.container).To(BeNumerically("<", peak.limit), "the container has hit its limit")
			Expect(peak.limit/peak.process).To(BeNumerically("<=", atMost), "a limit that nothing can use is a waste")
		},
		// atMost is larger for a smaller node, because a larger share of its memory is not for items: a page for each slab class, the
		// reserve for the kernel, and the buffers. The filler needs few of these buffers, because it reads its responses.
		Entry("memory 64Mi", clustertest.Core, SpecTimeout(3*time.Minute), withMemory("64Mi"), 1.8),
		Entry("memory 1Gi", SpecTimeout(6*time.Minute), withMemory("1Gi"), 1.5),
		Entry("maxConnections 4096, threads 8", SpecTimeout(3*time.Minute),
			cachev1alpha1.MemcachedSpec{Config: cachev1alpha1.MemcachedConfig{MaxConnections: 4096, Threads: 8}}, 2.1),
		// The API server refuses a limit that is 1 MiB less.
		Entry("the smallest limit that may be given", SpecTimeout(3*time.Minute),
			cachev1alpha1.MemcachedSpec{Resources: cachev1alpha1.MemcachedResources{
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("166Mi")},
			}}, 1.6),
	)
})

func withMemory(quantity string) cachev1alpha1.MemcachedSpec {
	return cachev1alpha1.MemcachedSpec{Config: cachev1alpha1.MemcachedConfig{Memory: ptr.To(resource.MustParse(quantity))}}
}

// fillNode opens all connections that clients may have, and stores more items than the node has memory for.
func fillNode(ctx context.Context, mc *cachev1alpha1.Memcached, address string, dial traffic.DialFunc) traffic.Report {
	GinkgoHelper()
	filled := clustertest.Must(traffic.Filler{
		Address: address, Dial: dial, Connections: int(mc.Spec.Config.MaxConnections), Factor: 1.2, Seed: 1,
	}.Fill(ctx))
	Expect(filled.Evictions).To(BeNumerically(">", 0), "the node was not full")
	return filled
}

// connect connects to a node. It returns the connection, and the node's reply to a no-op.
func connect(ctx context.Context, address string) (*traffic.Conn, string) {
	GinkgoHelper()
	conn := k8s.ConnectTo(ctx, address)
	return conn, clustertest.Must(conn.Command(ctx, "mn"))
}

// peak is the memory limit of a container and its peak memory, in MiB. process is memcached's resident memory.
// container is what the kernel compares with the limit.
type peak struct{ limit, process, container float64 }

// peakOf returns the peak so far. It looks for memcached among the processes of the machine: with TLS, memcached is
// not process 1 of its container.
func peakOf(ctx context.Context, pod *corev1.Pod) peak {
	GinkgoHelper()
	process := fieldsOf(string(clustertest.Must(os.ReadFile(memcachedOf(pod).file("status")))))["VmHWM"]
	// The first cat is for cgroup v2, and the second for cgroup v1.
	container := execute(ctx, pod, "sh", "-c",
		"cat /sys/fs/cgroup/memory.peak 2>/dev/null || cat /sys/fs/cgroup/memory/memory.max_usage_in_bytes")
	return peak{
		limit:     float64(pod.Spec.Containers[0].Resources.Limits.Memory().Value()) / (1 << 20),
		process:   number(strings.TrimSuffix(process, " kB")) / (1 << 10),
		container: number(strings.TrimSpace(container)) / (1 << 20),
	}
}

func number(text string) float64 {
	GinkgoHelper()
	return clustertest.Must(strconv.ParseFloat(text, 64))
}

func (p peak) row(title string, filled traffic.Report, rejected string) []string {
	return []string{
		title, fmt.Sprintf("%.0f", p.limit), mebibytes(p.process), mebibytes(p.container),
		fmt.Sprintf("%.2f", p.limit/p.process), strconv.Itoa(filled.Connections), rejected, strconv.Itoa(filled.Sets),
		strconv.FormatInt(filled.Evictions, 10),
	}
}
