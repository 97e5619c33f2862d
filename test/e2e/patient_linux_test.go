// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// patientKeys are what a patient holds when it falls ill.
	patientKeys = 10
	// patientPatience is how long its clients wait for an answer: longer than the slow one ever takes.
	patientPatience = 5 * time.Second
	// A memcached that stutters is stopped for most of the time. A turn is not a whole second: who asks once a second meets
	// another part of each.
	stutterStop, stutterRun = 800 * time.Millisecond, 300 * time.Millisecond
)

// patient is a Memcached with one node whose process falls ill.
type patient struct {
	mc      *cachev1alpha1.Memcached
	pod     corev1.Pod
	process process
	address string
	// open is a connection from before the illness.
	open *traffic.Conn

	// unready, restarted and serving are when observe has seen it so for the first time; zero if not.
	unready, restarted, serving time.Duration

	// stopAsking ends askAgainAndAgain, after which its figures may be read.
	stopAsking func()
	// asked is how often a client connected and sent a command, connected and answered in how many of them it could and had
	// an answer.
	asked, connected, answered int
	slowest                    time.Duration
}

// newPatient returns a healthy one that holds keys.
func newPatient(ctx context.Context, namespace, name string) *patient {
	GinkgoHelper()
	p := &patient{mc: newMemcached(ctx, namespace, 1, func(mc *cachev1alpha1.Memcached) { mc.Name = name })}
	p.pod = podsOf(ctx, p.mc)[0]
	p.address = addressOf(&p.pod)
	p.open = connectTo(ctx, p.mc)
	Expect(newClient(serversOf(ctx, p.mc)).Write(ctx, patientKeys, 100)).To(Succeed())
	found := processesOf("memcached", "pod"+string(p.pod.UID))
	Expect(found).To(HaveLen(1), "processes of memcached in pod %s", p.pod.Name)
	p.process = found[0]
	// One that is stopped cannot end.
	DeferCleanup(func() { p.process.signal(syscall.SIGCONT) })
	return p
}

// stopListening makes the process deaf on the sockets on which it listens, as if its listener were dead. Its connections
// stay.
func (p *patient) stopListening() {
	GinkgoHelper()
	handle, err := unix.PidfdOpen(p.process.pid, 0)
	Expect(err).NotTo(HaveOccurred())
	defer unix.Close(handle)
	deafened := 0
	for _, socket := range listeners(handle) {
		// A program that accepts no byte of any packet.
		drop := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}
		Expect(unix.SetsockoptSockFprog(socket, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &drop})).To(Succeed())
		Expect(unix.Close(socket)).To(Succeed())
		deafened++
	}
	Expect(deafened).To(BeNumerically(">", 0), "listening sockets of memcached")
}

// listeners returns handles of the sockets on which a process listens that has few files, with low numbers.
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

// keys returns how many of its keys the memcached still holds.
func (p *patient) keys(ctx context.Context) int {
	GinkgoHelper()
	hits, err := newClient(serversOf(ctx, p.mc)).Read(ctx, patientKeys)
	Expect(err).NotTo(HaveOccurred())
	Expect(hits.Errors+hits.Wrong).To(BeZero(), "%+v", hits)
	return hits.Hits
}

// stutter stops the process for most of the time until it is to go on, or the spec ends.
func (p *patient) stutter() (goOn func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	goOn = func() {
		stop()
		running.Wait()
		_ = syscall.Kill(p.process.pid, syscall.SIGCONT)
	}
	DeferCleanup(goOn)
	running.Go(func() {
		for ctx.Err() == nil {
			for _, turn := range []struct {
				signal syscall.Signal
				length time.Duration
			}{{syscall.SIGSTOP, stutterStop}, {syscall.SIGCONT, stutterRun}} {
				// A process that has ended is found by the spec.
				_ = syscall.Kill(p.process.pid, turn.signal)
				select {
				case <-ctx.Done():
				case <-time.After(turn.length):
				}
			}
		}
	})
	return goOn
}

// askAgainAndAgain lets a client connect and ask once a second until stopAsking.
func (p *patient) askAgainAndAgain(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { every(ctx, time.Second, func() { p.ask(ctx) }) })
	p.stopAsking = func() {
		stop()
		asking.Wait()
	}
	DeferCleanup(p.stopAsking)
}

func (p *patient) ask(ctx context.Context) {
	patient, cancel := context.WithTimeout(ctx, patientPatience)
	defer cancel()
	begin := time.Now()
	conn, err := traffic.Connect(patient, dial, p.address)
	connected, answered := err == nil, false
	if connected {
		_, err = conn.Command(patient, "mn")
		answered = err == nil
		_ = conn.Close() // what matters is the answer
	}
	if ctx.Err() != nil {
		return
	}
	p.asked++
	if connected {
		p.connected++
	}
	if answered {
		p.answered++
		p.slowest = max(p.slowest, time.Since(begin))
	}
}

// mustBeLeftAlone fails unless Kubernetes and the operator say that all is well, and nothing was restarted.
func (p *patient) mustBeLeftAlone(ctx context.Context) {
	GinkgoHelper()
	pod := p.now(ctx)
	Expect(isReady(pod)).To(BeTrue(), "pod %s must be ready", pod.Name)
	Expect(restartsOf(pod)).To(BeZero(), "restarts of pod %s", pod.Name)
	var mc cachev1alpha1.Memcached
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(p.mc), &mc)).To(Succeed())
	Expect(mc.Status.Conditions).To(Equal(p.mc.Status.Conditions))
}

// observe takes down what becomes of the node, until it serves again.
func (p *patient) observe(ctx context.Context, g Gomega, began time.Time) {
	pod := p.now(ctx)
	if p.unready == 0 && !isReady(pod) {
		p.unready = time.Since(began)
	}
	if p.restarted == 0 && restartsOf(pod) == 1 {
		p.restarted = time.Since(began)
	}
	g.Expect(p.restarted).NotTo(BeZero(), "memcached must be restarted")
	g.Expect(isReady(pod)).To(BeTrue(), "pod %s must be ready again", pod.Name)
	g.Expect(command(ctx, p.address)).To(Succeed())
	p.serving = time.Since(began)
}

// now returns the pod as it is now: still the same.
func (p *patient) now(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(&p.pod), &pod)).To(Succeed())
	Expect(pod.UID).To(Equal(p.pod.UID))
	return &pod
}

// livenessTakes returns when the liveness probe restarts at the soonest, and at the latest, what fails all the time.
func (p *patient) livenessTakes() (soonest, latest time.Duration) {
	const busyMachine = 10
	probe := p.pod.Spec.Containers[0].LivenessProbe
	all := probe.FailureThreshold * probe.PeriodSeconds
	return time.Duration(all-probe.PeriodSeconds) * time.Second, time.Duration(all+probe.TimeoutSeconds+busyMachine) * time.Second
}
