// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package traffic has memcached clients for tests, the benchmark and the demo. A Client spreads keys over the nodes with a Ring, as
// applications do. A Conn queries one node. A Filler gives one node the maximum load. A Load measures how fast a server replies.
package traffic

import (
	"context"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/memcache"
)

const crlf = memcache.CRLF

// Conn is a connection to a memcached, in the text protocol. It is not safe for concurrent use.
type Conn = memcache.Conn

// Connect returns a connection to the memcached at an address. It succeeds even if memcached has too many
// connections. The reply to the first command then is "ERROR Too many open connections".
func Connect(ctx context.Context, dial DialFunc, address string) (*Conn, error) {
	conn, err := dial.orDefault()(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return memcache.NewConn(conn, address), nil
}

// Port is the port on which memcached serves.
const Port = 11211

// Address returns the address at which the memcached in a pod serves.
func Address(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(Port))
}

// Servers returns a server for each of the named pods. Its name is the pod's name.
func Servers(ctx context.Context, reader client.Reader, namespace string, pods []string) ([]Server, error) {
	var servers []Server
	for _, name := range pods {
		var pod corev1.Pod
		if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod); err != nil {
			return nil, err
		}
		servers = append(servers, Server{Name: name, Address: Address(&pod)})
	}
	return servers, nil
}
