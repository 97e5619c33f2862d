// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// defaultPreStopDelay is the default time, in seconds, for which a node continues to serve after the deletion of its pod.
const defaultPreStopDelay = 5

func container(mc *cachev1alpha1.Memcached, defaults podDefaults) corev1.Container {
	return corev1.Container{
		Name:            memcached.ContainerName,
		Image:           cmp.Or(mc.Spec.Image, defaults.Images[memcached.ContainerName]),
		ImagePullPolicy: cmp.Or(mc.Spec.ImagePullPolicy, corev1.PullIfNotPresent),
		Command:         []string{"memcached"},
		Args:            args(mc),
		Ports:           memcached.ContainerPorts(memcached.ClientPorts(mc.Spec.TLS)),
		// The kernel kills a memcached that exceeds the memory limit, and its part of the cache is lost.
		Resources: render.Resources(mc.Spec.Resources, defaults.MemoryLimit),
		// The probes of a Deployment only open a TCP connection, which works even if memcached is busy. A restart loses a share of the
		// cache. So the liveness probe restarts memcached only after a minute of failures.
		ReadinessProbe: tcpProbe(mc, 5, 3),
		// The first readiness probe often comes before memcached listens. Without this startup probe, the second readiness probe would
		// follow only after 5 s.
		StartupProbe:    tcpProbe(mc, 1, 60),
		LivenessProbe:   tcpProbe(mc, 10, 6),
		Lifecycle:       lifecycle(mc),
		SecurityContext: render.Restricted(),
	}
}

func tcpProbe(mc *cachev1alpha1.Memcached, period, failures int32) *corev1.Probe {
	port := intstr.FromString(memcached.ClientPorts(mc.Spec.TLS)[0].Name)
	return render.Probe(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}, period, 5, failures)
}

// lifecycle delays the end of memcached until clients and DNS have noticed that the pod is being deleted. On SIGTERM, memcached
// exits at once.
func lifecycle(mc *cachev1alpha1.Memcached) *corev1.Lifecycle {
	delay := preStopDelay(mc)
	if delay == 0 {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(delay)}}}
}

func preStopDelay(mc *cachev1alpha1.Memcached) int32 {
	return ptr.Deref(mc.Spec.GracefulShutdown.PreStopDelaySeconds, defaultPreStopDelay)
}
