// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
