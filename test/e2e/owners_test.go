// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	ownedKeys      = 20_000
	ownersPerProxy = 2
)

// owners are clients that write and read through proxies. No two of them write the same key. Each value is a number that is larger
// than all values before.
type owners struct {
	proxyClients

	// stored is the last number that was stored for each key. numbers is the last number that any client has used.
	stored  [ownedKeys]atomic.Int64
	numbers atomic.Int64
	// since divides the keys. If the number last stored for a key is at least since, a read must return this number or a larger one. For
	// other keys, a read may return a smaller number. older counts these reads.
	since, older atomic.Int64
	// refused counts the writes to which a proxy replied with an error.
	refused atomic.Int64
	proxies []corev1.Pod
}

// startOwners stores all keys, and then starts clients that read all keys. In one of ten steps, a client also stores a key again. The
// clients are spread evenly over the proxies.
func (c *copies) startOwners(ctx context.Context) *owners {
	GinkgoHelper()
	o := newOwners(ctx, c.mc)
	count := len(o.proxies) * ownersPerProxy
	for number := range count {
		step := number
		o.start(ctx, traffic.Address(&o.proxies[number%len(o.proxies)]), func(ctx context.Context, conn **traffic.Conn) {
			if step%(10*count) == number { // in one of ten steps
				o.set(ctx, conn, step/(10*count)*count%ownedKeys+number)
			}
			o.read(ctx, conn, step*7%ownedKeys)
			step += count
		})
	}
	return o
}

// newOwners stores all keys, and starts no clients.
func newOwners(ctx context.Context, mc *cachev1alpha1.Memcached) *owners {
	GinkgoHelper()
	o := &owners{proxyClients: proxyClients{address: proxyServer(ctx, mc).Address}, proxies: proxiesOf(ctx, mc)}
	o.throughEach(ctx, func(conn **traffic.Conn, proxy int) {
		for key := proxy; key < ownedKeys; key += len(o.proxies) {
			o.set(ctx, conn, key)
		}
	})
	Expect(o.met()).To(Equal(nothing))
	return o
}

// throughEach connects to one proxy after another, and calls the function do for each connection.
func (o *owners) throughEach(ctx context.Context, do func(conn **traffic.Conn, proxy int)) {
	GinkgoHelper()
	for i := range o.proxies {
		conn := clustertest.Must(traffic.Connect(ctx, dial, traffic.Address(&o.proxies[i])))
		do(&conn, i)
		_ = conn.Close()
	}
}

func (o *owners) set(ctx context.Context, conn **traffic.Conn, key int) {
	number := o.numbers.Add(1)
	value := strconv.FormatInt(number, 10)
	var reply string
	err := o.ask(ctx, conn, func(conn *traffic.Conn) (err error) {
		reply, err = conn.Command(ctx, fmt.Sprintf("set %s 0 0 %d\r\n%s", traffic.Key(key), len(value), value))
		return err
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		o.fail("set %s: %v", traffic.Key(key), err)
	case reply != "STORED":
		o.refused.Add(1)
	default:
		o.stored[key].Store(number)
	}
}

func (o *owners) read(ctx context.Context, conn **traffic.Conn, key int) {
	stored := o.stored[key].Load()
	o.get(ctx, conn, traffic.Key(key), func(value string) bool {
		number, err := strconv.ParseInt(value, 10, 64)
		if err == nil && number < stored && stored < o.since.Load() {
			o.older.Add(1)
			return true
		}
		return err == nil && number >= stored
	})
}

// met describes the problems that the clients have met. It equals the constant "nothing" if there were none.
func (o *owners) met() string {
	return fmt.Sprintf("%d misses, %d old values, %d refused, %d errors: %v", o.missed.Load(), o.wrong.Load(), o.refused.Load(),
		o.failed.Load(), o.failure.Load())
}

const nothing = "0 misses, 0 old values, 0 refused, 0 errors: <nil>"

// mustHaveNoticedNothing waits until the clients have asked for ownedKeys more keys, and ends them. It then reads all
// keys through each proxy. It fails if there was any problem, or if more connections ended than the given number.
func (o *owners) mustHaveNoticedNothing(ctx context.Context, event string, ended int64) {
	GinkgoHelper()
	o.untilAsked(ctx, ownedKeys)
	o.stop()
	AddReportEntry(event + ": " + o.String())
	Expect(o.met()).To(Equal(nothing), event)
	o.reconnected(ended)
	o.throughEach(ctx, func(conn **traffic.Conn, _ int) {
		for key := range ownedKeys {
			o.read(ctx, conn, key)
		}
	})
	Expect(o.met()).To(Equal(nothing), "%s, at the end", event)
}
