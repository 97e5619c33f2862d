// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// podEscalation is a change of the pods of a Deployment that a policy must refuse with a message.
type podEscalation struct {
	name, policy, message string
	change                func(*appsv1.Deployment)
}

func ofPod(change func(*corev1.PodSpec)) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec) }
}

func ofContainer(change func(*corev1.Container)) func(*appsv1.Deployment) {
	return ofPod(func(p *corev1.PodSpec) { change(&p.Containers[0]) })
}

var (
	hostPID    = ofPod(func(p *corev1.PodSpec) { p.HostPID = true })
	privileged = ofContainer(func(c *corev1.Container) {
		c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = ptr.To(true), ptr.To(true)
	})
	foreignImage = ofContainer(func(c *corev1.Container) { c.Image = "registry.example.com/miner:1" })
)

func ofAgent(change func(*corev1.Container)) func(*appsv1.Deployment) {
	return ofPod(func(p *corev1.PodSpec) { change(&p.InitContainers[0]) })
}

func volume(source corev1.VolumeSource) func(*appsv1.Deployment) {
	return ofPod(func(p *corev1.PodSpec) {
		p.Volumes = append(p.Volumes, corev1.Volume{Name: "more", VolumeSource: source})
	})
}

// volumes is the message of the policy "pods" about a forbidden volume.
const volumes = "spec.template.spec.volumes: must be credentials in memory, tls-secret and users-secret with one Secret each, and in a StatefulSet"

// podEscalations returns changes that are attempted both when a Deployment is created and when it is updated.
func podEscalations() []podEscalation {
	return slices.Concat(identityEscalations(), hostEscalations(), neighborEscalations(), containerEscalations(), agentEscalations(),
		secretEscalations(), optionEscalations(), privilegeEscalations(), imageEscalations())
}

func identityEscalations() []podEscalation {
	const serviceAccount, secrets = "spec.template.spec.serviceAccountName: must not be set", "env, envFrom: there must be none"
	secret := corev1.LocalObjectReference{Name: "credentials"}
	return []podEscalation{
		{"service account of another", "pods", serviceAccount, ofPod(func(p *corev1.PodSpec) { p.ServiceAccountName = "deployer" })},
		{"token of the service account", "pods", "automountServiceAccountToken: must be false", ofPod(func(p *corev1.PodSpec) {
			p.AutomountServiceAccountToken = nil
		})},
		{"token by projection", "pods", volumes, volume(corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			}},
		})},
		{"Secret as a volume", "pods", volumes, volume(corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: secret.Name},
		})},
		{"claim of another", "pods", volumes, volume(corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "database"},
		})},
		{"device of another", "pods", "resourceClaims: there must be none", ofPod(func(p *corev1.PodSpec) {
			p.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: ptr.To("device")}}
		})},
		{"Secret as a variable", "containers", secrets, ofContainer(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: secret, Key: "password"},
			}}}
		})},
		{"Secret as variables", "containers", secrets, ofContainer(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: secret}}}
		})},
	}
}

func hostEscalations() []podEscalation {
	const host, scheduler = "hostNetwork, hostPID, hostIPC, hostUsers: must not be set", "nodeName, schedulerName: the scheduler of the cluster"
	const name = "hostAliases, hostname, hostnameOverride, subdomain, setHostnameAsFQDN, dnsConfig, dnsPolicy: must not be set"
	return []podEscalation{
		{"processes of the node", "pods", host, hostPID},
		{"IPC of the node", "pods", host, ofPod(func(p *corev1.PodSpec) { p.HostIPC = true })},
		{"network of the node", "pods", host, ofPod(func(p *corev1.PodSpec) { p.HostNetwork, p.Containers[0].Ports = true, nil })},
		{"users of the node", "pods", host, ofPod(func(p *corev1.PodSpec) { p.HostUsers = ptr.To(true) })},
		{"file system of the node", "pods", volumes, volume(corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/"},
		})},
		{"port of the node", "containers", "must be ports 11211 and 11212 of memcached, 9151 of its launcher and 9150 of the agent over TCP, without hostPort", ofContainer(func(c *corev1.Container) {
			c.Ports[0].HostPort = 11211
		})},
		{"a chosen node", "pods", scheduler, ofPod(func(p *corev1.PodSpec) { p.NodeName = "control-plane" })},
		{"another scheduler", "pods", scheduler, ofPod(func(p *corev1.PodSpec) { p.SchedulerName = "mine" })},
		{"another runtime", "pods", "runtimeClassName: must not be set", ofPod(func(p *corev1.PodSpec) {
			p.RuntimeClassName = ptr.To("unconfined")
		})},
		{"names of other hosts", "pods", name, ofPod(func(p *corev1.PodSpec) {
			p.HostAliases = []corev1.HostAlias{{IP: "203.0.113.7", Hostnames: []string{"kubernetes.default.svc"}}}
		})},
		{"the name of another host", "pods", name, ofPod(func(p *corev1.PodSpec) { p.HostnameOverride = ptr.To("kubernetes") })},
		{"name servers of another", "pods", name, ofPod(func(p *corev1.PodSpec) {
			p.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"203.0.113.7"}}
		})},
		{"name servers of the node", "pods", name, ofPod(func(p *corev1.PodSpec) { p.DNSPolicy = corev1.DNSDefault })},
		{"processes of other containers", "pods", "shareProcessNamespace: must not be set without the volume credentials", ofPod(func(p *corev1.PodSpec) {
			p.ShareProcessNamespace = ptr.To(true)
		})},
	}
}

// neighborEscalations affect the pods of others.
func neighborEscalations() []podEscalation {
	const terms, classes = "affinity: no term may have namespaces or a namespaceSelector", "priorityClassName: must not be a class of the system"
	const labels, amounts = "template.metadata.labels: must not have k8s-app or a label of Kubernetes", "resources: must be cpu, memory and ephemeral-storage"
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "website"}}
	term := corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/os", LabelSelector: selector}
	everywhere, there := term, term
	everywhere.NamespaceSelector, there.Namespaces = &metav1.LabelSelector{}, []string{"default"}
	wish := func(term corev1.PodAffinityTerm) []corev1.WeightedPodAffinityTerm {
		return []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}
	}
	amount := func(name corev1.ResourceName) func(*appsv1.Deployment) {
		return ofContainer(func(c *corev1.Container) {
			c.Resources.Limits[name], c.Resources.Requests[name] = resource.MustParse("2Mi"), resource.MustParse("2Mi")
		})
	}
	label := func(key, value string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Template.Labels[key] = value }
	}
	return []podEscalation{
		{"room that all others must leave", "pods", terms, ofPod(func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{everywhere},
			}}
		})},
		{"a wish for room that others must leave", "pods", terms, ofPod(func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: wish(there)}}
		})},
		{"a place beside those of others", "pods", terms, ofPod(func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{there},
			}}
		})},
		{"a wish for a place beside those of others", "pods", terms, ofPod(func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: wish(everywhere)}}
		})},
		{"the priority of the cluster", "pods", classes, ofPod(func(p *corev1.PodSpec) { p.PriorityClassName = "system-cluster-critical" })},
		{"the priority of the node", "pods", classes, ofPod(func(p *corev1.PodSpec) { p.PriorityClassName = "system-node-critical" })},
		{"thirty years to stop", "pods", "terminationGracePeriodSeconds: must be at most 330", ofPod(func(p *corev1.PodSpec) {
			p.TerminationGracePeriodSeconds = ptr.To(int64(946080000))
		})},
		{"the label of the DNS of the cluster", "pods", labels, label("k8s-app", "kube-dns")},
		{"a label of Kubernetes", "pods", labels, label("node-role.kubernetes.io/control-plane", "")},
		{"resources of the whole pod", "pods", "spec.template.spec.resources: must not be set", ofPod(func(p *corev1.PodSpec) {
			p.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ti")}}
		})},
		{"huge pages", "containers", amounts, amount("hugepages-2Mi")},
		{"a device", "containers", amounts, amount("example.com/device")},
	}
}

func containerEscalations() []podEscalation {
	const one, program = "there must be one container, memcached", "command, args: must run memcached with the options of the operator"
	const probe, hook = "must be tcpSocket, without host", "lifecycle: must be a sleep before the stop, or nothing"
	web := &corev1.HTTPGetAction{Host: "169.254.169.254", Path: "/", Port: intstr.FromInt32(80)}
	return []podEscalation{
		{"another container", "containers", one, ofPod(func(p *corev1.PodSpec) {
			more := p.Containers[0].DeepCopy()
			more.Name, more.Ports, more.LivenessProbe, more.ReadinessProbe, more.StartupProbe = "more", nil, nil, nil, nil
			p.Containers = append(p.Containers, *more)
		})},
		{"an init container", "containers", one, ofPod(func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "first", Image: "docker.io/library/memcached"}}
		})},
		{"a second sidecar", "containers", one, ofPod(func(p *corev1.PodSpec) {
			more := p.InitContainers[0].DeepCopy()
			more.Name, more.Ports, more.LivenessProbe, more.ReadinessProbe = "more", nil, nil, nil
			p.InitContainers = append(p.InitContainers, *more)
		})},
		{"another program", "containers", program, ofContainer(func(c *corev1.Container) { c.Command = []string{"sh"} })},
		{"the program of the image", "containers", program, ofContainer(func(c *corev1.Container) { c.Command = nil })},
		{"the command shutdown", "containers", program, more("-A")},
		{"the command shutdown behind another option", "containers", program, more("-vA")},
		{"all arguments in one", "containers", "args: must be one option or value each", ofContainer(func(c *corev1.Container) {
			c.Args = []string{strings.Join(c.Args, " ")}
		})},
		{"a script for memcached", "containers", program, more("-o", "proxy_config=/tmp/x.lua")},
		{"a script for memcached behind our options", "containers", program, ofContainer(func(c *corev1.Container) {
			c.Args[len(c.Args)-1] += ",proxy_config=/tmp/x.lua"
		})},
		{"buffers without a limit", "containers", program, ofContainer(func(c *corev1.Container) { c.Args[len(c.Args)-1] = "idle_timeout=10" })},
		{"UDP, which amplifies attacks", "containers", program, ofContainer(func(c *corev1.Container) {
			c.Args[slices.Index(c.Args, "-U")+1] = "11211"
		})},
		{"a probe of the metadata service", "containers", probe, ofContainer(func(c *corev1.Container) {
			c.LivenessProbe.ProbeHandler = corev1.ProbeHandler{HTTPGet: web}
		})},
		{"a probe that runs a program", "containers", probe, ofContainer(func(c *corev1.Container) {
			c.ReadinessProbe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}
		})},
		{"a probe of another host", "containers", probe, ofContainer(func(c *corev1.Container) {
			c.StartupProbe.TCPSocket.Host = "203.0.113.7"
		})},
		{"a program after the start", "containers", hook, ofContainer(func(c *corev1.Container) {
			c.Lifecycle.PostStart = &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}
		})},
		{"a request before the stop", "containers", hook, ofContainer(func(c *corev1.Container) {
			c.Lifecycle.PreStop = &corev1.LifecycleHandler{HTTPGet: web}
		})},
		{"a port of another program", "containers", "must be ports 11211 and 11212 of memcached", ofContainer(func(c *corev1.Container) {
			c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: 22})
		})},
		{"a terminal", "containers", "stdin, tty, workingDir: must not be set", ofContainer(func(c *corev1.Container) { c.Stdin, c.TTY = true, true })},
	}
}

func more(args ...string) func(*appsv1.Deployment) {
	return ofContainer(func(c *corev1.Container) { c.Args = append(c.Args, args...) })
}

func privilegeEscalations() []podEscalation {
	const user, capabilities = "runAsNonRoot must be true, runAsUser and runAsGroup 11211 or absent", "securityContext.capabilities: must drop ALL and add none"
	const inherited = "securityContext: must not set what that of the pod says"
	const profiles = "seLinuxOptions, appArmorProfile, windowsOptions, sysctls, supplementalGroups and fsGroup must not be set"
	return []podEscalation{
		{"all privileges", "containers", "privileged must not be set", privileged},
		{"more privileges by a program", "containers", "allowPrivilegeEscalation must be false", ofContainer(func(c *corev1.Container) {
			c.SecurityContext.AllowPrivilegeEscalation = nil
		})},
		{"a capability", "containers", capabilities, ofContainer(func(c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
		})},
		{"the usual capabilities", "containers", capabilities, ofContainer(func(c *corev1.Container) { c.SecurityContext.Capabilities = nil })},
		{"a writable root", "containers", "readOnlyRootFilesystem: must be true", ofContainer(func(c *corev1.Container) {
			c.SecurityContext.ReadOnlyRootFilesystem = ptr.To(false)
		})},
		{"root", "pods", user, ofPod(func(p *corev1.PodSpec) { p.SecurityContext.RunAsUser = ptr.To(int64(0)) })},
		{"another user", "pods", user, ofPod(func(p *corev1.PodSpec) { p.SecurityContext.RunAsUser = ptr.To(int64(1000)) })},
		{"another group", "pods", user, ofPod(func(p *corev1.PodSpec) { p.SecurityContext.RunAsGroup = ptr.To(int64(0)) })},
		{"whatever user the image has", "pods", user, ofPod(func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = nil })},
		{"root in the container", "containers", inherited, ofContainer(func(c *corev1.Container) { c.SecurityContext.RunAsUser = ptr.To(int64(0)) })},
		{"all system calls", "pods", "seccompProfile.type: must be RuntimeDefault", ofPod(func(p *corev1.PodSpec) {
			p.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined
		})},
		{"all system calls in the container", "containers", inherited, ofContainer(func(c *corev1.Container) {
			c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		})},
		{"no AppArmor", "pods", profiles, ofPod(func(p *corev1.PodSpec) {
			p.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		})},
		{"no AppArmor, the old way", "pods", "annotations: must not name a profile of AppArmor", func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/memcached": "unconfined"}
		}},
		{"another label of SELinux", "pods", profiles, ofPod(func(p *corev1.PodSpec) {
			p.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"}
		})},
		{"a setting of the kernel", "pods", profiles, ofPod(func(p *corev1.PodSpec) {
			p.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "kernel.msgmax", Value: "65536"}}
		})},
		{"groups of the node", "pods", profiles, ofPod(func(p *corev1.PodSpec) { p.SecurityContext.SupplementalGroups = []int64{0} })},
	}
}

func imageEscalations() []podEscalation {
	image := func(name, image string) podEscalation {
		return podEscalation{
			name, "images", image + " is not in the ConfigMap " + operatorNamespace + "/memcached-operator-allowed-images",
			ofContainer(func(c *corev1.Container) { c.Image = image }),
		}
	}
	return []podEscalation{
		image("a foreign image", "registry.example.com/miner:1"),
		image("a repository with a similar name", "docker.io/library/memcached-miner:1"),
		image("a registry with a similar name", "docker.io/library/memcached.example.com/miner:1"),
		image("a registry whose port resembles a tag", "memcached:5000/miner:1"),
	}
}
