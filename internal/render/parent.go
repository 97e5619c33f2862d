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

// AskParent returns a handler that probes a path on the parent's port.
func AskParent(path string) corev1.ProbeHandler {
	return httpGet(path, parentName)
}

// installer returns the init container that copies the program from its image to a volume.
func (a Agent) installer() corev1.Container {
	return corev1.Container{
		Name:            memcached.InstallContainerName,
		Image:           a.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/agent", "install", parentPath + "/parent"},
		Resources:       smallResources(a.Beside, "24Mi"),
		VolumeMounts:    []corev1.VolumeMount{{Name: parentName, MountPath: parentPath}},
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
