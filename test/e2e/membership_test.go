// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// Limits that clients may rely on when the nodes of a cache change.
const (
	// longestKnown is how long clients may still find a deleted node, in DNS or in the status.
	longestKnown = 7 * time.Second
	// recordTTL is how long a client may cache an answer of the cluster's DNS. longestKnown includes this time.
	recordTTL = 5 * time.Second
	// shortestService is how long a deleted node must continue to serve: the default of gracefulShutdown.preStopDelaySeconds, minus a second,
	// because the test notices the deletion late.
	shortestService = 4 * time.Second
	// longestBlind is how long DNS or the API server may not answer, because a busy machine is slow.
	longestBlind = 3 * time.Second
)

// This measurement needs the local cluster, for its pod network, and for its DNS, which does not cache answers.
var _ = Describe("A client that follows the members of a Memcached", Label(onLocalCluster), func() {
	It("never sees too many or too few, and finds all of them serving", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 3)
		followMembers(ctx, mc, "a rolling change of 3", 2, 3, func() { roll(ctx, mc, "1") })
		followMembers(ctx, mc, "size 3 to 5", 3, 5, func() { scale(ctx, mc, 5) })
		followMembers(ctx, mc, "size 5 to 1", 1, 5, func() { scale(ctx, mc, 1) })
		followMembers(ctx, mc, "a rolling change of 1, of which the new one starts first", 1, 2, func() { roll(ctx, mc, "2") })
	})

	It("sees nodes of a StatefulSet leave one by one", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Workload, mc.Spec.UpdateStrategy.MinReadySeconds = cachev1alpha1.WorkloadStatefulSet, 5
		})
		left := followMembers(ctx, mc, "a rolling change of 2, minReadySeconds 5, StatefulSet", 1, 2, func() { roll(ctx, mc, "1") })
		Expect(left).To(Equal([]string{"cache-1", "cache-0"}), "one after the other, from the last")
	})
})

func scale(ctx context.Context, mc *cachev1alpha1.Memcached, nodes int32) {
	GinkgoHelper()
	k8s.Change(ctx, mc, func() { mc.Spec.Size = nodes })
}

// roll changes an annotation of the pod template, which replaces every pod.
func roll(ctx context.Context, mc *cachev1alpha1.Memcached, value cachev1alpha1.AnnotationValue) {
	GinkgoHelper()
	k8s.Change(ctx, mc, func() {
		mc.Spec.PodMetadata.Annotations = map[string]cachev1alpha1.AnnotationValue{"example.com/roll": value}
	})
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// members observes the members of a Memcached, which are its nodes in DNS and in status.nodes. It reads both again and again, and sends a
// command to every node that DNS announces. A watch tells it about the pods.
type members struct {
	mutex   sync.Mutex
	samples []sample
	// leaving is when the deletion of each pod began. left are the names of these pods, in this order.
	leaving map[types.UID]time.Time
	left    []string
	pods    map[string]*corev1.Pod // by IP address
	// failed are the commands that failed, by the IP address and the time when they were sent.
	failed []failure
}

type sample struct {
	at            time.Time
	dns, inStatus []string
}

type failure struct {
	at  time.Time
	ip  string
	err error
}

// followMembers makes a change, and checks what clients find in DNS and in status.nodes until both no longer change. The number of nodes must
// always be between fewest and most. It returns the names of the pods that left, in their order.
func followMembers(ctx context.Context, mc *cachev1alpha1.Memcached, title string, fewest, most int, change func()) []string {
	GinkgoHelper()
	By(title)
	m := &members{leaving: map[types.UID]time.Time{}, pods: map[string]*corev1.Pod{}}
	following, stop := context.WithCancel(ctx)
	defer stop()
	pods := clustertest.Must(k8s.Watch(following, &corev1.PodList{}, client.InNamespace(mc.Namespace)))
	defer pods.Stop()
	var followers sync.WaitGroup
	followers.Go(func() { m.watch(pods.ResultChan()) })
	key := client.ObjectKeyFromObject(mc) // the change has the object itself
	followers.Go(func() { clustertest.Every(following, roundPeriod, func() { m.sample(following, key, &followers) }) })

	m.untilSettled(ctx, mc)
	began := time.Now()
	change()
	k8s.UntilReady(ctx, mc)
	m.untilSettled(ctx, mc)
	stop()
	pods.Stop()
	followers.Wait()
	m.mustHaveServed(began, fewest, most)
	return m.left
}

func (m *members) watch(events <-chan watch.Event) {
	for event := range events {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		m.mutex.Lock()
		if pod.Status.PodIP != "" {
			m.pods[pod.Status.PodIP] = pod
		}
		if _, known := m.leaving[pod.UID]; !known && pod.DeletionTimestamp != nil {
			m.leaving[pod.UID] = time.Now()
			m.left = append(m.left, pod.Name)
		}
		m.mutex.Unlock()
	}
}

func (m *members) sample(ctx context.Context, key client.ObjectKey, followers *sync.WaitGroup) {
	at := time.Now()
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// Without "ip4", Go's resolver would also ask for AAAA records, and return their empty answer if the query for A records failed.
	found, err := resolver().LookupNetIP(limited, "ip4", nodesOf(key.Name)+"."+key.Namespace+".svc.cluster.local.")
	var mc cachev1alpha1.Memcached
	if missing := new(net.DNSError); err != nil && (!errors.As(err, &missing) || !missing.IsNotFound) || k8s.Get(limited, key, &mc) != nil {
		return // a busy machine is slow
	}
	taken := sample{at: at, inStatus: mc.Status.Nodes}
	for _, address := range found {
		ip := address.Unmap().String()
		taken.dns = append(taken.dns, ip)
		followers.Go(func() {
			if err := m.ask(ctx, ip); err != nil && ctx.Err() == nil {
				m.mutex.Lock()
				defer m.mutex.Unlock()
				m.failed = append(m.failed, failure{at, ip, err})
			}
		})
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.samples = append(m.samples, taken)
}

// ask connects to a node, and fails unless memcached answers. On a busy machine, a slow answer is no failure.
func (*members) ask(ctx context.Context, ip string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := traffic.Connect(ctx, dial, net.JoinHostPort(ip, strconv.Itoa(traffic.Port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	reply, err := conn.Command(ctx, "mn")
	if err == nil && reply != "MN" {
		err = fmt.Errorf("the reply is %q", reply)
	}
	return err
}

// untilSettled waits until exactly the nodes of the spec exist, and DNS and the status list exactly these.
func (m *members) untilSettled(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var pods corev1.PodList
		g.Expect(k8s.List(ctx, &pods, client.InNamespace(mc.Namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(int(mc.Spec.Size)))
		var names, addresses []string
		for _, pod := range pods.Items {
			g.Expect(pod.DeletionTimestamp).To(BeNil())
			names, addresses = append(names, pod.Name), append(addresses, pod.Status.PodIP)
		}
		m.mutex.Lock()
		defer m.mutex.Unlock()
		g.Expect(m.samples).NotTo(BeEmpty())
		last := m.samples[len(m.samples)-1]
		g.Expect(last.dns).To(ConsistOf(addresses))
		g.Expect(last.inStatus).To(ConsistOf(names))
	}).Should(Succeed())
}

// mustHaveServed checks the samples since the change began. In earlier ones, DNS may still lack a node that is ready.
func (m *members) mustHaveServed(began time.Time, fewest, most int) {
	GinkgoHelper()
	last := began
	for _, s := range m.samples {
		if s.at.Before(began) {
			continue
		}
		Expect(s.at.Sub(last)).To(BeNumerically("<", longestBlind), "time without a sample")
		last = s.at
		for where, count := range map[string]int{"in DNS": len(s.dns), "in status.nodes": len(s.inStatus)} {
			Expect(count).To(And(BeNumerically(">=", fewest), BeNumerically("<=", most)), "members %s after %s", where, seconds(s.at.Sub(began)))
		}
		for ip, pod := range m.pods {
			leaving, leaves := m.leaving[pod.UID]
			if leaves && slices.Contains(s.dns, ip) {
				Expect(s.at.Sub(leaving)+recordTTL).To(BeNumerically("<", longestKnown), "%s, in DNS and in cached records", pod.Name)
			}
			if leaves && slices.Contains(s.inStatus, pod.Name) && !m.hasSuccessor(pod) {
				Expect(s.at.Sub(leaving)).To(BeNumerically("<", longestKnown), "%s, in status.nodes", pod.Name)
			}
		}
	}
	for _, f := range m.failed {
		pod := m.pods[f.ip]
		Expect(pod).NotTo(BeNil(), "%s: %v", f.ip, f.err)
		leaving, leaves := m.leaving[pod.UID]
		Expect(leaves && f.at.Sub(leaving) > shortestService).To(BeTrue(), "%s does not serve after %s: %v", pod.Name, seconds(f.at.Sub(began)), f.err)
	}
}

// hasSuccessor reports whether another pod has the same name.
func (m *members) hasSuccessor(former *corev1.Pod) bool {
	for _, pod := range m.pods {
		if pod.Name == former.Name && pod.UID != former.UID {
			return true
		}
	}
	return false
}
