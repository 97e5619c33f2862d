// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// repeatable is how long a client repeats a request after its connection has ended.
	repeatable = 5 * time.Second
	// clientPause is how long a client waits after each step. Otherwise, four clients would use all processors of a small machine.
	clientPause = 500 * time.Microsecond
)

// proxyClients are clients that keep their connections to proxies. A client whose connection ends connects to the Service.
type proxyClients struct {
	address string
	stops   []func()
	// hit and missed count the answers, and failed counts the requests that failed. The field wrong counts values that a key cannot have.
	// The field again counts connections that ended. The field slowest is the time of the slowest answer, in milliseconds. The field
	// failure is the first failure of a request, and the field ended is the last error of a connection.
	hit, missed, again, slowest, wrong, failed atomic.Int64
	failure, ended                             atomic.Value
}

// start starts a client that is connected to the address, and does one step after another.
func (c *proxyClients) start(ctx context.Context, address string, step func(context.Context, **traffic.Conn)) {
	GinkgoHelper()
	conn := clustertest.Must(traffic.Connect(ctx, dial, address))
	c.stops = append(c.stops, clustertest.InBackground(ctx, func(ctx context.Context) {
		for ctx.Err() == nil {
			step(ctx, &conn)
			time.Sleep(clientPause)
		}
		_ = conn.Close()
	}))
}

func (c *proxyClients) stop() {
	for _, stop := range c.stops {
		stop()
	}
}

// ask sends a request. If the connection ends, ask repeats the request over new connections, and counts all attempts as one
// reconnect. Several attempts may fail: until Kubernetes notices that a proxy has crashed, the Service still sends connections to it.
func (c *proxyClients) ask(ctx context.Context, conn **traffic.Conn, request func(*traffic.Conn) error) error {
	began := time.Now()
	err := request(*conn)
	if err != nil && ctx.Err() == nil {
		c.again.Add(1)
		c.ended.Store(err.Error())
	}
	for err != nil && ctx.Err() == nil && time.Since(began) < repeatable {
		_ = (*conn).Close()
		var next *traffic.Conn
		if next, err = traffic.Connect(ctx, dial, c.address); err != nil {
			time.Sleep(20 * time.Millisecond) // as clients do before they try again
			continue
		}
		*conn = next
		err = request(next)
	}
	if took := time.Since(began).Milliseconds(); ctx.Err() == nil {
		for slowest := c.slowest.Load(); took > slowest && !c.slowest.CompareAndSwap(slowest, took); {
			slowest = c.slowest.Load()
		}
	}
	return err
}

// get gets a key, and counts a hit, a miss or a failure. right reports whether the key can have the value of a hit.
func (c *proxyClients) get(ctx context.Context, conn **traffic.Conn, key string, right func(value string) bool) {
	var value *traffic.Value
	err := c.ask(ctx, conn, func(conn *traffic.Conn) (err error) {
		value, err = traffic.Read(ctx, conn, key)
		return err
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.fail("get %s: %v", key, err)
	case value == nil:
		c.missed.Add(1)
	default:
		c.hit.Add(1)
		if !right(string(value.Bytes)) {
			c.wrong.Add(1)
		}
	}
}

func (c *proxyClients) fail(format string, args ...any) {
	c.failed.Add(1)
	c.failure.CompareAndSwap(nil, fmt.Sprintf(format, args...))
}

// untilAsked waits until the clients have asked for more than this number of keys from now on, whatever the answers.
func (c *proxyClients) untilAsked(ctx context.Context, keys int64) {
	GinkgoHelper()
	asked := func() int64 { return c.hit.Load() + c.missed.Load() + c.failed.Load() }
	Eventually(ctx, asked).WithTimeout(time.Minute).Should(BeNumerically(">", asked()+keys))
}

// reconnected fails if more than atMost connections have ended.
func (c *proxyClients) reconnected(atMost int64) {
	GinkgoHelper()
	Expect(c.again.Load()).To(BeNumerically("<=", atMost), "connections that ended, the last by %v", c.ended.Load())
}

// String returns a summary of the counts.
func (c *proxyClients) String() string {
	return fmt.Sprintf("%d hits, %d misses, %d wrong values, %d errors, %d reconnects, the slowest answer after %d ms", c.hit.Load(),
		c.missed.Load(), c.wrong.Load(), c.failed.Load(), c.again.Load(), c.slowest.Load())
}
