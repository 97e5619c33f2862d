// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// container returns the container in which memcached runs as a proxy.
func container(proxy *cachev1alpha1.MemcachedProxy, defaults memcached.Defaults) corev1.Container {
	return corev1.Container{
		Name:            memcached.ContainerName,
		Image:           cmp.Or(proxy.Spec.Image, defaults.Images[memcached.ContainerName]),
		ImagePullPolicy: cmp.Or(proxy.Spec.ImagePullPolicy, corev1.PullIfNotPresent),
		Args:            arguments(proxy),
		Ports:           memcached.ContainerPorts(memcached.ClientPorts(proxy.Spec.TLS)),
		Resources:       render.Resources(proxy.Spec.Resources, defaults.MemoryLimit),
		Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: preStopSeconds}}},
		SecurityContext: render.Restricted(),
	}
}

func arguments(proxy *cachev1alpha1.MemcachedProxy) []string {
	args := []string{
		"--threads=" + strconv.Itoa(int(threads(proxy))), "--max-connections=" + strconv.Itoa(int(connections(proxy))),
	}
	tls := proxy.Spec.TLS
	if tls == nil {
		return args
	}
	args = append(args, "--tls="+string(cmp.Or(tls.MinVersion, cachev1alpha1.TLSVersion12)))
	if render.RequiresClientCertificates(tls) {
		args = append(args, "--client-ca")
	}
	if tls.Plaintext == cachev1alpha1.PlaintextEnabled {
		args = append(args, "--plaintext")
	}
	return args
}

func connections(proxy *cachev1alpha1.MemcachedProxy) int32 {
	return cmp.Or(proxy.Spec.Config.MaxConnections, 1024)
}

// threads returns the number of worker threads: config.threads, or else the CPU limit rounded up, or else 1. With more threads, each
// thread handles fewer requests at once, and a request takes more CPU time (docs/benchmarks.md). Copies need one thread for one order.
func threads(proxy *cachev1alpha1.MemcachedProxy) int32 {
	if len(proxy.Spec.Pools) > 1 {
		return 1
	}
	return render.Threads(proxy.Spec.Config.Threads, proxy.Spec.Resources, 1)
}
