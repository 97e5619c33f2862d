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

// defaultPreStopDelay is for how many seconds a node goes on serving after it began to leave, unless the user says otherwise.
const defaultPreStopDelay = 5

// container runs memcached.
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
		Args:            args(mc, defaults),
		Ports:           clientPorts(mc),
		Resources:       resources(mc, defaults),
		VolumeMounts:    append(launcherMounts(mc), memcachedMounts(mc)...),
		// A TCP connect is the only check that works whatever a later version puts in front of the commands, and that a busy
		// memcached passes. A restart loses a share of the cache, so it takes a minute of refused connections.
		ReadinessProbe: tcpProbe(mc, 5, 3),
		// The first probe often comes before memcached listens. Without this one the node would serve 5 s later than it could.
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

// clientPorts are the ports of the container that clients can reach.
func clientPorts(mc *cachev1alpha1.Memcached) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, port := range memcached.ClientPorts(mc) {
		ports = append(ports, corev1.ContainerPort{Name: port.Name, ContainerPort: port.Number, Protocol: corev1.ProtocolTCP})
	}
	return ports
}

// tcpProbe connects to the first port for clients. memcached counts what does not speak TLS there as a failed handshake, so that the
// port without TLS is the first one.
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

// lifecycle lets a node that leaves go on serving until clients and DNS have learnt of it: memcached itself exits at once
// on SIGTERM, and drains nothing.
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
