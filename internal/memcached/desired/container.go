// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
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
	image := mc.Spec.Image
	if image == "" {
		image = string(defaults.Images[memcached.ContainerName])
	}
	pullPolicy := mc.Spec.ImagePullPolicy
	if pullPolicy == "" {
		pullPolicy = corev1.PullIfNotPresent
	}
	result := corev1.Container{
		Name:            memcached.ContainerName,
		Image:           image,
		ImagePullPolicy: pullPolicy,
		Command:         []string{"memcached"},
		Args:            args(mc),
		Ports:           clientPorts(mc),
		Resources:       resources(mc, defaults),
		VolumeMounts:    append(launcherMounts(mc), agentOf(mc, defaults).MemcachedMounts()...),
		// Without a launcher, the probes only open a TCP connection, which works even if memcached is busy. A restart loses a share of
		// the cache. So the liveness probe restarts memcached only after a minute of failures.
		ReadinessProbe: tcpProbe(mc, 5, 3),
		// The first readiness probe often comes before memcached listens. Without this startup probe, the second readiness probe would
		// follow only after 5 s.
		StartupProbe:    tcpProbe(mc, 1, 60),
		LivenessProbe:   tcpProbe(mc, 10, 6),
		Lifecycle:       lifecycle(mc),
		SecurityContext: render.Restricted(),
	}
	if hasLauncher(mc) {
		launch(&result)
	}
	return result
}

func clientPorts(mc *cachev1alpha1.Memcached) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, port := range memcached.ClientPorts(mc) {
		ports = append(ports, corev1.ContainerPort{Name: port.Name, ContainerPort: port.Number, Protocol: corev1.ProtocolTCP})
	}
	return ports
}

// tcpProbe returns a probe that connects to the first client port. This is the plaintext port if there is one, because memcached
// counts a probe of the TLS port as a failed handshake.
func tcpProbe(mc *cachev1alpha1.Memcached, period, failures int32) *corev1.Probe {
	port := memcached.ClientPorts(mc)[0]
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(port.Name)}},
		PeriodSeconds:    period,
		TimeoutSeconds:   5,
		SuccessThreshold: 1,
		FailureThreshold: failures,
	}
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
