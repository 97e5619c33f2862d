// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// dial connects to the IP address and port of a pod. On the local cluster, the tests run in the pod network.
// Elsewhere, they reach pods through the API server, as kubectl port-forward does.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	if clusterDir == "" {
		local, err := forwards.to(ctx, address)
		if err != nil {
			return nil, err
		}
		address = local
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// resolver returns a resolver that asks the DNS of the cluster.
func resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var service corev1.Service
		if err := k8s.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &service); err != nil {
			return nil, err
		}
		if clusterDir != "" {
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(service.Spec.ClusterIP, "53"))
		}
		var pods corev1.PodList
		if err := k8s.List(ctx, &pods, client.InNamespace("kube-system"), client.MatchingLabels(service.Spec.Selector)); err != nil {
			return nil, err
		}
		if len(pods.Items) == 0 {
			return nil, fmt.Errorf("the service kube-dns has no pods")
		}
		// A forwarded port carries only TCP. The resolver recognizes TCP by the type of the connection.
		return dial(ctx, "tcp", net.JoinHostPort(pods.Items[0].Status.PodIP, dnsPort(&pods.Items[0])))
	}}
}

func dnsPort(pod *corev1.Pod) string {
	for _, port := range pod.Spec.Containers[0].Ports {
		if port.Protocol == corev1.ProtocolTCP && port.Name == "dns-tcp" {
			return strconv.Itoa(int(port.ContainerPort))
		}
	}
	return "53"
}

var forwards = forwarder{local: map[string]string{}}

// forwarder forwards ports of this machine to pods.
type forwarder struct {
	mutex sync.Mutex
	// local maps the address and port of a pod to the address of this machine that is forwarded to them.
	local map[string]string
}

// to returns an address of this machine that is forwarded to the address and port of a pod.
func (f *forwarder) to(ctx context.Context, address string) (string, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if local, ok := f.local[address]; ok {
		return local, nil
	}
	ip, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	var pods corev1.PodList
	if err := k8s.List(ctx, &pods, client.MatchingFields{"status.podIP": ip}); err != nil {
		return "", err
	}
	if len(pods.Items) == 0 {
		return "", fmt.Errorf("no pod has the address %s", ip)
	}
	local, err := forward(&pods.Items[0], port, func() {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		delete(f.local, address)
	})
	if err != nil {
		return "", err
	}
	f.local[address] = local
	return local, nil
}

// forward forwards a port of this machine to a port of a pod, and returns the address on this machine. When the forwarding ends, it calls
// the function ended.
func forward(pod *corev1.Pod, port string, ended func()) (string, error) {
	clientset, err := kubernetes.NewForConfig(k8s.Config)
	if err != nil {
		return "", err
	}
	transport, upgrader, err := spdy.RoundTripperFor(k8s.Config)
	if err != nil {
		return "", err
	}
	url := clientset.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.New(dialer, []string{"0:" + port}, stop, ready, io.Discard, GinkgoWriter)
	if err != nil {
		return "", err
	}
	failed := make(chan error, 1)
	go func() {
		failed <- forwarder.ForwardPorts()
		ended()
	}()
	select {
	case err := <-failed:
		return "", fmt.Errorf("forwarding a port to pod %s: %w", pod.Name, err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))), nil
}
