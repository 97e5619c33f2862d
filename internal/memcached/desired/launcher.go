// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// itemsVolume is the volume for the file with the items, and itemsPath its mount path in the memcached container.
const (
	itemsVolume = "items"
	itemsPath   = "/run/memcached-items"
)

// keepsItems reports whether items survive a restart of memcached in the same pod.
func keepsItems(mc *cachev1alpha1.Memcached) bool {
	return memcached.IsStatefulSet(mc) && mc.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile
}

// launch makes memcached's container start the launcher, which also answers the probes, so that they do not fail during a restart of
// memcached, which takes a second or two. launch adds volumes for the argument lists, and for the file with the items.
func launch(spec *corev1.PodSpec, mc *cachev1alpha1.Memcached) {
	render.Launch(spec, "32Mi", "arguments", mc.Name+memcached.ArgumentsSuffix, 0o444)
	container := &spec.Containers[0]
	container.Args = nil
	container.ReadinessProbe.ProbeHandler = render.AskLauncher("/readyz")
	container.LivenessProbe.ProbeHandler = render.AskLauncher("/livez")
	// A node that is being filled is not ready, but must not be restarted.
	container.StartupProbe.ProbeHandler = render.AskLauncher("/livez")
	container.StartupProbe.FailureThreshold *= 2 // the launcher waits up to a minute for its arguments
	if keepsItems(mc) {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: itemsVolume, MountPath: itemsPath})
		// The memory limit with which the pod starts also limits this volume. If the volume had its own limit, each change of
		// config.memory would require a new pod.
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: itemsVolume, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory},
		}})
	}
}

// evictableVolumes is the annotation that lets the cluster autoscaler evict a pod despite its local volumes
// (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md).
const evictableVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

// evictable adds the annotation evictableVolumes, unless the user sets it.
func evictable(volumes []corev1.Volume, annotations map[string]string) map[string]string {
	var names []string
	for _, volume := range volumes {
		if volume.EmptyDir != nil {
			names = append(names, volume.Name)
		}
	}
	all := map[string]string{evictableVolumes: strings.Join(names, ",")}
	maps.Copy(all, annotations)
	return all
}

// launched adds the launcher's annotations and its flag --template to a pod template. section is the hash of the given template,
// and the value of the flag.
func launched(template corev1.PodTemplateSpec) (_ corev1.PodTemplateSpec, section string) {
	section, base := render.Hash(template), baseHash(template)
	template.Annotations = maps.Clone(template.Annotations)
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	template.Annotations[memcached.TemplateAnnotation] = section
	template.Annotations[memcached.BaseAnnotation] = base
	for i := range template.Spec.Containers {
		template.Spec.Containers[i].Args = []string{"--template=" + section}
	}
	return template, section
}

// baseHash returns the hash of everything that cannot change in a running pod: the template without images and resources.
func baseHash(template corev1.PodTemplateSpec) string {
	rest := template.DeepCopy()
	for _, containers := range [][]corev1.Container{rest.Spec.InitContainers, rest.Spec.Containers} {
		for i := range containers {
			containers[i].Image, containers[i].Resources = "", corev1.ResourceRequirements{}
		}
	}
	return render.Hash(rest)
}
