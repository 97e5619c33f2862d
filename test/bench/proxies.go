// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/fill"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/process"
	"github.com/example/memcached-operator/test/traffic"
)

// The programs that "make bench-build" builds, and that of Debian's package nutcracker.
const (
	memcachedBinary  = "bin/memcached"
	agentBinary      = "bin/agent"
	nutcrackerBinary = "/usr/sbin/nutcracker"
)

const (
	// stopGrace limits how long a program may take to start, and how long it may take to stop.
	stopGrace = 10 * time.Second
	startPoll = 20 * time.Millisecond
)

// loopback runs nodes and proxies on this machine. Each has its own loopback address, because proxies expect the same port on all
// nodes. An address consists of the text in network, such as "127.15.7.", and a host number.
type loopback struct {
	dir, network string
	started      []*process.Process
}

// onLoopback runs a measurement that needs no cluster, only processes of memcached and of proxies.
func onLoopback(measure func(*bench, context.Context, *loopback)) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		l := &loopback{dir: must(os.MkdirTemp("", "bench-")), network: fmt.Sprintf("127.15.%d.", os.Getpid()%256)}
		err := errors.Join(attempt(func() { measure(b, ctx, l) }), l.stop())
		check(errors.Join(err, os.RemoveAll(l.dir)))
	}
}

func (l *loopback) stop() error {
	var errs []error
	for _, one := range l.started {
		errs = append(errs, one.Stop(stopGrace))
	}
	l.started = nil
	return errors.Join(errs...)
}

func (l *loopback) host(number int) string { return l.network + strconv.Itoa(number) }

// address returns the address of clients of a host number.
func (l *loopback) address(number int) string { return addressOf(l.host(number)) }

func addressOf(host string) string { return net.JoinHostPort(host, strconv.Itoa(memcached.Port)) }

// pattern returns the address pattern of a pool: the nodes of pool 1 have the host numbers 10, 11 and so on.
func (l *loopback) pattern(pool int) string { return l.network + strconv.Itoa(pool) + "%d" }

// folder returns the working directory of a host number.
func (l *loopback) folder(number int) string {
	dir := filepath.Join(l.dir, l.host(number))
	check(os.MkdirAll(dir, 0o700))
	return dir
}

func (l *loopback) run(number int, program string, args ...string) *process.Process {
	name := filepath.Base(program)
	p := must(process.Start(process.Spec{
		Name: name, Path: must(filepath.Abs(program)), Args: args, Env: []string{"PATH=" + os.Getenv("PATH")},
		Dir: l.folder(number), LogFile: filepath.Join(l.folder(number), name+".log"),
	}))
	l.started = append(l.started, p)
	return p
}

func (l *loopback) untilListening(ctx context.Context, number int) {
	check(wait.PollUntilContextTimeout(ctx, startPoll, stopGrace, true, func(ctx context.Context) (bool, error) {
		conn, err := traffic.Connect(ctx, nil, l.address(number))
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return true, conn.Close()
	}))
}

// node starts the memcached of a pod. Only the address and the user differ from those in a pod.
func (l *loopback) node(ctx context.Context, number int, pod corev1.PodSpec) {
	args := append(slices.Clone(pod.Containers[0].Args), "-l", l.host(number), "-u", must(user.Current()).Username)
	l.run(number, memcachedBinary, args...)
	l.untilListening(ctx, number)
}

// proxy starts the program that runs memcached as a proxy in the pods of proxies. The proxy leads to pool 1. copies
// are the address patterns of pools with the same items as pool 1. If threads is 0, the proxy has the default number of threads.
func (l *loopback) proxy(ctx context.Context, name string, number int, threads int32, copies ...string) path {
	host, dir := l.host(number), l.folder(number)
	routes := protocol.Routes{Pool: protocol.Pool{Pattern: l.pattern(1), Count: size}, Copies: copies}
	check(os.WriteFile(filepath.Join(dir, protocol.RoutesKey), []byte(routes.String()), 0o600))
	self := must(user.Current()).Username
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -u '%s' \"$@\" -l %s\n", must(filepath.Abs(memcachedBinary)), self, host)
	check(os.WriteFile(filepath.Join(dir, "memcached"), []byte(script), 0o700))
	listen := net.JoinHostPort(host, strconv.Itoa(memcached.ParentPort))
	args := append([]string{"proxy"}, proxyPod(threads).Containers[0].Args...)
	args = append(args, "--routes="+dir, "--state="+dir,
		"--program="+filepath.Join(dir, "memcached"), "--listen="+listen, "--memcached="+addressOf(host))
	p := l.run(number, agentBinary, args...)
	check(p.UntilServing(ctx, "http://"+listen+protocol.ReadyPath, startPoll, stopGrace))
	conn := must(traffic.Connect(ctx, nil, addressOf(host)))
	pid := must(strconv.Atoi(must(conn.Stats(ctx))["pid"]))
	check(conn.Close())
	return path{name, addressOf(host), pid}
}

// podOf returns the spec of the pods of the Deployment among the children.
func podOf(children []client.Object) corev1.PodSpec {
	for _, child := range children {
		if deployment, ok := child.(*appsv1.Deployment); ok {
			return deployment.Spec.Template.Spec
		}
	}
	panic("there is no Deployment")
}

// proxyPod returns the spec of proxies with this number of threads. The nodes behind them have a StatefulSet, no Deployment.
func proxyPod(threads int32) corev1.PodSpec {
	return podOf(childrenOf(memcachedNumber(0, statefulSet, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Proxy = &cachev1alpha1.MemcachedProxy{Threads: threads}
	})))
}

// nutcracker starts Twitter's proxy in front of pool 1, with its default settings and one thread.
func (l *loopback) nutcracker(ctx context.Context, number int) path {
	config := fmt.Appendf(nil, "bench:\n  listen: %s\n  servers:\n", l.address(number))
	for i := range size {
		config = fmt.Appendf(config, "  - %s:1\n", l.address(10+i))
	}
	check(os.WriteFile(filepath.Join(l.folder(number), "conf"), config, 0o600))
	p := l.run(number, nutcrackerBinary, "-c", "conf", "-o", "log", "-p", "pid", "-a", l.host(number))
	l.untilListening(ctx, number)
	return path{nutcracker, l.address(number), p.Pid()}
}

// Each path is measured in proxyRounds rounds. In a round, proxyClients clients send requests for the time
// proxyRound. They use proxyKeys keys, and values of proxyValue bytes.
const (
	proxyRounds  = 5
	proxyRound   = 5 * time.Second
	proxyClients = 16
	proxyKeys    = 10000
	proxyValue   = 100
	// copiedValue is the size, in bytes, of the values that an empty node copies from the same node of another copy.
	copiedValue = 1024
)

// The benchmark compares these two paths.
const usualProxy, nutcracker = "proxy", "nutcracker"

// path is a proxy through which clients reach the nodes. pid is its process ID.
type path struct {
	name, address string
	pid           int
}

// quantities are what is measured on each path in each round: see sample.
var quantities = []struct{ name, unit string }{
	{"requests per second", "requests"},
	{"99th percentile of a request", "ms"},
	{"requests that fail or find nothing", "requests"},
	{"CPU for 100,000 requests", "s"},
	{"memory", "MiB"},
}

// The indexes in quantities that the benchmark uses.
const tail, failed, cpu = 1, 2, 3

// compareProxies sends the same requests through proxies and through nutcracker. A request through the usual proxy, which has one thread
// like nutcracker, may cost no more CPU time than one through nutcracker, and take no longer.
func (b *bench) compareProxies(ctx context.Context, l *loopback) {
	pod := podOf(childrenOf(memcachedNumber(0)))
	for i := range size {
		l.node(ctx, 10+i, pod)
		l.node(ctx, 20+i, pod)
	}
	paths := []path{
		l.proxy(ctx, usualProxy, 1, 0), l.proxy(ctx, "four-thread proxy", 2, 4), l.nutcracker(ctx, 3),
		l.proxy(ctx, "two-copy proxy", 4, 0, l.pattern(2)),
	}
	samples := map[string][][]float64{}
	for range proxyRounds {
		for _, p := range paths {
			samples[p.name] = append(samples[p.name], p.sample(ctx))
		}
	}
	median := func(path string, quantity int) float64 {
		var values []float64
		for _, sample := range samples[path] {
			values = append(values, sample[quantity])
		}
		return slices.Sorted(slices.Values(values))[proxyRounds/2]
	}
	for _, p := range paths {
		for i := range quantities {
			name, value := p.name+", "+quantities[i].name, median(p.name, i)
			if i == failed { // a single round may have some: the machine may pause a process for longer than a proxy waits
				b.hold(name, quantities[i].unit, value, 0)
			} else {
				b.add(name, quantities[i].unit, value)
			}
		}
	}
	for _, i := range []int{cpu, tail} {
		b.hold("proxy compared with nutcracker, "+quantities[i].name, "times", median(usualProxy, i)/median(nutcracker, i), 1)
	}
}

// sample runs one round. It returns a value for each of the quantities.
func (p path) sample(ctx context.Context) []float64 {
	load := traffic.Load{Keys: proxyKeys, ValueSize: proxyValue, Seed: 1, Limit: proxyRound}
	var conns []*traffic.Conn
	for range proxyClients {
		conns = append(conns, must(traffic.Connect(ctx, nil, p.address)))
	}
	check(load.Store(ctx, conns))
	before := usageOf(p.pid)
	served := must(load.Run(ctx, conns))
	after := usageOf(p.pid)
	for _, conn := range conns {
		check(conn.Close())
	}
	requests := float64(len(served.Latencies))
	return []float64{
		requests / served.Took.Seconds(), milliseconds(percentile(served.Latencies, 99)), float64(served.Failed),
		(after.cpu - before.cpu).Seconds() / requests * 100000, after.resident,
	}
}

// fill measures how long an empty node takes to copy all items of another. In a pod, memcached's parent copies them in the same
// way. Then fill checks that each item is there.
func (b *bench) fill(ctx context.Context, l *loopback) {
	for _, mebibytes := range []int{64, 1024} {
		pod := podOf(childrenOf(memcachedNumber(0, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.Dump = ptr.To(true)
			// Twice the size of the items, so that none is evicted.
			mc.Spec.Config.Memory = resource.NewQuantity(int64(2*mebibytes)*mebibyte, resource.BinarySI)
		})))
		clients := map[int]*traffic.Client{}
		for number := range 2 {
			l.node(ctx, 1+number, pod)
			address := l.address(1 + number)
			clients[number] = traffic.NewClient(must(traffic.NewRing(traffic.Server{Name: address, Address: address})), nil)
			clients[number].SetTimeout(stopGrace)
		}
		items := mebibytes * mebibyte / copiedValue
		check(clients[0].Write(ctx, items, copiedValue))
		began := time.Now()
		must(fill.Copy{Source: l.address(1), Destination: l.address(2)}.Run(ctx))
		took := time.Since(began)
		found := must(clients[1].Read(ctx, items))
		b.add(fmt.Sprintf("time to fill an empty node from another copy, %d MiB", mebibytes), "s", took.Seconds())
		b.hold(fmt.Sprintf("items that it then does not have, %d MiB", mebibytes), "items", float64(items-found.Hits), 0)
		check(l.stop())
	}
}
