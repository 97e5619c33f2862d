// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
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

// NewNodes returns DirectNodes if this process runs in a cluster, else ProxiedNodes.
func NewNodes(cluster *rest.Config) (Nodes, error) {
	if _, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
		return DirectNodes{Client: ask.New()}, nil
	}
	core, err := corev1client.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return ProxiedNodes{REST: core.RESTClient()}, nil
}

// DirectNodes connects to the addresses of pods. Its errors contain the address.
type DirectNodes struct{ Client *ask.Client }

// Launcher implements Nodes.
func (n DirectNodes) Launcher(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	return n.Client.Launcher(ctx, pod.Status.PodIP, memcached.LauncherPort)
}

// Proxy implements Nodes.
func (n DirectNodes) Proxy(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error) {
	return n.Client.Proxy(ctx, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(memcached.LauncherPort)))
}

// Agent implements Nodes.
func (n DirectNodes) Agent(ctx context.Context, pod *corev1.Pod, hosts []string) (agentprotocol.Status, error) {
	return n.Client.Agent(ctx, pod.Status.PodIP, memcached.MetricsPort, hosts)
}

// ProxiedNodes connects through the API server, for an operator outside the cluster. It needs the permission to get pods/proxy.
type ProxiedNodes struct{ REST rest.Interface }

// Launcher implements Nodes.
func (n ProxiedNodes) Launcher(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	var status protocol.Status
	err := n.get(ctx, pod, memcached.LauncherPort, protocol.StatusPath, nil, &status)
	return status, err
}

// Proxy implements Nodes.
func (n ProxiedNodes) Proxy(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error) {
	var status protocol.ProxyStatus
	err := n.get(ctx, pod, memcached.LauncherPort, protocol.StatusPath, nil, &status)
	return status, err
}

// Agent implements Nodes.
func (n ProxiedNodes) Agent(ctx context.Context, pod *corev1.Pod, hosts []string) (agentprotocol.Status, error) {
	var status agentprotocol.Status
	err := n.get(ctx, pod, memcached.MetricsPort, agentprotocol.StatusPath, agentprotocol.StatusQuery(hosts), &status)
	return status, err
}

func (n ProxiedNodes) get(ctx context.Context, pod *corev1.Pod, port int, path string, query url.Values, status any) error {
	ctx, cancel := context.WithTimeout(ctx, ask.Timeout)
	defer cancel()
	request := n.REST.Get().Namespace(pod.Namespace).Resource("pods").
		Name(pod.Name + ":" + strconv.Itoa(port)).SubResource("proxy").Suffix(path)
	for name, values := range query {
		for _, value := range values {
			request = request.Param(name, value)
		}
	}
	answer, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer answer.Close()
	if err := ask.Decode(answer, status); err != nil {
		return fmt.Errorf("the answer of %s: %w", pod.Name, err)
	}
	return nil
}
