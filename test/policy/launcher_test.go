// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

const hash = "0123456789abcdef"

// launched returns an attempt to create a StatefulSet in which the launcher starts memcached, with items in a volume in memory. The
// function change modifies the StatefulSet first.
func launched(change func(*appsv1.StatefulSet)) attempt {
	return createStatefulSet(func(s *appsv1.StatefulSet) {
		launch(s)
		change(s)
	})
}

func launchedPod(change func(*corev1.PodSpec)) attempt {
	return launched(func(s *appsv1.StatefulSet) { change(&s.Spec.Template.Spec) })
}

// launch makes the launcher start memcached in the pods of a StatefulSet.
func launch(s *appsv1.StatefulSet) {
	pod := &s.Spec.Template.Spec
	memcached := &pod.Containers[0]
	pod.InitContainers = slices.DeleteFunc(pod.InitContainers, func(c corev1.Container) bool { return c.Name == "launcher" })
	mounts := map[string]string{"launcher": "/run/launcher", "arguments": "/etc/memcached", "items": "/run/memcached-items"}
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return mounts[v.Name] != "" })
	memcached.VolumeMounts = slices.DeleteFunc(memcached.VolumeMounts, func(m corev1.VolumeMount) bool { return mounts[m.Name] != "" })
	memcached.Ports = slices.DeleteFunc(memcached.Ports, func(p corev1.ContainerPort) bool { return p.Name == "launcher" })
	pod.InitContainers = slices.Insert(pod.InitContainers, 0, corev1.Container{
		Name: "launcher", Image: agentImage, Command: []string{"/launcher", "install", "/run/launcher/launcher"},
		VolumeMounts:    []corev1.VolumeMount{{Name: "launcher", MountPath: mounts["launcher"]}},
		SecurityContext: memcached.SecurityContext.DeepCopy(),
		Resources:       corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")}},
	})
	memcached.Command, memcached.Args = []string{"/run/launcher/launcher"}, []string{"--template=" + hash}
	memcached.Ports = append(memcached.Ports, corev1.ContainerPort{Name: "launcher", ContainerPort: 9151})
	for _, name := range []string{"launcher", "arguments", "items"} {
		memcached.VolumeMounts = append(memcached.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: mounts[name], ReadOnly: name == "arguments"})
	}
	memcached.StartupProbe, memcached.LivenessProbe, memcached.ReadinessProbe = ask(protocol.LivePath), ask(protocol.LivePath), ask(protocol.ReadyPath)
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{Name: "launcher", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: "arguments", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.Name + "-arguments"},
		}}},
		corev1.Volume{Name: "items", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory,
		}}})
}

func ask(path string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("launcher")}}}
}

// arguments are memcached's arguments, as the operator writes them for launchers.
const arguments = "-p 11211 -U 0 -m 128 -c 1055 -t 4 -I 1m -W -X -e /run/memcached-items/items -o read_buf_mem_limit=44\n"

// argumentsOf returns the ConfigMap for the launchers of a Memcached.
func argumentsOf(t *testing.T, c client.Client, name string) *corev1.ConfigMap {
	t.Helper()
	all := serversOf(t, c, name)
	all.Name = name + "-arguments"
	all.Data = map[string]string{
		"arguments." + hash: arguments, "arguments.1123456789abcdef": arguments + "restartedAt=2026-11-24T07:00:00+01:00\n",
		"nodes." + hash: "default " + hash + "\n0 " + hash + "\n999 1123456789abcdef\n",
	}
	return all
}

// createArguments returns an attempt to create a ConfigMap for launchers. The function change modifies the ConfigMap first.
func createArguments(change func(*corev1.ConfigMap)) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		all := argumentsOf(t, c, stable)
		change(all)
		return c.Create(t.Context(), all, client.DryRunAll)
	}
}

// launches are permitted attempts that write what the operator writes for launchers.
func launches() map[string]attempt {
	return map[string]attempt{
		"create a set with launchers": launched(func(*appsv1.StatefulSet) {}),
		"create a set with launchers, and items in memcached's own memory": launchedPod(func(p *corev1.PodSpec) {
			p.Volumes = p.Volumes[:len(p.Volumes)-1]
			p.Containers[0].VolumeMounts = p.Containers[0].VolumeMounts[:len(p.Containers[0].VolumeMounts)-1]
		}),
		"create a set with launchers and certificates": createStatefulSet(func(s *appsv1.StatefulSet) {
			d := &appsv1.Deployment{ObjectMeta: s.ObjectMeta}
			withCredentials(func(*corev1.PodSpec) {})(d)
			s.Spec.Template.Spec = d.Spec.Template.Spec
			launch(s)
		}),
		"create a ConfigMap for launchers": createArguments(func(*corev1.ConfigMap) {}),
		"fill nodes from another Memcached": createArguments(func(c *corev1.ConfigMap) {
			c.Data[protocol.TwinKey] = protocol.Twin{Name: "sessions-b", Namespace: shop, Size: 1000}.String()
		}),
		"list the nodes of the largest set with several templates": createArguments(func(c *corev1.ConfigMap) {
			var nodes strings.Builder
			for ordinal := range 1000 {
				nodes.WriteString(strconv.Itoa(ordinal) + " " + hash + "\n")
			}
			for template := range 10 {
				c.Data["nodes."+strings.Repeat(strconv.Itoa(template), 16)] = "default " + hash + "\n" + nodes.String()
			}
		}),
	}
}
