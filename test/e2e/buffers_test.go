// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// refusal is memcached's reply to a get for which it has too few buffers.
const refusal = "SERVER_ERROR out of memory writing get response"

// However many keys a request names, the node must not restart.
var _ = Describe("A node that is asked for too much at once", Label(onLocalCluster), func() {
	It("refuses, and neither restarts nor fails those who ask for less", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1)
		address := k8s.Servers(ctx, mc)[0].Address

		By("filling it with all that it is sized for")
		fillNode(ctx, mc, address, dial)

		By("asking 1,000 times for more and less than it has buffers for, on 16 connections, while 4 others ask for 5,000 keys that it has")
		var clients sync.WaitGroup
		asked, hits := make([]map[int]map[string]int, 16), make([]map[string]int, 4)
		for i := range asked {
			conn := k8s.ConnectTo(ctx, address)
			clients.Go(func() { asked[i] = askForTooMuch(ctx, conn, i, 63) })
		}
		for i := range hits {
			conn := k8s.ConnectTo(ctx, address)
			clients.Go(func() { hits[i] = askForMuch(ctx, conn, i, 20) })
		}
		clients.Wait()

		replies := sum(asked)
		Expect(replies[5_000]).To(Equal(map[string]int{"END": 202}))
		for _, size := range []int{20_000, 100_000, 200_000, 400_000} {
			Expect(replies[size]).To(HaveLen(1))
			Expect(replies[size]).To(HaveKeyWithValue(refusal, BeNumerically(">=", 201)), "gets of %d keys", size)
		}
		for i := range hits {
			Expect(hits[i]).To(Equal(map[string]int{"5000 of 5000, END": 20}), "the client %d of others", i)
		}

		pod := k8s.Pods(ctx, mc)[0]
		peak := peakOf(ctx, &pod)
		AddReportEntry("peak, in MiB", peak)
		Expect(clustertest.Restarts(&pod)).To(BeZero())
		Expect(peak.process).To(BeNumerically("<", peak.limit))
		Expect(peak.container).To(BeNumerically("<", peak.limit), "the container has hit its limit")
	})
})

func mebibytes(amount float64) string { return strconv.FormatFloat(amount, 'f', 1, 64) }

// askForTooMuch sends gets, each of which names the same key thousands of times. It counts the replies, by the number
// of keys and by the last line of the reply.
func askForTooMuch(ctx context.Context, conn *traffic.Conn, client, requests int) map[int]map[string]int {
	defer GinkgoRecover()
	sizes := []int{5_000, 20_000, 100_000, 200_000, 400_000}
	replies := map[int]map[string]int{}
	for request := range requests {
		size := sizes[(client+request)%len(sizes)]
		_, reply, err := traffic.Get(ctx, conn, slices.Repeat([]string{"k"}, size)...)
		Expect(err).NotTo(HaveOccurred(), "a get of %d keys", size)
		if replies[size] == nil {
			replies[size] = map[string]int{}
		}
		replies[size][reply]++
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

// sum adds up the replies to all clients.
func sum(asked []map[int]map[string]int) map[int]map[string]int {
	total := map[int]map[string]int{}
	for _, replies := range asked {
		for size, counts := range replies {
			if total[size] == nil {
				total[size] = map[string]int{}
			}
			for reply, count := range counts {
				total[size][reply] += count
			}
		}
	}
	return total
}
