// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	launcherclient "github.com/example/memcached-operator/internal/launcher/client"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// NewLaunchers returns a client for launchers: inside the cluster it uses the addresses of the pods, outside it goes through the
// API server.
func NewLaunchers(cluster *rest.Config) (Launchers, error) {
	if _, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
		return DirectLaunchers{Client: launcherclient.New()}, nil
	}
	core, err := corev1client.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return ProxiedLaunchers{REST: core.RESTClient()}, nil
}

// DirectLaunchers asks launchers at the addresses of their pods.
type DirectLaunchers struct{ Client *launcherclient.Client }

// Status implements Launchers. The error names the address.
func (l DirectLaunchers) Status(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	return l.Client.Status(ctx, pod.Status.PodIP, memcached.LauncherPort)
}

// ProxyStatus implements Launchers.
func (l DirectLaunchers) ProxyStatus(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error) {
	return l.Client.ProxyStatus(ctx, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(memcached.LauncherPort)))
}

// ProxiedLaunchers asks launchers through the API server, for an operator outside the cluster. It needs the permission to get pods/proxy.
type ProxiedLaunchers struct{ REST rest.Interface }

// Status implements Launchers.
func (l ProxiedLaunchers) Status(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	var status protocol.Status
	err := l.ask(ctx, pod, &status)
	return status, err
}

// ProxyStatus implements Launchers.
func (l ProxiedLaunchers) ProxyStatus(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error) {
	var status protocol.ProxyStatus
	err := l.ask(ctx, pod, &status)
	return status, err
}

func (l ProxiedLaunchers) ask(ctx context.Context, pod *corev1.Pod, status any) error {
	ctx, cancel := context.WithTimeout(ctx, launcherclient.Timeout)
	defer cancel()
	text, err := l.REST.Get().Namespace(pod.Namespace).Resource("pods").
		Name(pod.Name + ":" + strconv.Itoa(memcached.LauncherPort)).SubResource("proxy").Suffix(protocol.StatusPath).DoRaw(ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, status); err != nil {
		return fmt.Errorf("the answer of %s: %w", pod.Name, err)
	}
	return nil
}
