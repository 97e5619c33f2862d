// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	agentprotocol "github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// Nodes asks the launchers and agents in pods for their statuses.
type Nodes interface {
	Launcher(ctx context.Context, pod *corev1.Pod) (protocol.Status, error)
	// Proxy asks the launcher of a proxy.
	Proxy(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error)
	// Agent asks an agent. The agent also checks that the node's certificate covers the hosts.
	Agent(ctx context.Context, pod *corev1.Pod, hosts []string) (agentprotocol.Status, error)
}

// NewNodes returns Nodes that connect to the addresses of pods. If this process runs outside the cluster, they connect through the API
// server, which needs the permission to get pods/proxy.
func NewNodes(cluster *rest.Config) (Nodes, error) {
	if _, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
		return nodes{client: ask.New()}, nil
	}
	server, _, err := rest.DefaultServerUrlFor(cluster)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(cluster)
	return nodes{client: ask.Through(transport), server: server.String()}, err
}

// nodes implements Nodes. server is the URL of the API server to connect through, or empty.
type nodes struct {
	client *ask.Client
	server string
}

func (n nodes) at(pod *corev1.Pod, port int) string {
	if n.server == "" {
		return "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
	}
	return fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s:%d/proxy", n.server, pod.Namespace, pod.Name, port)
}

// Launcher implements Nodes.
func (n nodes) Launcher(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	return n.client.Launcher(ctx, n.at(pod, memcached.LauncherPort))
}

// Proxy implements Nodes.
func (n nodes) Proxy(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error) {
	return n.client.Proxy(ctx, n.at(pod, memcached.LauncherPort))
}

// Agent implements Nodes.
func (n nodes) Agent(ctx context.Context, pod *corev1.Pod, hosts []string) (agentprotocol.Status, error) {
	return n.client.Agent(ctx, n.at(pod, memcached.MetricsPort), hosts)
}
