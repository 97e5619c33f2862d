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
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// samplePeriod is how often a census asks who the members are, and each of them whether it serves.
	samplePeriod = 100 * time.Millisecond
	// samplePatience is how long it waits for an answer.
	samplePatience = time.Second
)

// census is what is seen of the members of a Memcached during a change: ten times a second, what the DNS of the cluster
// and status.nodes say; when a pod begins to leave; and whether every node that DNS has announced answers a command.
type census struct {
	// key names the Memcached. The object itself belongs to who makes the change.
	key client.ObjectKey
	// began is when the change was made.
	began time.Time

	// mutex guards what follows as long as the census is taken.
	mutex           sync.Mutex
	inDNS, inStatus []sample
	pods            map[string]*podLife // by IP address
	// failures are the commands that were not answered, by the IP address of the node that DNS had announced.
	failures map[string][]failure
	broken   error
}

// sample is who the members were at a time: addresses in DNS, names in the status.
type sample struct {
	at      time.Time
	members []string
}

// podLife is what a watch tells of a pod. The times are those at which it told.
type podLife struct {
	name string
	// leaving is when its deletion had begun, gone when it had ended; zero if not.
	leaving, gone time.Time
}

// failure is a command that was not answered. The time is when it was begun.
type failure struct {
	at  time.Time
	err error
}

// censusOf makes a change to a Memcached and follows its members until nobody comes or leaves any more.
func censusOf(ctx context.Context, mc *cachev1alpha1.Memcached, change func()) *census {
	GinkgoHelper()
	c := &census{key: client.ObjectKeyFromObject(mc), pods: map[string]*podLife{}, failures: map[string][]failure{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pods, err := k8s.Watch(ctx, &corev1.PodList{}, client.InNamespace(mc.Namespace))
	Expect(err).NotTo(HaveOccurred())
	defer pods.Stop()
	var followers sync.WaitGroup
	followers.Go(func() { c.watchPods(ctx, pods.ResultChan()) })
	followers.Go(func() { every(ctx, samplePeriod, func() { c.askDNS(ctx, &followers) }) })
	followers.Go(func() { every(ctx, samplePeriod, func() { c.askStatus(ctx) }) })

	c.untilSettled(ctx, mc.Spec.Size)
	c.began = time.Now()
	change()
	untilReady(ctx, mc)
	c.untilSettled(ctx, mc.Spec.Size)
	stop()
	followers.Wait()
	Expect(c.broken).NotTo(HaveOccurred())
	return c
}

// untilSettled waits until as many pods exist as are wanted, DNS and the status name just these, and the watch has told of
// the end of the others.
func (c *census) untilSettled(ctx context.Context, size int32) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var pods corev1.PodList
		g.Expect(k8s.List(ctx, &pods, client.InNamespace(c.key.Namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(int(size)))
		var names, addresses []string
		for _, pod := range pods.Items {
			g.Expect(pod.DeletionTimestamp).To(BeNil())
			names, addresses = append(names, pod.Name), append(addresses, pod.Status.PodIP)
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		g.Expect(c.inDNS).NotTo(BeEmpty())
		g.Expect(c.inDNS[len(c.inDNS)-1].members).To(ConsistOf(addresses))
		g.Expect(c.inStatus).NotTo(BeEmpty())
		g.Expect(c.inStatus[len(c.inStatus)-1].members).To(ConsistOf(names))
		for _, pod := range c.pods {
			g.Expect(pod.gone.IsZero()).To(Equal(pod.leaving.IsZero()))
		}
	}).Should(Succeed())
}

func (c *census) watchPods(ctx context.Context, events <-chan watch.Event) {
	for event := range events {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			c.note(func() { c.notePod(event.Type, pod) })
		}
	}
	if ctx.Err() == nil {
		c.note(func() { c.broken = errors.New("the watch of the pods ended early") })
	}
}

// notePod finds the pod by its name: one that has ended may have no address any more.
func (c *census) notePod(event watch.EventType, pod *corev1.Pod) {
	var life *podLife
	for _, known := range c.pods {
		if known.name == pod.Name {
			life = known
		}
	}
	if life == nil {
		if pod.Status.PodIP == "" {
			return // it is not there yet
		}
		life = &podLife{name: pod.Name}
		c.pods[pod.Status.PodIP] = life
	}
	if pod.DeletionTimestamp != nil && life.leaving.IsZero() {
		life.leaving = time.Now()
	}
	if event == watch.Deleted {
		life.gone = time.Now()
	}
}

// askDNS takes a sample, and starts to send commands to each node that was not announced before.
func (c *census) askDNS(ctx context.Context, followers *sync.WaitGroup) {
	at := time.Now()
	patient, cancel := context.WithTimeout(ctx, samplePatience)
	defer cancel()
	// Only A records: Go's resolver takes an empty answer about the others for all there is when the one about these fails.
	found, err := resolver().LookupNetIP(patient, "ip4", c.key.Name+"."+c.key.Namespace+".svc.cluster.local.")
	if missing := new(net.DNSError); err != nil && (!errors.As(err, &missing) || !missing.IsNotFound) {
		return // that there is no sample shows, see blind
	}
	var addresses []string
	for _, address := range found {
		addresses = append(addresses, address.Unmap().String())
	}
	slices.Sort(addresses)
	c.note(func() {
		c.inDNS = append(c.inDNS, sample{at, addresses})
		for _, address := range addresses {
			if _, known := c.failures[address]; !known {
				c.failures[address] = nil
				followers.Go(func() { c.sendCommands(ctx, address) })
			}
		}
	})
}

func (c *census) askStatus(ctx context.Context) {
	at := time.Now()
	patient, cancel := context.WithTimeout(ctx, samplePatience)
	defer cancel()
	var mc cachev1alpha1.Memcached
	if err := k8s.Get(patient, c.key, &mc); err != nil {
		return // as in askDNS
	}
	c.note(func() { c.inStatus = append(c.inStatus, sample{at, mc.Status.Nodes}) })
}

// sendCommands does what a client does that has learnt of a node: it connects and sends a command, again and again, until
// the pod is gone.
func (c *census) sendCommands(ctx context.Context, ip string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	every(ctx, samplePeriod, func() {
		at := time.Now()
		err := command(ctx, net.JoinHostPort(ip, fmt.Sprint(memcachedPort)))
		c.note(func() {
			if pod := c.pods[ip]; pod != nil && !pod.gone.IsZero() {
				stop()
			}
			if err != nil && ctx.Err() == nil {
				c.failures[ip] = append(c.failures[ip], failure{at, err})
			}
		})
	})
}

// command connects to a memcached and asks for its version.
func command(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, samplePatience)
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

func (c *census) note(what func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	what()
}

// every does something at once, and then again in each period, until the context ends.
func every(ctx context.Context, period time.Duration, do func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
