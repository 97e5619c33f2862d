// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// launcherPath is the directory in which an init container installs the launcher.
const launcherPath = "/run/launcher"

// Launch makes memcached's container start the launcher, which then runs memcached. It adds a port, a volume of this size for the launcher
// and its files, and a volume with the ConfigMap that the launcher reads.
func Launch(spec *corev1.PodSpec, size, volume, configMap string, mode int32) {
	limit, container := resource.MustParse(size), &spec.Containers[0]
	container.Command = []string{launcherPath + "/launcher"}
	container.Ports = append(container.Ports, corev1.ContainerPort{
		Name: memcached.LauncherContainerName, ContainerPort: memcached.LauncherPort, Protocol: corev1.ProtocolTCP,
	})
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: memcached.LauncherContainerName, MountPath: launcherPath}, {Name: volume, MountPath: "/etc/memcached", ReadOnly: true},
	}
	spec.Volumes = []corev1.Volume{
		{Name: memcached.LauncherContainerName, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}},
		{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, DefaultMode: &mode,
		}}},
	}
}

// AskLauncher returns a handler that probes a path on the launcher's port.
func AskLauncher(path string) corev1.ProbeHandler {
	return httpGet(path, memcached.LauncherContainerName)
}

// installer returns the init container that copies the launcher from the image to the volume with the container's name.
func (a Agent) installer() corev1.Container {
	return corev1.Container{
		Name:            memcached.LauncherContainerName,
		Image:           a.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/launcher", "install", launcherPath + "/launcher"},
		Resources:       smallResources(a.Beside, "24Mi"),
		VolumeMounts:    []corev1.VolumeMount{{Name: memcached.LauncherContainerName, MountPath: launcherPath}},
		SecurityContext: Restricted(),
	}
}

// smallResources returns resources for a small container beside memcached. limit is its memory limit. If wanted, the resources of
// memcached, has a CPU limit, the result also has one, so that the pod can be Guaranteed.
func smallResources(wanted cachev1alpha1.MemcachedResources, limit string) corev1.ResourceRequirements {
	memory := resource.MustParse(limit)
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: memory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
	}
	if _, limited := wanted.Limits[corev1.ResourceCPU]; limited {
		cpu := resource.MustParse("100m")
		resources.Requests[corev1.ResourceCPU], resources.Limits[corev1.ResourceCPU] = cpu, cpu
	}
	return resources
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
