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

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// Nodes asks in pods for their statuses: memcached's parent at the port memcached.ParentPort, and the sidecar beside memcached at the port
// memcached.MetricsPort. A sidecar also checks that the node's certificate covers the hosts.
type Nodes interface {
	Ask(ctx context.Context, pod *corev1.Pod, port int, hosts ...string) (protocol.Status, error)
}

// NewNodes returns Nodes that connect to the addresses of pods. If this process runs outside the cluster, they connect through the API
// server, which needs the permission to get pods/proxy.
func NewNodes(cluster *rest.Config) (Nodes, error) {
	if _, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
		return nodes{client: protocol.NewClient()}, nil
	}
	server, _, err := rest.DefaultServerUrlFor(cluster)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(cluster)
	return nodes{client: protocol.NewClientThrough(transport), server: server.String()}, err
}

// nodes implements Nodes. server is the URL of the API server to connect through, or empty.
type nodes struct {
	client *protocol.Client
	server string
}

var errNoAddress = errors.New("the pod has no address")

// Ask implements Nodes.
func (n nodes) Ask(ctx context.Context, pod *corev1.Pod, port int, hosts ...string) (protocol.Status, error) {
	if pod.Status.PodIP == "" && n.server == "" {
		return protocol.Status{}, errNoAddress
	}
	base := "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
	if n.server != "" {
		base = fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s:%d/proxy", n.server, pod.Namespace, pod.Name, port)
	}
	return n.client.Ask(ctx, base, hosts...)
}
