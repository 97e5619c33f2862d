// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// Two nodes get a fault at the same time. The restart of one node proves that the probes had enough time to restart the other.
var _ = Describe("A memcached that runs but does not serve well", Label(onLocalCluster), func() {
	It("is restarted if nobody can connect to it, but not if it hangs", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		deaf, hung := newFaultyNode(ctx, namespace, "deaf"), newFaultyNode(ctx, namespace, "hung")
		began := time.Now()
		deaf.stopListening()
		hung.process.signal(syscall.SIGSTOP)

		By("serving only open connections on the deaf one")
		Expect(connectAndAsk(ctx, deaf.address)).To(MatchError(ContainSubstring("i/o timeout")))
		Expect(deaf.open.Command(ctx, "mn")).To(Equal("MN"))

		By("taking it out of the Service, and restarting it after a minute in which no connect succeeded")
		Eventually(ctx, func() bool { return clustertest.Ready(deaf.now(ctx)) }).Should(BeFalse())
		var restarted time.Duration
		Eventually(ctx, func(g Gomega) {
			hung.mustBeLeftAlone(ctx)
			pod := deaf.now(ctx)
			if restarted == 0 && clustertest.Restarts(pod) == 1 {
				restarted = time.Since(began)
			}
			g.Expect(clustertest.Restarts(pod)).To(BeEquivalentTo(1))
			g.Expect(clustertest.Ready(pod)).To(BeTrue())
			g.Expect(connectAndAsk(ctx, deaf.address)).To(Succeed())
		}).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(Succeed())
		soonest, latest := deaf.livenessTakes()
		Expect(restarted).To(BeNumerically(">", soonest), "a restart loses data: a shorter outage must not cause it")
		Expect(k8s.Kubectl(ctx, "events", "--namespace", namespace, "--for", "pod/"+deaf.pod.Name)).
			To(ContainSubstring("Container memcached failed liveness probe, will be restarted"))

		By("leaving alone the one that hangs: TCP connects succeed")
		Consistently(ctx, func(Gomega) { hung.mustBeLeftAlone(ctx) }).WithTimeout(max(time.Second, latest-time.Since(began))).
			WithPolling(time.Second).Should(Succeed())
		Expect(connectAndAsk(ctx, hung.address)).NotTo(Succeed(), "it must have hung")

		By("losing nothing when it goes on")
		hung.process.signal(syscall.SIGCONT)
		Expect(hung.keys(ctx)).To(Equal(faultyKeys))
		Expect(deaf.keys(ctx)).To(BeZero(), "a restart has lost them")
	})
})

// faultyKeys is how many keys a node holds before its fault.
const faultyKeys = 10

// faultyNode is a Memcached with one node, whose process gets a fault.
type faultyNode struct {
	mc      *cachev1alpha1.Memcached
	pod     corev1.Pod
	process process
	address string
	// open is a connection from before the fault.
	open *traffic.Conn
}

// newFaultyNode creates a node that holds keys and is still healthy.
func newFaultyNode(ctx context.Context, namespace, name string) *faultyNode {
	GinkgoHelper()
	p := &faultyNode{mc: k8s.NewMemcached(ctx, namespace, 1, clustertest.Named(name))}
	p.pod = k8s.Pods(ctx, p.mc)[0]
	p.address = traffic.Address(&p.pod)
	p.open = k8s.ConnectTo(ctx, p.address)
	Expect(k8s.NewClient(ctx, p.mc).Write(ctx, faultyKeys, 100)).To(Succeed())
	p.process = theOne(processesOf("memcached", "pod"+string(p.pod.UID)), "processes of memcached in pod "+p.pod.Name)
	// A stopped process does not handle SIGTERM.
	DeferCleanup(func() { p.process.signal(syscall.SIGCONT) })
	return p
}

// stopListening makes the process drop every new connection, as if its listener were dead. Open connections stay.
func (p *faultyNode) stopListening() {
	GinkgoHelper()
	handle := clustertest.Must(unix.PidfdOpen(p.process.pid, 0))
	defer unix.Close(handle)
	deafened := 0
	for _, socket := range listeners(handle) {
		// This BPF program drops every packet.
		drop := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}
		program := unix.SockFprog{Len: 1, Filter: &drop}
		Expect(unix.SetsockoptSockFprog(socket, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)).To(Succeed())
		Expect(unix.Close(socket)).To(Succeed())
		deafened++
	}
	Expect(deafened).To(BeNumerically(">", 0), "listening sockets of memcached")
}

// listeners returns duplicates of the listening sockets of a process. It looks for them only among the file descriptors below 64.
func listeners(handle int) []int {
	GinkgoHelper()
	var sockets []int
	for number := range 64 {
		file, err := unix.PidfdGetfd(handle, number, 0)
		if errors.Is(err, unix.EBADF) {
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		if listens, err := unix.GetsockoptInt(file, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil && listens == 1 {
			sockets = append(sockets, file)
		} else {
			Expect(unix.Close(file)).To(Succeed())
		}
	}
	return sockets
}

func (p *faultyNode) keys(ctx context.Context) int {
	GinkgoHelper()
	hits := clustertest.Must(k8s.NewClient(ctx, p.mc).Read(ctx, faultyKeys))
	Expect(hits.Errors+hits.Wrong).To(BeZero(), "%+v", hits)
	return hits.Hits
}

// mustBeLeftAlone fails if the container was restarted, the pod is not ready, or the conditions have changed.
func (p *faultyNode) mustBeLeftAlone(ctx context.Context) {
	GinkgoHelper()
	pod := p.now(ctx)
	Expect(clustertest.Ready(pod)).To(BeTrue(), "pod %s must be ready", pod.Name)
	Expect(clustertest.Restarts(pod)).To(BeZero(), "restarts of pod %s", pod.Name)
	var mc cachev1alpha1.Memcached
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(p.mc), &mc)).To(Succeed())
	Expect(mc.Status.Conditions).To(Equal(p.mc.Status.Conditions))
}

// now rereads the pod, which must still be the same.
func (p *faultyNode) now(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(&p.pod), &pod)).To(Succeed())
	Expect(pod.UID).To(Equal(p.pod.UID))
	return &pod
}

// livenessTakes returns how long the liveness probe takes to restart a container that always fails: the shortest time, and the longest
// time on a busy machine.
func (p *faultyNode) livenessTakes() (soonest, latest time.Duration) {
	const margin = 10
	probe := p.pod.Spec.Containers[0].LivenessProbe
	all := probe.FailureThreshold * probe.PeriodSeconds
	return time.Duration(all-probe.PeriodSeconds) * time.Second, time.Duration(all+probe.TimeoutSeconds+margin) * time.Second
}
