// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// agentMemory is the maximum resident memory of an agent, in bytes.
const agentMemory = 15 << 20

var _ = Describe("The agent beside memcached", func() {
	It("shows all series in little memory, also when clients have all connections", Label(onLocalCluster), SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet),
			func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 100 })
		pod := &k8s.Pods(ctx, mc)[0]
		node, agent := traffic.Address(pod), "http://"+net.JoinHostPort(pod.Status.PodIP, "9150")
		clustertest.MustStore(ctx, k8s.NewClientOf(traffic.Server{Name: pod.Name, Address: node}), 100)

		By("showing the series of the exporter")
		var scraped string
		for range 200 {
			scraped = scrape(ctx, agent)
		}
		Expect(typesOf(scraped)).To(Equal(typesOf(clustertest.Read("internal/agent/testdata/default.golden.txt"))))
		Expect(scraped).To(ContainSubstring("\nmemcached_up 1\n"))
		memory := sampleOf(scraped, "process_resident_memory_bytes")
		AddReportEntry("resident memory of the agent, in bytes", memory)
		Expect(memory).To(BeNumerically("<", agentMemory))

		By("staying ready and readable when clients have all other connections")
		takeAllConnections(ctx, node)
		Consistently(ctx, func(g Gomega) {
			scraped = scrape(ctx, agent)
			g.Expect(scraped).To(ContainSubstring("\nmemcached_up 1\n"))
			g.Expect(statusOf(ctx, agent+"/readyz")).To(Equal(http.StatusOK))
		}).WithTimeout(5 * time.Second).WithPolling(500 * time.Millisecond).Should(Succeed())
		Expect(sampleOf(scraped, "memcached_connections_rejected_total")).To(BeNumerically(">", 1), "the probes are refused, too")
	})
})

func scrape(ctx context.Context, agent string) string {
	GinkgoHelper()
	status, body := get(ctx, agent+"/metrics", "")
	Expect(status).To(Equal(http.StatusOK))
	return body
}

func statusOf(ctx context.Context, url string) int {
	GinkgoHelper()
	status, _ := get(ctx, url, "")
	return status
}

// typesOf returns the TYPE lines of the metrics of memcached. It leaves out the metrics of the agent itself.
func typesOf(scraped string) []string {
	var types []string
	for line := range strings.Lines(scraped) {
		if strings.HasPrefix(line, "# TYPE memcached_") && !strings.HasPrefix(line, "# TYPE memcached_agent_") {
			types = append(types, strings.TrimSpace(line))
		}
	}
	return types
}

// sampleOf returns the value of the series with this name. If the series has labels, they are part of the name.
func sampleOf(scraped, name string) float64 {
	GinkgoHelper()
	for line := range strings.Lines(scraped) {
		if text, found := strings.CutPrefix(line, name+" "); found {
			return clustertest.Must(strconv.ParseFloat(strings.TrimSpace(text), 64))
		}
	}
	Fail("there is no " + name)
	return 0
}

// takeAllConnections opens connections to a node until the node refuses one, and keeps them until the spec ends.
func takeAllConnections(ctx context.Context, address string) {
	GinkgoHelper()
	for full := false; !full; {
		_, reply := connect(ctx, address)
		full = reply == "ERROR Too many open connections"
	}
}
