// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/example/memcached-operator/internal/memcached"
)

// parentPath is the directory in which an init container installs the program of memcached's parent.
const parentPath = "/run/parent"

// parentName is the name of the volume with that directory, and of the parent's port.
const parentName = "parent"

// Parent makes memcached's container start memcached's parent with this role, which is "node" or "proxy". It adds a port, a volume of this
// size for the program and its files, and a volume with the ConfigMap that the parent reads.
func Parent(spec *corev1.PodSpec, role, size, volume, configMap string, mode int32) {
	limit, container := resource.MustParse(size), &spec.Containers[0]
	container.Command = []string{parentPath + "/parent", role}
	container.Ports = append(container.Ports, corev1.ContainerPort{
		Name: parentName, ContainerPort: memcached.ParentPort, Protocol: corev1.ProtocolTCP,
	})
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: parentName, MountPath: parentPath}, {Name: volume, MountPath: "/etc/memcached", ReadOnly: true},
	}
	spec.Volumes = []corev1.Volume{
		{Name: parentName, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}},
		{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, DefaultMode: &mode,
		}}},
	}
}

// always is the number of failures after which a startup probe gives up, practically never.
const always = 1<<31 - 1

// ProbeParent makes the kubelet ask memcached's parent whether memcached serves. The startup probe only makes a pod ready soon: a node that
// is being filled, or a proxy that waits for DNS, must not be restarted.
func ProbeParent(container *corev1.Container) {
	container.StartupProbe = Probe(httpGet("/readyz", parentName), 1, 3, always)
	container.ReadinessProbe = Probe(httpGet("/readyz", parentName), 5, 3, 2)
	container.LivenessProbe = nil
}

// installer returns the init container that copies the program from its image to a volume. It has the resources of memcached's container:
// a pod needs the larger of the two, so this costs nothing, and what admits memcached's container admits it.
func (a Agent) installer(resources corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:            memcached.InstallContainerName,
		Image:           a.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/agent", "install", parentPath + "/parent"},
		Resources:       *resources.DeepCopy(),
		VolumeMounts:    []corev1.VolumeMount{{Name: parentName, MountPath: parentPath}},
		SecurityContext: Restricted(),
	}
}

// httpGet returns a handler that probes a path on the container's port with this name.
func httpGet(path, port string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: path, Port: intstr.FromString(port), Scheme: corev1.URISchemeHTTP,
	}}
}

// Probe returns a probe, with its period and its timeout in seconds.
func Probe(handler corev1.ProbeHandler, period, timeout, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: handler, PeriodSeconds: period, TimeoutSeconds: timeout, SuccessThreshold: 1, FailureThreshold: failures,
	}
}
