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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// Two caches hold the same items, and clients of both proxies notice nothing of a node that ends.
var _ = Describe("Two copies of a cache", Label(onLocalCluster), func() {
	It("lose no hit with a node, nor then with its twin", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		first := k8s.CreateMemcached(ctx, namespace, 2, clustertest.Named("first"), filledFrom("second"))
		second := k8s.CreateMemcached(ctx, namespace, 2, clustertest.Named("second"), filledFrom("first"))
		k8s.UntilReady(ctx, first)
		k8s.UntilReady(ctx, second)
		front := newProxy(ctx, first, second)
		before := clustertest.Incarnations(proxiesOf(ctx, front))
		clients := startOwners(ctx, proxiesOf(ctx, front))

		for _, mc := range []*cachev1alpha1.Memcached{first, second} {
			By("killing a node of " + mc.Name)
			crash(ctx, mc, 0)
		}
		sofar := clients.read.Load()
		Eventually(ctx, clients.read.Load).WithTimeout(time.Minute).Should(BeNumerically(">", sofar+ownedKeys), "clients go on")
		clients.mustHaveNoticedNothing(ctx)
		Expect(clustertest.Incarnations(proxiesOf(ctx, front))).To(Equal(before), "pods and restarts of the proxies")
	})
})

// filledFrom makes a Memcached a copy of another one.
func filledFrom(twin string) clustertest.Edit {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Workload, mc.Spec.Config.Dump = cachev1alpha1.WorkloadStatefulSet, ptr.To(true)
		mc.Spec.FillFrom = &cachev1alpha1.MemcachedFillFrom{Name: twin}
	}
}

// crash kills a node, and waits until the one that takes its place is ready.
func crash(ctx context.Context, mc *cachev1alpha1.Memcached, ordinal int) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: fmt.Sprintf("%s-%d", mc.Name, ordinal)}}
	Expect(k8s.Reread(ctx, pod)).To(Succeed())
	killed := pod.UID
	Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Reread(ctx, pod)).To(Succeed())
		g.Expect(pod.UID).NotTo(Equal(killed))
		g.Expect(clustertest.Ready(pod)).To(BeTrue())
	}).WithTimeout(3 * time.Minute).Should(Succeed())
}

const (
	ownedKeys      = 20_000
	ownersPerProxy = 2
)

// owners are clients that write, each keys of its own and through one proxy, and read those of all. Each value is a number that grows.
type owners struct {
	stop func()
	// stored is what the owner of a key has stored.
	stored [ownedKeys]atomic.Int64
	// What reads have met: hits, and what must not be: misses, old values, and replies that are none.
	read, missed, old, failed atomic.Int64
	failure                   atomic.Value
	proxies                   []corev1.Pod
}

// startOwners starts clients of proxies, once they have stored all of their keys.
func startOwners(ctx context.Context, proxies []corev1.Pod) *owners {
	GinkgoHelper()
	o := &owners{proxies: proxies}
	count := len(proxies) * ownersPerProxy
	var conns []*traffic.Conn
	for number := range count {
		conn := k8s.ConnectTo(ctx, traffic.Address(&proxies[number%len(proxies)]))
		conns = append(conns, conn)
		for key := number; key < ownedKeys; key += count {
			o.write(ctx, conn, key)
		}
	}
	Expect(o.failed.Load()).To(BeZero(), "%v", o.failure.Load())
	var stops []func()
	for number, conn := range conns {
		stops = append(stops, clustertest.InBackground(ctx, func(ctx context.Context) {
			for step := number; ctx.Err() == nil; step += count {
				if step%(10*count) == number { // one of ten requests
					o.write(ctx, conn, step/(10*count)*count%ownedKeys+number)
				}
				o.get(ctx, conn, step*7%ownedKeys)
			}
		}))
	}
	o.stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	return o
}

func (o *owners) write(ctx context.Context, conn *traffic.Conn, key int) {
	value := strconv.FormatInt(o.stored[key].Load()+1, 10)
	reply, err := conn.Command(ctx, fmt.Sprintf("set %s 0 0 %d\r\n%s", traffic.Key(key), len(value), value))
	switch {
	case ctx.Err() != nil:
	case err != nil || reply != "STORED":
		o.fail("set %s: %q, %v", traffic.Key(key), reply, err)
	default:
		o.stored[key].Add(1)
	}
}

func (o *owners) get(ctx context.Context, conn *traffic.Conn, key int) {
	stored := o.stored[key].Load()
	value, err := conn.Value(ctx, traffic.Key(key))
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

// mustHaveNoticedNothing ends the clients. Then it reads all keys through each proxy.
func (o *owners) mustHaveNoticedNothing(ctx context.Context) {
	GinkgoHelper()
	o.stop()
	AddReportEntry("gets", o.read.Load())
	noticed := func() string {
		return fmt.Sprintf("%d misses, %d old values, %d errors: %v", o.missed.Load(), o.old.Load(), o.failed.Load(), o.failure.Load())
	}
	Expect(noticed()).To(Equal("0 misses, 0 old values, 0 errors: <nil>"))
	for i := range o.proxies {
		conn := k8s.ConnectTo(ctx, traffic.Address(&o.proxies[i]))
		for key := range ownedKeys {
			o.get(ctx, conn, key)
		}
	}
	Expect(noticed()).To(Equal("0 misses, 0 old values, 0 errors: <nil>"), "at the end")
}
