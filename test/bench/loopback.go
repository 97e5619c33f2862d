// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
	"github.com/example/memcached-operator/test/traffic"
)

// loopback runs nodes and proxies on this machine. Each has its own loopback address, because proxies expect the same port on all
// nodes. An address consists of the text in network, such as "127.15.7.", and a host number.
type loopback struct {
	dir, network string
	started      []*node
}

func (l *loopback) host(number int) string { return l.network + strconv.Itoa(number) }

func addressOf(host string) string { return net.JoinHostPort(host, strconv.Itoa(memcached.Port)) }

func (l *loopback) stop() error {
	var errs []error
	for _, one := range l.started {
		errs = append(errs, one.Stop(stopGrace))
	}
	l.started = nil
	return errors.Join(errs...)
}

// node starts the memcached of a pod at a host number.
func (l *loopback) node(ctx context.Context, number int, pod corev1.PodSpec) *node {
	dir := filepath.Join(l.dir, l.host(number))
	check(os.MkdirAll(dir, 0o700))
	n := must(startNodeAt(dir, pod, addressOf(l.host(number)), ""))
	l.started = append(l.started, n)
	n.untilListening(ctx)
	return n
}

// program starts a proxy at the address of a host number. The result is a node, because clients connect to the proxy as to a node.
func (l *loopback) program(number int, program string, files map[string][]byte, args ...string) *node {
	n := &node{dir: filepath.Join(l.dir, l.host(number)), address: addressOf(l.host(number))}
	check(writeFiles(n.dir, files))
	n.Process = must(n.run(program, args))
	l.started = append(l.started, n)
	return n
}

// pattern returns the address pattern of a pool: the nodes of pool 1 have the host numbers 10, 11 and so on.
func (l *loopback) pattern(pool int) string { return l.network + strconv.Itoa(pool) + "%d" }

// proxy starts a launcher, the program that runs memcached as a proxy in the pods of a MemcachedProxy. The proxy serves pool 1. copies
// are the address patterns of pools with the same items as pool 1. If threads is 0, the proxy has the default number of threads.
func (l *loopback) proxy(ctx context.Context, name string, number int, threads int32, copies ...string) path {
	host, dir := l.host(number), filepath.Join(l.dir, l.host(number))
	routes := protocol.Routes{Pool: protocol.Pool{Pattern: l.pattern(1), Count: size}, Copies: copies}
	self := must(user.Current()).Username
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -u '%s' \"$@\" -l %s\n", must(filepath.Abs(memcachedBinary)), self, host)
	check(os.MkdirAll(dir, 0o700))
	check(os.WriteFile(filepath.Join(dir, "memcached"), []byte(script), 0o700)) //nolint:gosec // a program
	listen := net.JoinHostPort(host, strconv.Itoa(memcached.LauncherPort))
	args := append(must(proxyArguments(threads)), "--routes="+dir, "--state="+dir, "--program="+filepath.Join(dir, "memcached"),
		"--listen="+listen, "--memcached="+addressOf(host))
	n := l.program(number, launcherBinary, map[string][]byte{protocol.RoutesKey: []byte(routes.String())}, args...)
	check(n.UntilServing(ctx, "http://"+listen+protocol.ReadyPath, startPoll, stopGrace))
	conn := must(traffic.Connect(ctx, nil, n.address))
	pid := must(strconv.Atoi(must(conn.Stats(ctx))["pid"]))
	check(conn.Close())
	return path{name: name, hosts: []string{host}, between: pid}
}

// proxyArguments returns the arguments of the launcher in the pods of a MemcachedProxy with this number of threads. Apart from that, the
// MemcachedProxy has the smallest possible spec.
func proxyArguments(threads int32) ([]string, error) {
	pool := memcachedNumber(0, statefulSetNodes)
	pool.Status.ObservedGeneration, pool.Status.Servers = 1, make([]string, size)
	proxy := &cachev1alpha1.MemcachedProxy{}
	proxy.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: pool.Name}}
	proxy.Spec.Config.Threads = threads
	view := memcachedproxy.View{Proxy: proxy, Pool: pool}
	for _, child := range memcachedproxy.For(view, memcached.Options{DefaultImage: "memcached", AgentImage: "agent"}).Objects {
		if deployment, ok := child.(*appsv1.Deployment); ok {
			return deployment.Spec.Template.Spec.Containers[0].Args, nil
		}
	}
	return nil, errors.New("there is no Deployment")
}

// nutcracker starts Twitter's proxy in front of pool 1, with its default settings. If this proxy is not installed, the path is marked
// as missing.
func (l *loopback) nutcracker(ctx context.Context, number int) path {
	program, err := exec.LookPath("nutcracker")
	if err != nil { // /usr/sbin may be missing in the PATH of a user
		program, err = exec.LookPath("/usr/sbin/nutcracker")
	}
	if err != nil {
		return path{name: nutcracker, hosts: []string{l.host(number)}, missing: "it is not installed"}
	}
	config := fmt.Appendf(nil, "bench:\n  listen: %s\n  servers:\n", addressOf(l.host(number)))
	for i := range size {
		config = fmt.Appendf(config, "  - %s:1\n", addressOf(l.host(10+i)))
	}
	n := l.program(number, program, map[string][]byte{"conf": config}, "-c", "conf", "-o", "log", "-p", "pid", "-a", l.host(number))
	n.untilListening(ctx)
	return path{name: nutcracker, hosts: []string{l.host(number)}, between: n.Pid()}
}
