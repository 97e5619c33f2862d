// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	ownedKeys      = 20_000
	ownersPerProxy = 2
)

// owners are clients that write, each keys of its own, and read those of all. Each value is a number that grows. They use one of the
// proxies each, and any of them once that connection has ended.
type owners struct {
	stop func()
	// stored is what the owner of a key has stored.
	stored [ownedKeys]atomic.Int64
	// What they have met: hits, connections that ended, and what must not be: misses, old values, and replies that are none.
	read, again, missed, old, failed atomic.Int64
	failure, ended                   atomic.Value
	proxies                          []corev1.Pod
	address                          string
}

// startOwners starts clients of the proxies, once they have stored all of their keys.
func (c *copies) startOwners(ctx context.Context) *owners {
	GinkgoHelper()
	o := &owners{proxies: proxiesOf(ctx, c.front), address: proxyServer(ctx, c.front).Address}
	count := len(o.proxies) * ownersPerProxy
	var conns []*traffic.Conn
	for number := range count {
		conn := clustertest.Must(traffic.Connect(ctx, dial, traffic.Address(&o.proxies[number%len(o.proxies)])))
		conns = append(conns, conn)
		for key := number; key < ownedKeys; key += count {
			o.write(ctx, &conns[number], key)
		}
	}
	Expect(o.failed.Load()).To(BeZero(), "%v", o.failure.Load())
	var stops []func()
	for number, conn := range conns {
		stops = append(stops, clustertest.InBackground(ctx, func(ctx context.Context) {
			for step := number; ctx.Err() == nil; step += count {
				if step%(10*count) == number { // one of ten requests
					o.write(ctx, &conn, step/(10*count)*count%ownedKeys+number)
				}
				o.get(ctx, &conn, step*7%ownedKeys)
			}
			_ = conn.Close()
		}))
	}
	o.stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	return o
}

// ask sends a request, and once more with another connection if the one that it has ends.
func (o *owners) ask(ctx context.Context, conn **traffic.Conn, request func(*traffic.Conn) error) error {
	err := request(*conn)
	if err == nil || ctx.Err() != nil {
		return err
	}
	o.again.Add(1)
	o.ended.Store(err.Error())
	for began := time.Now(); err != nil && ctx.Err() == nil && time.Since(began) < repeatable; {
		_ = (*conn).Close()
		next, connectErr := traffic.Connect(ctx, dial, o.address)
		if err = connectErr; err != nil {
			time.Sleep(20 * time.Millisecond) // as clients do before they try again
			continue
		}
		*conn = next
		err = request(next)
	}
	return err
}

func (o *owners) write(ctx context.Context, conn **traffic.Conn, key int) {
	value := strconv.FormatInt(o.stored[key].Load()+1, 10)
	var reply string
	err := o.ask(ctx, conn, func(conn *traffic.Conn) (err error) {
		reply, err = conn.Command(ctx, fmt.Sprintf("set %s 0 0 %d\r\n%s", traffic.Key(key), len(value), value))
		return err
	})
	switch {
	case ctx.Err() != nil:
	case err != nil || reply != "STORED":
		o.fail("set %s: %q, %v", traffic.Key(key), reply, err)
	default:
		o.stored[key].Add(1)
	}
}

func (o *owners) get(ctx context.Context, conn **traffic.Conn, key int) {
	stored := o.stored[key].Load()
	var value *memcache.Value
	err := o.ask(ctx, conn, func(conn *traffic.Conn) (err error) {
		value, err = conn.Value(ctx, traffic.Key(key))
		return err
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		o.fail("get %s: %v", traffic.Key(key), err)
	case value == nil:
		o.missed.Add(1)
	default:
		o.read.Add(1)
		if got, err := strconv.ParseInt(string(value.Bytes), 10, 64); err != nil || got < stored {
			o.old.Add(1)
		}
	}
}

func (o *owners) fail(format string, args ...any) {
	o.failed.Add(1)
	o.failure.CompareAndSwap(nil, fmt.Sprintf(format, args...))
}

// mustHaveNoticedNothing ends the clients, after they have met each key once more. Then it reads all keys through each proxy. At most
// so many connections may have ended.
func (o *owners) mustHaveNoticedNothing(ctx context.Context, event string, ended int) {
	GinkgoHelper()
	sofar := o.read.Load()
	Eventually(ctx, o.read.Load).WithTimeout(time.Minute).Should(BeNumerically(">", sofar+ownedKeys), "clients go on")
	o.stop()
	AddReportEntry(fmt.Sprintf("%s: %d gets, %d misses, %d old values, %d errors, %d connections that ended", event, o.read.Load(),
		o.missed.Load(), o.old.Load(), o.failed.Load(), o.again.Load()))
	noticed := func() string {
		return fmt.Sprintf("%d misses, %d old values, %d errors: %v", o.missed.Load(), o.old.Load(), o.failed.Load(), o.failure.Load())
	}
	Expect(noticed()).To(Equal("0 misses, 0 old values, 0 errors: <nil>"), event)
	Expect(o.again.Load()).To(BeNumerically("<=", ended), "connections that ended, the last by %v", o.ended.Load())
	for i := range o.proxies {
		conn := clustertest.Must(traffic.Connect(ctx, dial, traffic.Address(&o.proxies[i])))
		for key := range ownedKeys {
			o.get(ctx, &conn, key)
		}
		_ = conn.Close()
	}
	Expect(noticed()).To(Equal("0 misses, 0 old values, 0 errors: <nil>"), "%s, at the end", event)
}
