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

// loopback runs nodes and proxies at addresses of their own, since proxies find nodes at one port.
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

// node starts the memcached of a pod.
func (l *loopback) node(ctx context.Context, number int, pod corev1.PodSpec) *node {
	dir := filepath.Join(l.dir, l.host(number))
	check(os.MkdirAll(dir, 0o700))
	n := must(startNodeAt(dir, pod, addressOf(l.host(number)), ""))
	l.started = append(l.started, n)
	n.untilListening(ctx)
	return n
}

// program starts something that clients reach as if it were a node.
func (l *loopback) program(number int, program string, files map[string][]byte, args ...string) *node {
	n := &node{dir: filepath.Join(l.dir, l.host(number)), address: addressOf(l.host(number))}
	check(writeFiles(n.dir, files))
	n.Process = must(n.run(program, args))
	l.started = append(l.started, n)
	return n
}

// pattern names the nodes of a pool: pool 1 has those with the numbers from 10 on.
func (l *loopback) pattern(pool int) string { return l.network + strconv.Itoa(pool) + "%d" }

// proxy starts the launcher of a MemcachedProxy and returns the process ID of its memcached.
func (l *loopback) proxy(ctx context.Context, number int, copies ...int) int {
	host, dir := l.host(number), filepath.Join(l.dir, l.host(number))
	routes := protocol.Routes{Pool: protocol.Pool{Pattern: l.pattern(1), Count: size}}
	for _, pool := range copies {
		routes.Copies = append(routes.Copies, l.pattern(pool))
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -u '%s' \"$@\" -l %s\n", must(filepath.Abs(memcachedBinary)), must(user.Current()).Username, host)
	check(os.MkdirAll(dir, 0o700))
	check(os.WriteFile(filepath.Join(dir, "memcached"), []byte(script), 0o700)) //nolint:gosec // a program
	args := append(must(proxyArguments()), "--routes="+dir, "--state="+dir, "--program="+filepath.Join(dir, "memcached"),
		"--listen="+net.JoinHostPort(host, strconv.Itoa(memcached.LauncherPort)), "--memcached="+addressOf(host))
	n := l.program(number, launcherBinary, map[string][]byte{protocol.RoutesKey: []byte(routes.String())}, args...)
	check(n.UntilServing(ctx, fmt.Sprintf("http://%s:%d%s", host, memcached.LauncherPort, protocol.ReadyPath), startPoll, stopGrace))
	conn := must(traffic.Connect(ctx, nil, n.address))
	pid := must(strconv.Atoi(must(conn.Stats(ctx))["pid"]))
	check(conn.Close())
	return pid
}

// proxyArguments are those that the launcher has in the pods of a MemcachedProxy with the smallest spec.
func proxyArguments() ([]string, error) {
	pool := memcachedNumber(0, statefulSetNodes)
	pool.Status.ObservedGeneration, pool.Status.Servers = 1, make([]string, size)
	proxy := &cachev1alpha1.MemcachedProxy{Spec: cachev1alpha1.MemcachedProxySpec{Pools: []cachev1alpha1.MemcachedProxyPool{{Name: pool.Name}}}}
	view := memcachedproxy.View{Proxy: proxy, Pool: pool}
	for _, child := range memcachedproxy.For(view, memcached.Options{DefaultImage: "memcached", AgentImage: "agent"}).Objects {
		if deployment, ok := child.(*appsv1.Deployment); ok {
			return deployment.Spec.Template.Spec.Containers[0].Args, nil
		}
	}
	return nil, errors.New("there is no Deployment")
}

// nutcracker starts Twitter's proxy with its own defaults before the first pool, unless it is not installed.
func (l *loopback) nutcracker(ctx context.Context, number int) (pid int, installed bool) {
	path, err := exec.LookPath("nutcracker")
	if err != nil { // not everybody has this folder in the PATH
		path, err = exec.LookPath("/usr/sbin/nutcracker")
	}
	if err != nil {
		return 0, false
	}
	host := l.host(number)
	config := fmt.Sprintf("bench:\n  listen: %s\n  servers:\n", addressOf(host))
	for i := range size {
		config += fmt.Sprintf("  - %s:1\n", addressOf(l.host(10+i)))
	}
	n := l.program(number, path, map[string][]byte{"nutcracker.yml": []byte(config)}, "-c", "nutcracker.yml", "-o", "output", "-p", "pid", "-a", host)
	n.untilListening(ctx)
	return n.Pid(), true
}
