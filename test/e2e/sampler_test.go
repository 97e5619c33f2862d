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
	"strings"
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

const (
	// samplePeriod is how often a sampler reads the members of a cache, and checks that each of them serves.
	samplePeriod = 100 * time.Millisecond
	// sampleTimeout is how long a sampler waits for an answer from DNS, or from the API server.
	sampleTimeout = time.Second
	// commandTimeout is how long a sampler waits for an answer of a node. On a busy machine, a slow answer is no failure.
	commandTimeout = 3 * time.Second
)

// sampler observes the members of a Memcached, which are its nodes in DNS and in status.nodes, during a change. In each samplePeriod,
// it reads both, and sends a command to every node that DNS has announced. A watch tells it about the life of each pod.
type sampler struct {
	// key names the Memcached. The sampler must not share the object itself with the change.
	key client.ObjectKey
	// began is the time of the change.
	began time.Time

	// mutex guards the fields below while the sampler runs.
	mutex           sync.Mutex
	inDNS, inStatus []sample
	pods            map[string]*podLife     // by IP address
	created         map[types.UID]time.Time // when the watch first reported a pod, which may have no address yet
	// failures are the failed commands, by the IP address that DNS had announced.
	failures map[string][]failure
	broken   error
}

// sample is the members at one time: IP addresses in DNS, or names in the status.
type sample struct {
	at      time.Time
	members []string
}

// podLife is what a watch has reported about a pod, and when.
type podLife struct {
	uid  types.UID
	name string
	// came is when the watch first reported the pod, leaving is when its deletion began, and gone is when it was deleted. Until then,
	// leaving and gone are zero.
	came, leaving, gone time.Time
}

// failure is the error of a command, and the time when the command was sent.
type failure struct {
	at  time.Time
	err error
}

// sampleMembership makes a change to a Memcached, and observes its members until they no longer change.
func sampleMembership(ctx context.Context, mc *cachev1alpha1.Memcached, change func()) *sampler {
	GinkgoHelper()
	m := &sampler{
		key: client.ObjectKeyFromObject(mc), pods: map[string]*podLife{}, created: map[types.UID]time.Time{}, failures: map[string][]failure{},
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pods := clustertest.Must(k8s.Watch(ctx, &corev1.PodList{}, client.InNamespace(mc.Namespace)))
	defer pods.Stop()
	var followers sync.WaitGroup
	followers.Go(func() { m.watchPods(ctx, pods.ResultChan()) })
	followers.Go(func() { clustertest.Every(ctx, samplePeriod, func() { m.askDNS(ctx, &followers) }) })
	followers.Go(func() { clustertest.Every(ctx, samplePeriod, func() { m.askStatus(ctx) }) })

	m.untilSettled(ctx, mc.Spec.Size)
	m.began = time.Now()
	change()
	k8s.UntilReady(ctx, mc)
	m.untilSettled(ctx, mc.Spec.Size)
	stop()
	followers.Wait()
	Expect(m.broken).NotTo(HaveOccurred())
	return m
}

// untilSettled waits until exactly size pods exist, DNS and the status list exactly these pods, and the watch has reported the end of
// all other pods.
func (m *sampler) untilSettled(ctx context.Context, size int32) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var pods corev1.PodList
		g.Expect(k8s.List(ctx, &pods, client.InNamespace(m.key.Namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(int(size)))
		var names, addresses []string
		for _, pod := range pods.Items {
			g.Expect(pod.DeletionTimestamp).To(BeNil())
			names, addresses = append(names, pod.Name), append(addresses, pod.Status.PodIP)
		}
		m.mutex.Lock()
		defer m.mutex.Unlock()
		g.Expect(m.inDNS).NotTo(BeEmpty())
		g.Expect(m.inDNS[len(m.inDNS)-1].members).To(ConsistOf(addresses))
		g.Expect(m.inStatus).NotTo(BeEmpty())
		g.Expect(m.inStatus[len(m.inStatus)-1].members).To(ConsistOf(names))
		for _, pod := range m.pods {
			g.Expect(pod.gone.IsZero()).To(Equal(pod.leaving.IsZero()))
		}
	}).Should(Succeed())
}

func (m *sampler) watchPods(ctx context.Context, events <-chan watch.Event) {
	for event := range events {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			m.note(func() { m.notePod(event.Type, pod) })
		}
	}
	if ctx.Err() == nil {
		m.note(func() { m.broken = errors.New("the watch of the pods ended early") })
	}
}

// notePod records an event of a pod. It finds the pod by its UID, because the pod may have lost its address at its end.
func (m *sampler) notePod(event watch.EventType, pod *corev1.Pod) {
	if _, known := m.created[pod.UID]; !known {
		m.created[pod.UID] = time.Now()
	}
	var life *podLife
	for _, known := range m.pods {
		if known.uid == pod.UID {
			life = known
		}
	}
	if life == nil {
		if pod.Status.PodIP == "" {
			return // it has not started yet
		}
		life = &podLife{uid: pod.UID, name: pod.Name, came: m.created[pod.UID]}
		m.pods[pod.Status.PodIP] = life
	}
	if pod.DeletionTimestamp != nil && life.leaving.IsZero() {
		life.leaving = time.Now()
	}
	if event == watch.Deleted {
		life.gone = time.Now()
	}
}

// askDNS takes a sample from DNS. It starts to send commands to each node that was not announced before.
func (m *sampler) askDNS(ctx context.Context, followers *sync.WaitGroup) {
	at := time.Now()
	limited, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	// Without "ip4", Go's resolver would also ask for AAAA records, and return their empty answer if the query for A records failed.
	found, err := resolver().LookupNetIP(limited, "ip4", m.key.Name+"."+m.key.Namespace+".svc.cluster.local.")
	if missing := new(net.DNSError); err != nil && (!errors.As(err, &missing) || !missing.IsNotFound) {
		return // the gap shows in summary.blind
	}
	var addresses []string
	for _, address := range found {
		addresses = append(addresses, address.Unmap().String())
	}
	slices.Sort(addresses)
	m.note(func() {
		m.inDNS = append(m.inDNS, sample{at, addresses})
		for _, address := range addresses {
			if _, known := m.failures[address]; !known {
				m.failures[address] = nil
				followers.Go(func() { m.sendCommands(ctx, address) })
			}
		}
	})
}

func (m *sampler) askStatus(ctx context.Context) {
	at := time.Now()
	limited, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	var mc cachev1alpha1.Memcached
	if err := k8s.Get(limited, m.key, &mc); err != nil {
		return // the gap shows in summary.blind
	}
	m.note(func() { m.inStatus = append(m.inStatus, sample{at, mc.Status.Nodes}) })
}

// sendCommands connects to a node and sends a command, again and again, until the pod is gone.
func (m *sampler) sendCommands(ctx context.Context, ip string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	clustertest.Every(ctx, samplePeriod, func() {
		at := time.Now()
		err := connectAndAsk(ctx, net.JoinHostPort(ip, fmt.Sprint(traffic.Port)))
		m.note(func() {
			if pod := m.pods[ip]; pod != nil && !pod.gone.IsZero() {
				stop()
			}
			if err != nil && ctx.Err() == nil {
				m.failures[ip] = append(m.failures[ip], failure{at, err})
			}
		})
	})
}

// connectAndAsk connects to a memcached, and fails unless memcached tells its version.
func connectAndAsk(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	conn, err := traffic.Connect(ctx, dial, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	reply, err := conn.Command(ctx, "version")
	if err == nil && !strings.HasPrefix(reply, "VERSION ") {
		err = fmt.Errorf("%s: version: the reply is %q", address, reply)
	}
	return err
}

func (m *sampler) note(what func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	what()
}
