// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// Hostile clients can take all free connections of a proxy, and cause errors for other clients. They must never end the proxy. They
// may end open connections of other clients only with gets of more keys than memcached has buffers for.
var _ = Describe("Hostile clients of proxies", Label(onLocalCluster), func() {
	It("restart nothing, and others stay connected", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		f := newFront(ctx)
		nodes, pod := k8s.Incarnations(ctx, f.mc), &proxiesOf(ctx, f.mc)[0]
		h := &hostileClients{address: traffic.Address(pod)}
		var keys []string
		for number := range 20 { // 60 clients ask for 1,200 keys: beyond 2,048, connections may end
			keys = append(keys, traffic.Key(number))
			set := "set " + keys[number] + " 0 0 500000\r\n" + strings.Repeat("v", 500_000)
			Expect(k8s.ConnectTo(ctx, h.address).Command(ctx, set)).To(Equal("STORED"))
		}
		others := &proxyClients{address: h.address}
		others.start(ctx, h.address, func(ctx context.Context, conn **traffic.Conn) { others.look(ctx, conn, keys[0]) })
		served := func(requests int64, when string) {
			others.untilAsked(ctx, requests)
			AddReportEntry(when + ": " + others.String())
		}
		served(2000, "before")

		By("asking for many keys at once")
		stop := h.ask(ctx, 4, "get "+strings.Repeat("absent ", 5_000)+"\r\n")
		served(2000, "gets of 5,000 keys")
		stop()
		By("asking for much and reading nothing")
		h.send(ctx, 60, "get "+strings.Join(keys, " ")+"\r\n")
		served(2000, "60 clients do not read 10 MB each")
		By("sending half of large values")
		h.send(ctx, 16, "set half 0 0 1000000\r\n"+strings.Repeat("v", 500_000))
		served(2000, "16 values of 1 MB are half sent")
		By("taking all connections")
		h.silent = takeAllConnections(ctx, h.address)
		served(2000, fmt.Sprintf("all connections are taken, %d of them by silent clients", len(h.silent)))

		others.reconnected(0)
		By("leaving")
		h.leave()
		Eventually(ctx, func() string {
			_, reply := connect(ctx, h.address)
			return reply
		}).Should(Equal("MN"), "new clients connect")
		errors := others.failed.Load()
		served(2000, "after they have left")
		others.reconnected(0)
		Expect(others.failed.Load()).To(Equal(errors), "%v", others.failure.Load())

		By("asking for more keys than memcached has buffers for, which may end the connections of others")
		stop = h.ask(ctx, 4, "get "+strings.Repeat("absent ", 100_000)+"\r\n")
		served(100, "gets of 100,000 keys")
		stop()
		others.stop()
		peak := peakOf(ctx, pod)
		AddReportEntry("peak, in MiB", peak)
		Expect(clustertest.Incarnations(proxiesOf(ctx, f.mc))).To(Equal(f.proxies), "pods and restarts of the proxies")
		Expect(k8s.Incarnations(ctx, f.mc)).To(Equal(nodes), "pods and restarts of the nodes")
	})
})

// look asks whether the cache has a key, and counts a hit, a miss or a failure.
func (c *proxyClients) look(ctx context.Context, conn **traffic.Conn, key string) {
	var reply string
	err := c.ask(ctx, conn, func(conn *traffic.Conn) (err error) {
		reply, err = conn.Command(ctx, "mg "+key)
		return err
	})
	switch {
	case ctx.Err() != nil:
	case reply == "HD":
		c.hit.Add(1)
	case reply == "EN":
		c.missed.Add(1)
	default:
		c.fail("mg: %q, %v", reply, err)
	}
}

// hostileClients are clients that misuse a proxy. conns are connections whose replies nobody reads. silent are
// connections that only take a place of other clients.
type hostileClients struct {
	address string
	conns   []net.Conn
	silent  []*traffic.Conn
}

// send sends a request over each of count new connections, and reads no replies.
func (h *hostileClients) send(ctx context.Context, count int, request string) {
	GinkgoHelper()
	for range count {
		conn := clustertest.Must(dial(ctx, "tcp", h.address))
		h.conns = append(h.conns, conn)
		DeferCleanup(func() { _ = conn.Close() })
		Expect(conn.(*net.TCPConn).SetReadBuffer(4096)).To(Succeed())
		Expect(conn.SetWriteDeadline(time.Now().Add(10 * time.Second))).To(Succeed())
		_, _ = conn.Write([]byte(request)) // memcached may close it
	}
}

// ask starts count clients that send a request again and again, each time on a new connection, and read the replies.
func (h *hostileClients) ask(ctx context.Context, count int, request string) (stop func()) {
	var stops []func()
	for range count {
		stops = append(stops, clustertest.InBackground(ctx, func(ctx context.Context) {
			for ctx.Err() == nil {
				conn, err := dial(ctx, "tcp", h.address)
				if err != nil {
					continue
				}
				_ = conn.SetDeadline(time.Now().Add(time.Second))
				_, _ = conn.Write([]byte(request)) // memcached may close it
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
		}))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

func (h *hostileClients) leave() {
	for _, conn := range h.conns {
		_ = conn.Close()
	}
	for _, conn := range h.silent {
		_ = conn.Close()
	}
}
