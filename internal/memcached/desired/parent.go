// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
	"github.com/example/memcached-operator/internal/rollout"
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

// launch makes memcached's container start memcached's parent, which also answers the probes. There is no liveness probe: whoever reaches
// its port could make it fail and empty the node, so the parent itself ends a memcached that accepts nothing. launch adds volumes for the
// argument lists, and for the file with the items.
func launch(spec *corev1.PodSpec, mc *cachev1alpha1.Memcached, number int) {
	render.Parent(spec, "node", "32Mi", "arguments", mc.Name+memcached.ArgumentsSuffix, 0o444)
	spec.Volumes[len(spec.Volumes)-1].ConfigMap.Optional = ptr.To(true)
	container := &spec.Containers[0]
	container.Args = memcached.NodeArgs(argumentList(mc), slices.Delete(memcached.Patterns(mc), number, number+1))
	container.Env = append(container.Env, corev1.EnvVar{
		Name: "POD_UID", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"}},
	})
	render.ProbeParent(container)
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

// askedTemplate returns the pod template of a copy's StatefulSet, with the present defaults. Its annotation says what a new pod is asked
// for.
func askedTemplate(
	mc *cachev1alpha1.Memcached, number int, opts memcached.Options, target rollout.Target, restarted string,
) corev1.PodTemplateSpec {
	template := podTemplate(mc, number, opts, presentDefaults(mc, opts))
	container := &template.Spec.Containers[0]
	asked := memcached.Asked{
		Asked: target.Asked, Rendering: renderingOf(template), Applied: render.Hash(render.WithAPIDefaults(template).Spec),
		ReplacedAt: timeOf(mc.Spec.ReplacedAt), Restarted: restarted,
	}
	if mc.Spec.Image == "" {
		asked.DefaultImage = container.Image
	}
	if _, given := render.MemoryLimit(mc.Spec.Resources); !given {
		asked.DefaultLimit = container.Resources.Limits.Memory().Value()
	}
	annotations := map[string]string{memcached.AskedAnnotation: asked.Annotation()}
	maps.Copy(annotations, template.Annotations)
	template.Annotations = annotations
	return template
}

// renderingOf returns the hash of what is rendered for a new pod, without the image, the resources and the arguments of memcached, which
// may change in a living pod.
func renderingOf(template corev1.PodTemplateSpec) string {
	rest := template.DeepCopy()
	container := &rest.Spec.Containers[0]
	container.Image, container.Resources, container.Args = "", corev1.ResourceRequirements{}, nil
	rest.Spec.InitContainers[0].Resources = corev1.ResourceRequirements{} // the same as memcached's
	return render.Hash(rest)
}

// argumentsConfigMap returns the ConfigMap with the entries for parents. It is nil if there is nothing to tell them. An entry goes when
// another pod has the name of its pod.
func argumentsConfigMap(f *fleet) *corev1.ConfigMap {
	data := map[string]string{}
	for _, n := range f.nodes {
		entry, found := f.entries[n.Name]
		if found && (n.Pod != rollout.Present || entry.Pod == string(n.pod.UID)) {
			data[protocol.EntryKey(n.Name)] = entry.String()
		}
	}
	if len(data) == 0 {
		return nil
	}
	return role(f.v.Memcached).ConfigMap(memcached.ArgumentsSuffix, data)
}
