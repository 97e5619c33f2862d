// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
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
	addParent(spec, "node", "32Mi", "arguments", mc.Name+memcached.ArgumentsSuffix, 0o444)
	spec.Volumes[len(spec.Volumes)-1].ConfigMap.Optional = ptr.To(true)
	container := &spec.Containers[0]
	container.Args = memcached.NodeArgs(argumentList(mc), slices.Delete(memcached.Patterns(mc), number, number+1))
	container.Env = append(container.Env, corev1.EnvVar{
		Name: "POD_UID", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"}},
	})
	probeParent(container)
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
		Asked: target.Asked, Rendering: renderingOf(template), Applied: hashOf(withAPIDefaults(template).Spec),
		ReplacedAt: timeOf(mc.Spec.ReplacedAt), Restarted: restarted,
	}
	if mc.Spec.Image == "" {
		asked.DefaultImage = container.Image
	}
	if _, given := givenLimit(mc.Spec.Resources); !given {
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
	return hashOf(rest)
}

// argumentsConfigMap returns the ConfigMap with the entries for parents. It is nil if there is nothing to tell them. An entry goes when
// another pod has the name of its pod.
func argumentsConfigMap(f *fleet) *corev1.ConfigMap {
	data := map[string]string{}
	for _, n := range f.nodes {
		entry, found := f.entries[n.Name]
		if found && (n.Pod != rollout.Present || entry.Pod == string(n.pod.UID)) {
			data[n.Name] = entry.String()
		}
	}
	if len(data) == 0 {
		return nil
	}
	return nodeRole(f.v.Memcached).configMap(memcached.ArgumentsSuffix, data)
}

// parentPath is the directory in which an init container installs the program of memcached's parent.
const parentPath = "/run/parent"

// parentName is the name of the volume with that directory, and of the parent's port.
const parentName = "parent"

// addParent makes memcached's container start memcached's parent with this role, which is "node" or "proxy". It adds a port, a volume of
// this size for the program and its files, and a volume with the ConfigMap that the parent reads.
func addParent(spec *corev1.PodSpec, role, size, volume, configMap string, mode int32) {
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

// probeParent makes the kubelet ask memcached's parent whether memcached serves. The startup probe only makes a pod ready soon: a node that
// is being filled, or a proxy that waits for DNS, must not be restarted.
func probeParent(container *corev1.Container) {
	container.StartupProbe = probe(httpGet("/readyz", parentName), 1, 3, always)
	container.ReadinessProbe = probe(httpGet("/readyz", parentName), 5, 3, 2)
	container.LivenessProbe = nil
}

// installer returns the init container that copies the program from its image to a volume. It has the resources of memcached's container:
// a pod needs the larger of the two, so this costs nothing, and what admits memcached's container admits it.
func (a agent) installer(resources corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:            memcached.InstallContainerName,
		Image:           a.image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/agent", "install", parentPath + "/parent"},
		Resources:       *resources.DeepCopy(),
		VolumeMounts:    []corev1.VolumeMount{{Name: parentName, MountPath: parentPath}},
		SecurityContext: restricted(),
	}
}

// httpGet returns a handler that probes a path on the container's port with this name.
func httpGet(path, port string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: path, Port: intstr.FromString(port), Scheme: corev1.URISchemeHTTP,
	}}
}

// probe returns a probe, with its period and its timeout in seconds.
func probe(handler corev1.ProbeHandler, period, timeout, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: handler, PeriodSeconds: period, TimeoutSeconds: timeout, SuccessThreshold: 1, FailureThreshold: failures,
	}
}
