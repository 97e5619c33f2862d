// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

func launcherEscalations() []escalation {
	all := append(launchEscalations(), launcherVolumeEscalations()...)
	return append(all, argumentsEscalations()...)
}

// launchEscalations change containers, for example to run another program in a pod with a launcher.
func launchEscalations() []escalation {
	const program, installs = "containers[0].command, args: must run memcached with the options of the operator, or the launcher", "initContainers[0]: launcher must be the first one in a StatefulSet"
	const probe, one = "must be httpGet of /livez and /readyz at the port launcher", "there must be one container, memcached"
	const ports = "must be ports 11211 and 11212 of memcached, 9151 of its launcher and 9150 of the agent"
	args := func(args ...string) attempt {
		return launchedPod(func(p *corev1.PodSpec) { p.Containers[0].Args = args })
	}
	first := func(change func(*corev1.Container)) attempt {
		return launchedPod(func(p *corev1.PodSpec) { change(&p.InitContainers[0]) })
	}
	memcached := func(change func(*corev1.Container)) attempt {
		return launchedPod(func(p *corev1.PodSpec) { change(&p.Containers[0]) })
	}
	return []escalation{
		{"let the launcher start another program", "containers", program, args("--template="+hash, "--program=sh")},
		{"let the launcher read other arguments", "containers", program, args("--template="+hash, "--arguments=/run/launcher")},
		{"let the launcher read another section", "containers", program, args("--template=../" + hash)},
		{"name two hashes", "containers", program, args("--template=" + hash + hash)},
		{"run the launcher without a hash", "containers", program, args()},
		{"give the launcher a line more", "containers", program, args("--template=" + hash + "\n")},
		{"run the command shutdown beside the launcher's argument", "containers", program, args("--template="+hash, "-A")},
		{"install a launcher and run another program", "containers", program, memcached(func(c *corev1.Container) { c.Command = []string{"sh"} })},
		{"install a launcher and give it a command", "containers", program, memcached(func(c *corev1.Container) { c.Command = append(c.Command, "install") })},
		{"run a launcher that nobody has installed", "containers", installs, launchedPod(func(p *corev1.PodSpec) { p.InitContainers = p.InitContainers[1:] })},
		{"run memcached itself in a StatefulSet", "containers", program, launchedPod(func(p *corev1.PodSpec) {
			p.Containers[0].Command, p.Containers[0].Args = []string{"memcached"}, strings.Fields(arguments)
		})},
		{"run memcached in a StatefulSet without a launcher", "containers", installs, createStatefulSet(func(s *appsv1.StatefulSet) {
			d := &appsv1.Deployment{ObjectMeta: s.ObjectMeta}
			withCredentials(func(*corev1.PodSpec) {})(d)
			s.Spec.Template.Spec = d.Spec.Template.Spec
		})},
		{"install another program", "containers", installs, first(func(c *corev1.Container) { c.Command = []string{"sh"} })},
		{"install elsewhere", "containers", installs, first(func(c *corev1.Container) { c.Command[2] = "/run/memcached/launcher" })},
		{"install with an argument more", "containers", installs, first(func(c *corev1.Container) { c.Args = []string{"--program=sh"} })},
		{"install into two volumes", "containers", installs, first(func(c *corev1.Container) {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "items", MountPath: "/items"})
		})},
		{"install into another volume", "containers", installs, first(func(c *corev1.Container) { c.VolumeMounts[0].Name = "items" })},
		{"install into a folder of the volume", "containers", installs, first(func(c *corev1.Container) { c.VolumeMounts[0].SubPath = "launcher" })},
		{"let the first container run on", "containers", installs, first(func(c *corev1.Container) { c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways) })},
		{"install after the agent", "containers", installs, launchedPod(func(p *corev1.PodSpec) {
			p.InitContainers[0], p.InitContainers[1] = p.InitContainers[1], p.InitContainers[0]
		})},
		{"run a third program at first", "containers", one, launchedPod(func(p *corev1.PodSpec) {
			more := p.InitContainers[0].DeepCopy()
			more.Name = "more"
			p.InitContainers = append(p.InitContainers, *more)
		})},
		{"run the launcher in a Deployment", "containers", "launcher must be the first one in a StatefulSet", createDeployment(func(d *appsv1.Deployment) {
			s := &appsv1.StatefulSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.StatefulSetSpec{Template: *d.Spec.Template.DeepCopy()}}
			launch(s)
			installer := s.Spec.Template.Spec.InitContainers[0]
			installer.VolumeMounts = nil // the policy "pods" would refuse its volume
			d.Spec.Template.Spec.InitContainers = append(d.Spec.Template.Spec.InitContainers, installer)
		})},
		{"give the launcher a Secret", "containers", "env, envFrom: there must be none", first(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "credentials"}}}}
		})},
		{"install as another user", "containers", "must not set what that of the pod says", first(func(c *corev1.Container) {
			c.SecurityContext.RunAsUser = ptr.To(int64(0))
		})},
		{"install with all privileges", "containers", "privileged must not be set", first(func(c *corev1.Container) {
			c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = ptr.To(true), ptr.To(true)
		})},
		{"install from a foreign image", "images", "registry.example.com/miner:1 is not in the ConfigMap", first(func(c *corev1.Container) { c.Image = "registry.example.com/miner:1" })},
		{"open a port while installing", "containers", ports, first(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 9151}} })},
		{"open the launcher's port on the cluster node", "containers", ports, memcached(func(c *corev1.Container) { c.Ports[len(c.Ports)-1].HostPort = 9151 })},
		{"open the launcher's port without a launcher", "containers", ports, createDeployment(ofContainer(func(c *corev1.Container) {
			c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: 9151})
		}))},
		{"let the launcher's probe ask another host", "containers", probe, memcached(func(c *corev1.Container) { c.LivenessProbe.HTTPGet.Host = "169.254.169.254" })},
		{"let the launcher's probe ask another port", "containers", probe, memcached(func(c *corev1.Container) {
			c.StartupProbe.HTTPGet.Port = intstr.FromString("memcached")
		})},
		{"let the launcher's probe ask for something else", "containers", probe, memcached(func(c *corev1.Container) { c.ReadinessProbe.HTTPGet.Path = "/status" })},
		{"let the launcher's probe send a header", "containers", probe, memcached(func(c *corev1.Container) {
			c.ReadinessProbe.HTTPGet.HTTPHeaders = []corev1.HTTPHeader{{Name: "Host", Value: "metadata"}}
		})},
		{"let a probe run a program beside the launcher", "containers", probe, memcached(func(c *corev1.Container) {
			c.LivenessProbe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}
		})},
		{"let the launcher be asked for HTTP of others", "containers", "must be tcpSocket, without host", createDeployment(ofContainer(func(c *corev1.Container) {
			c.LivenessProbe = ask("/livez")
			c.LivenessProbe.HTTPGet.Port = intstr.FromString(c.Ports[0].Name)
		}))},
	}
}

func launcherVolumeEscalations() []escalation {
	const mounts = "containers[0].volumeMounts: must be credentials, read-only, at /run/memcached, and arguments"
	mount := func(name string, change func(*corev1.VolumeMount)) attempt {
		return launchedPod(func(p *corev1.PodSpec) {
			for i := range p.Containers[0].VolumeMounts {
				if m := &p.Containers[0].VolumeMounts[i]; m.Name == name {
					change(m)
				}
			}
		})
	}
	volume := func(name string, change func(*corev1.Volume)) attempt {
		return launchedPod(func(p *corev1.PodSpec) { change(volumeOf(p, name)) })
	}
	return []escalation{
		{"mount the launcher in the place of programs", "containers", mounts, mount("launcher", func(m *corev1.VolumeMount) { m.MountPath = "/usr/local/bin" })},
		{"mount the items elsewhere", "containers", mounts, mount("items", func(m *corev1.VolumeMount) { m.MountPath = "/tmp" })},
		{"mount arguments that memcached can change", "containers", mounts, mount("arguments", func(m *corev1.VolumeMount) { m.ReadOnly = false })},
		{"mount one of the arguments", "containers", mounts, mount("arguments", func(m *corev1.VolumeMount) { m.SubPath = "arguments." + hash })},
		{"mount items as arguments", "containers", mounts, mount("arguments", func(m *corev1.VolumeMount) { m.Name = "items" })},
		{"keep the launcher in memory", "pods", volumes, volume("launcher", func(v *corev1.Volume) { v.EmptyDir.Medium = corev1.StorageMediumMemory })},
		{"take the launcher from the cluster node", "pods", volumes, volume("launcher", func(v *corev1.Volume) {
			v.VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		})},
		{"keep items on the disk", "pods", volumes, volume("items", func(v *corev1.Volume) { v.EmptyDir.Medium = corev1.StorageMediumDefault })},
		{"keep items in huge pages", "pods", volumes, volume("items", func(v *corev1.Volume) { v.EmptyDir.Medium = "HugePages-2Mi" })},
		{"keep items in a claim", "pods", volumes, volume("items", func(v *corev1.Volume) {
			v.VolumeSource = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "database"}}
		})},
		{"read the arguments of another Memcached", "pods", volumes, volume("arguments", func(v *corev1.Volume) { v.ConfigMap.Name = "another-arguments" })},
		{"read the settings of an application", "pods", volumes, volume("arguments", func(v *corev1.Volume) { v.ConfigMap.Name = "website" })},
		{"read arguments that may be missing", "pods", volumes, volume("arguments", func(v *corev1.Volume) { v.ConfigMap.Optional = ptr.To(true) })},
		{"read arguments of another name", "pods", volumes, volume("arguments", func(v *corev1.Volume) {
			v.ConfigMap.Items = []corev1.KeyToPath{{Key: "arguments.1", Path: "nodes." + hash}}
		})},
		{"read a Secret as arguments", "pods", volumes, volume("arguments", func(v *corev1.Volume) {
			v.VolumeSource = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "credentials"}}
		})},
		{"give a Deployment memory", "pods", volumes, createDeployment(ofPod(func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "items", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("1Gi")),
			}}})
		}))},
	}
}

// fillEscalation sets the key fillFrom to a forbidden text. The key names the Memcached from which nodes copy items.
func fillEscalation(name, text string) escalation {
	return escalation{"fill nodes " + name, "configmaps", "data.fillFrom: must be the name of a Memcached", createArguments(func(c *corev1.ConfigMap) {
		c.Data[protocol.TwinKey] = text
	})}
}

// argumentsEscalations write the ConfigMap for launchers with an owner, a key or a text that the operator would never write.
func argumentsEscalations() []escalation {
	const keys, line, nodes = "or arguments.HASH, nodes.HASH and fillFrom", "data: arguments.HASH must be memcached's options of the operator", "data: nodes.HASH must say which arguments"
	all := []escalation{
		{"create arguments without an owner", "children", "the controller must be the Memcached of the same name", createArguments(func(c *corev1.ConfigMap) {
			c.OwnerReferences = nil
		})},
		{"create arguments of another Memcached", "children", "the controller must be the Memcached of the same name", createArguments(func(c *corev1.ConfigMap) {
			c.Name = "another-arguments"
		})},
		fillEscalation("from another namespace", "sessions kube-system 3\n"),
		fillEscalation("from a host", "evil.example.com "+shop+" 3\n"),
		fillEscalation("from more than a line", "sessions "+shop+" 3\nsessions "+shop+" 3\n"),
		fillEscalation("without the end of a line", "sessions "+shop+" 3"),
		fillEscalation("without a size", "sessions "+shop+"\n"),
		{"create arguments as bytes", "configmaps", keys, createArguments(func(c *corev1.ConfigMap) {
			c.BinaryData = map[string][]byte{"arguments.2123456789abcdef": []byte("-A")}
		})},
		{"keep others from changing arguments", "configmaps", keys, createArguments(func(c *corev1.ConfigMap) { c.Immutable = ptr.To(true) })},
	}
	for _, key := range []string{"arguments", "arguments.", "arguments." + hash + "0", "arguments.ABCDEF0123456789", "nodes.1", "servers", "host", "LD_PRELOAD", "arguments-" + hash} {
		all = append(all, escalation{"create the key " + key + " among arguments", "configmaps", keys, createArguments(setData(key, arguments))})
	}
	for name, text := range map[string]string{
		"nothing":                      "",
		"no end":                       strings.TrimSuffix(arguments, "\n"),
		"the command shutdown":         strings.Replace(arguments, " -o", " -A -o", 1),
		"a script":                     strings.Replace(arguments, "=44", "=44,proxy_config=/run/launcher/x.lua", 1),
		"UDP":                          strings.Replace(arguments, "-U 0", "-U 11211", 1),
		"items elsewhere":              strings.Replace(arguments, "/run/memcached-items/items", "/etc/passwd", 1),
		"a line more":                  arguments + "-A\n",
		"an empty line more":           arguments + "\n",
		"a line more after a restart":  arguments + "restartedAt=2026-11-24T07:00:00Z\n-A\n",
		"a restart without an end":     arguments + "restartedAt=2026-11-24T07:00:00Z",
		"a restart that is no time":    arguments + "restartedAt=now\n",
		"a line before":                "\n" + arguments,
		"another end of the line":      strings.Replace(arguments, "\n", "\r\n", 1),
		"two spaces":                   strings.Replace(arguments, " ", "  ", 1),
		"a certificate without TLS":    strings.Replace(arguments, "=44", "=44,ssl_chain_cert=/run/memcached/current/tls.crt,ssl_key=/run/memcached/current/tls.key,ssl_min_version=2", 1),
		"TLS that has no certificate":  strings.Replace(arguments, " -o", " -Z -l notls:127.0.0.1:11211,*:11212 -o", 1),
		"a port without TLS elsewhere": strings.Replace(arguments, " -o", " -l 0.0.0.0:22 -o", 1),
	} {
		all = append(all, escalation{"create arguments with " + name, "configmaps", line, createArguments(setData("arguments."+hash, text))})
	}
	for name, text := range map[string]string{
		"nothing": "", "no default": "0 " + hash + "\n", "a default that is no hash": "default ../x\n", "a node that is no number": "default " + hash + "\nx " + hash + "\n",
		"a node that cannot exist": "default " + hash + "\n1000 " + hash + "\n", "an argument": "default " + hash + "\n-A\n", "no end": "default " + hash,
	} {
		all = append(all, escalation{"create a list of nodes with " + name, "configmaps", nodes, createArguments(setData("nodes."+hash, text))})
	}
	return all
}
