// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/operator"
	"github.com/example/memcached-operator/test/process"
	"github.com/example/memcached-operator/test/traffic"
)

// The programs that "make bench-build" builds.
const (
	memcachedBinary = "bin/memcached"
	agentBinary     = "bin/agent"
	launcherBinary  = "bin/launcher"
)

const (
	// stopGrace limits how long a program may take to start, and how long it may take to stop.
	stopGrace = 10 * time.Second
	startPoll = 20 * time.Millisecond
)

// fillers is how many connections fill a node. Together they send fillFactor times the item memory.
const (
	fillers    = 4
	fillFactor = 1.2
)

// node stands for a pod. Its containers are processes on this machine: memcached and, if the pod has an agent, one agent at a time.
type node struct {
	*process.Process

	pod corev1.PodSpec
	dir string
	// address is the host and port to which clients connect.
	address string
	// clients are idle connections.
	clients []*traffic.Conn
}

type agent struct {
	*process.Process

	container corev1.Container
	base      string
	metrics   *metricsClient
}

func findPrograms() error {
	for _, name := range []string{memcachedBinary, agentBinary, launcherBinary} {
		if _, err := os.Stat(name); err != nil {
			return fmt.Errorf("M11, M13 and M15 need %s, which make bench-build provides; -only selects other metrics: %w", name, err)
		}
	}
	return nil
}

// podOf returns the spec of the pods of a Memcached. Apart from the changes, the Memcached has the smallest possible spec.
func podOf(changes ...func(*cachev1alpha1.Memcached)) (corev1.PodSpec, error) {
	wanted, err := decide(memcachedNumber(0, changes...), "memcached")
	for _, child := range wanted.Objects {
		if deployment, ok := child.(*appsv1.Deployment); ok {
			return deployment.Spec.Template.Spec, err
		}
	}
	return corev1.PodSpec{}, errors.Join(err, errors.New("there is no Deployment"))
}

// onNode starts the memcached of a pod, runs the measurement, and stops memcached. It fails if memcached ends during the measurement.
// files are what the agent of a pod would write for memcached.
func onNode(
	ctx context.Context, limit time.Duration, pod corev1.PodSpec, files map[string][]byte, measure func(context.Context, *node),
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("the measurement takes too long"))
	defer cancel()
	dir, err := os.MkdirTemp("", "bench-node-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the directory contains only logs and credentials of this measurement
	n, err := startNode(dir, pod, files)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- attempt(func() { measure(ctx, n) }) }()
	select {
	case err = <-done:
	case <-n.Done():
		err = n.Err()
	}
	return errors.Join(err, n.Stop(stopGrace))
}

// startNode starts memcached with these files and with the arguments of the pod. Only the addresses, the directory and the user differ
// from those in a pod.
func startNode(dir string, pod corev1.PodSpec, files map[string][]byte) (*node, error) {
	plain, err := operator.FreeAddress()
	if err != nil {
		return nil, err
	}
	secure, err := operator.FreeAddress()
	if err != nil {
		return nil, err
	}
	if err := writeFiles(filepath.Join(dir, currentFolder), files); err != nil {
		return nil, err
	}
	return startNodeAt(dir, pod, plain, secure)
}

// startNodeAt starts memcached like startNode, but at the given addresses and without files.
func startNodeAt(dir string, pod corev1.PodSpec, plain, secure string) (*node, error) {
	self, err := user.Current()
	if err != nil {
		return nil, err
	}
	n := &node{dir: dir, pod: pod, address: plain}
	if pod.Containers[0].Ports[0].ContainerPort == memcached.TLSPort {
		n.address = secure
	}
	n.Process, err = n.run(memcachedBinary, append(onLoopback(pod.Containers[0], plain, secure, dir), "-u", self.Username))
	return n, err
}

// currentFolder is the subdirectory in which an agent keeps the files that memcached reads.
const currentFolder = "current"

func writeFiles(dir string, files map[string][]byte) error {
	err := os.MkdirAll(dir, 0o700)
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return err
}

// onLoopback returns the arguments of memcached in a pod. It replaces the addresses and the directories of the pod by the given ones.
func onLoopback(container corev1.Container, plain, secure, dir string) []string {
	replaced := []string{
		fmt.Sprintf("127.0.0.1:%d", memcached.Port), plain, fmt.Sprintf("*:%d", memcached.TLSPort), secure,
	}
	for _, mount := range container.VolumeMounts {
		replaced = append(replaced, mount.MountPath, dir)
	}
	var args []string
	replacer := strings.NewReplacer(replaced...)
	for _, arg := range container.Args {
		args = append(args, replacer.Replace(arg))
	}
	if !slices.Contains(args, "-l") {
		args = append(args, "-l", plain)
	}
	return args
}

func (n *node) run(program string, args []string) (*process.Process, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(program)
	return process.Start(process.Spec{
		Name: name, Path: path, Args: args, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: n.dir,
		LogFile: filepath.Join(n.dir, name+".log"),
	})
}

func (n *node) untilListening(ctx context.Context) {
	check(wait.PollUntilContextTimeout(ctx, startPoll, stopGrace, true, func(ctx context.Context) (bool, error) {
		conn, err := traffic.Connect(ctx, nil, n.address)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return true, conn.Close()
	}))
}

// fill stores more items in memcached than it can hold. It returns memcached's version, and how many items memcached then holds.
func (n *node) fill(ctx context.Context) (version string, items float64) {
	n.untilListening(ctx)
	conn := must(traffic.Connect(ctx, nil, n.address))
	filled := must(traffic.Filler{Address: n.address, Connections: fillers, Factor: fillFactor, Seed: 1}.Fill(ctx))
	if filled.Evictions == 0 {
		check(errors.New("memcached is not full"))
	}
	stats := must(conn.Stats(ctx))
	items = must(strconv.ParseFloat(stats["curr_items"], 64))
	check(conn.Close())
	return stats["version"], items
}

// connect opens client connections until there are this many. It sends a command on each new connection, because memcached refuses a
// surplus connection only at the first command.
func (n *node) connect(ctx context.Context, clients int) {
	for len(n.clients) < clients {
		conn := must(traffic.Connect(ctx, nil, n.address))
		n.clients = append(n.clients, conn)
		if reply := must(conn.Command(ctx, "mn")); reply != "MN" {
			check(fmt.Errorf("connection %d is refused: %s", len(n.clients), reply))
		}
	}
}

// startAgent starts an agent with the arguments of the pod, but with other addresses, and waits until the agent is ready.
func (n *node) startAgent(ctx context.Context) (*agent, error) {
	address, err := operator.FreeAddress()
	if err != nil {
		return nil, err
	}
	a := &agent{container: n.pod.InitContainers[0], base: "http://" + address}
	a.metrics = &metricsClient{url: a.base + "/metrics", http: &http.Client{Transport: &http.Transport{}}}
	if a.Process, err = n.run(agentBinary, append(a.container.Args, "--memcached="+n.address, "--listen="+address)); err != nil {
		return nil, err
	}
	err = a.UntilServing(ctx, a.base+a.container.ReadinessProbe.HTTPGet.Path, startPoll, stopGrace)
	return a, err
}

// probe returns a client for this path. Like the kubelet, it opens a new connection for each request.
func (a *agent) probe(path string) *metricsClient {
	return &metricsClient{url: a.base + path, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}
