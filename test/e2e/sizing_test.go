// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

	// hold fails if the node has restarted, or has hit its limit. It returns how many times larger the limit is than the process was.
	hold := func(ctx context.Context, pod *corev1.Pod, filled traffic.Report, stats map[string]string) float64 {
		GinkgoHelper()
		peak := peakOf(ctx, pod)
		// Some of the rejected connections are from the kubelet's probes.
		rows = append(rows, peak.row(CurrentSpecReport().LeafNodeText, filled, stats["rejected_connections"]))
		Expect(k8s.Reread(ctx, pod)).To(Succeed())
		Expect(clustertest.Restarts(pod)).To(BeZero())
		Expect(pod.Status.ContainerStatuses[0].LastTerminationState.Terminated).To(BeNil())
		Expect(peak.process).To(BeNumerically("<", peak.limit))
		Expect(peak.container).To(BeNumerically("<", peak.limit), "the container has hit its limit")
		return peak.limit / peak.process
	}

	DescribeTable("is enough for all that clients may give the node, and no waste",
		func(ctx SpecContext, spec cachev1alpha1.MemcachedSpec, atMost float64) {
			mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1, func(mc *cachev1alpha1.Memcached) {
				mc.Spec.Config, mc.Spec.Resources = spec.Config, spec.Resources
			})
			address := k8s.Servers(ctx, mc)[0].Address
			filled := fillNode(ctx, mc, address, dial)
			ratio := hold(ctx, &k8s.Pods(ctx, mc)[0], filled, clustertest.Must(k8s.ConnectTo(ctx, address).Stats(ctx)))
			Expect(ratio).To(BeNumerically("<=", atMost), "a limit that nothing can use is a waste")
		},
		// atMost is larger for a smaller node, because a larger share of its memory is not for items: a page for each slab class, the
		// reserve for the kernel, and the buffers. The filler needs few of these buffers, because it reads its responses.
		Entry("memory 64Mi", clustertest.Core, SpecTimeout(3*time.Minute), cachev1alpha1.MemcachedSpec{}, 1.8),
		Entry("memory 256Mi, maxConnections 4096, threads 8", SpecTimeout(4*time.Minute), cachev1alpha1.MemcachedSpec{
			Config: cachev1alpha1.MemcachedConfig{MaxConnections: 4096, Threads: 8, Memory: ptr.To(resource.MustParse("256Mi"))},
		}, 2.1),
		// The API server refuses a limit that is 1 MiB less.
		Entry("the smallest limit that may be given", SpecTimeout(3*time.Minute),
			cachev1alpha1.MemcachedSpec{Resources: cachev1alpha1.MemcachedResources{
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("166Mi")},
			}}, 1.6),
	)

	// OpenSSL has buffers for each connection.
	It("is enough for 4096 connections with certificates and logins", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		s := newSecured(ctx, k8s.NewNamespace(ctx), 1, mutualTLS, withUsers, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 4096 })
		k8s.UntilReady(ctx, s.mc)
		pod := k8s.Pods(ctx, s.mc)[0]
		filled := fillNode(ctx, s.mc, s.address(&pod), func(ctx context.Context, _, address string) (net.Conn, error) {
			return s.enter(ctx, address, s.member)
		})
		Expect(filled.Connections).To(Equal(4096))
		node := clustertest.Must(s.visit(ctx, s.address(&pod), s.member))
		defer node.Close()
		hold(ctx, &pod, filled, clustertest.Must(node.Stats(ctx)))
	})

	It("is enough when clients ask for too much at once: the node refuses, and does not fail those who ask for less", SpecTimeout(6*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		address := k8s.Servers(ctx, mc)[0].Address
		filled := fillNode(ctx, mc, address, dial)

		By("asking 1,000 times for more and less than it has buffers for, on 16 connections, while 4 others ask for 5,000 keys that it has")
		var clients sync.WaitGroup
		asked, hits := make([]map[string]int, 16), make([]map[string]int, 4)
		for i := range asked {
			conn := k8s.ConnectTo(ctx, address)
			clients.Go(func() { asked[i] = askForTooMuch(ctx, conn, i, 63) })
		}
		for i := range hits {
			conn := k8s.ConnectTo(ctx, address)
			clients.Go(func() { hits[i] = askForMuch(ctx, conn, i, 20) })
		}
		clients.Wait()

		for i := range asked {
			Expect(asked[i]).To(HaveLen(2), "replies to the client %d", i)
			Expect(asked[i]).To(And(HaveKey("END"), HaveKey(refusal)))
		}
		for i := range hits {
			Expect(hits[i]).To(Equal(map[string]int{"5000 of 5000, END": 20}), "the client %d of others", i)
		}
		hold(ctx, &k8s.Pods(ctx, mc)[0], filled, clustertest.Must(k8s.ConnectTo(ctx, address).Stats(ctx)))
	})
})

// refusal is memcached's reply to a get for which it has too few buffers.
const refusal = "SERVER_ERROR out of memory writing get response"

// askForTooMuch sends gets, each of which names the same key thousands of times. It counts the last lines of the replies. Only a get of 5,000
// keys may be answered.
func askForTooMuch(ctx context.Context, conn *traffic.Conn, client, requests int) map[string]int {
	defer GinkgoRecover()
	sizes := []int{5_000, 20_000, 100_000, 200_000, 400_000}
	replies := map[string]int{}
	for request := range requests {
		size := sizes[(client+request)%len(sizes)]
		_, reply, err := traffic.Get(ctx, conn, slices.Repeat([]string{"k"}, size)...)
		Expect(err).NotTo(HaveOccurred(), "a get of %d keys", size)
		answered := reply == "END"
		Expect(answered).To(Equal(size == 5_000), "the reply to a get of %d keys is %s", size, reply)
		replies[reply]++
	}
	return replies
}

// askForMuch stores 5,000 items, and then asks several times for all of them in one request. It counts the results,
// which are the number of hits and the last line of the reply.
func askForMuch(ctx context.Context, conn *traffic.Conn, client, requests int) map[string]int {
	defer GinkgoRecover()
	const items = 5_000
	// These items are as large as the items that fill the node. For items of another size, memcached would have few slab pages, and would
	// evict these items earlier.
	value := strings.Repeat("v", 60)
	keys := make([]string, items)
	for i := range keys {
		keys[i] = fmt.Sprintf("client-%d-item-%04d", client, i)
		Expect(conn.Command(ctx, "set "+keys[i]+" 0 0 60\r\n"+value)).To(Equal("STORED"))
	}
	replies := map[string]int{}
	for range requests {
		hits, reply, err := traffic.Get(ctx, conn, keys...)
		Expect(err).NotTo(HaveOccurred())
		replies[fmt.Sprintf("%d of %d, %s", hits, items, reply)]++
	}
	return replies
}

// fillNode opens all connections that clients may have, and stores more items than the node has memory for.
func fillNode(ctx context.Context, mc *cachev1alpha1.Memcached, address string, dial traffic.DialFunc) traffic.Report {
	GinkgoHelper()
	filled := clustertest.Must(traffic.Filler{
		Address: address, Dial: dial, Connections: int(mc.Spec.Config.MaxConnections), Factor: 1.2,
	}.Fill(ctx))
	Expect(filled.Evictions).To(BeNumerically(">", 0), "the node was not full")
	return filled
}

// connect connects to a node. It returns the connection, and the node's reply to a no-op.
func connect(ctx context.Context, address string) (*traffic.Conn, string) {
	GinkgoHelper()
	conn := k8s.ConnectTo(ctx, address)
	reply, err := conn.Command(ctx, "mn")
	if !errors.Is(err, syscall.ECONNRESET) { // memcached refuses a connection without reading from it
		Expect(err).NotTo(HaveOccurred())
	}
	return conn, reply
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
		strconv.Itoa(filled.Evictions),
	}
}

func mebibytes(amount float64) string { return strconv.FormatFloat(amount, 'f', 1, 64) }
