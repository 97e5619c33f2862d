// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
)

// withCredentials returns a change that gives a Deployment the pods of a Memcached with mutual TLS and users, and then modifies the
// pods.
func withCredentials(change func(*corev1.PodSpec)) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		mc := &cachev1alpha1.Memcached{ObjectMeta: named(d.Name)}
		mc.Spec = cachev1alpha1.MemcachedSpec{
			Size: 3,
			TLS:  &cachev1alpha1.MemcachedTLS{SecretName: "credentials", ClientAuth: cachev1alpha1.ClientAuthRequire},
			Auth: &cachev1alpha1.MemcachedAuth{SecretName: "users"},
		}
		options := memcached.Options{DefaultImage: "docker.io/library/memcached:1.6.45", AgentImage: agentImage}
		plan := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Now()), options)
		if plan.Problem != nil {
			panic(plan.Problem)
		}
		d.Spec.Template.Spec = memcached.PodTemplate(plan.Workload()).Spec
		change(&d.Spec.Template.Spec)
	}
}

func volumeOf(p *corev1.PodSpec, name string) *corev1.Volume {
	return &p.Volumes[slices.IndexFunc(p.Volumes, func(v corev1.Volume) bool { return v.Name == name })]
}

// secretEscalations misuse the volumes for Secrets and credentials, for example to reach Secrets beyond those of spec.tls and
// spec.auth.
func secretEscalations() []podEscalation {
	const ofMemcached, ofAgent = "containers[0].volumeMounts: must be credentials, read-only", "initContainers[].volumeMounts: must be credentials, and tls-secret"
	const keys = "tls-secret must hold tls.crt, tls.key and ca.crt only"
	other := corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "other"}}}
	return []podEscalation{
		{"a Secret for memcached", "containers", ofMemcached, withCredentials(func(p *corev1.PodSpec) {
			p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{
				Name: "users-secret", MountPath: "/users", ReadOnly: true,
			})
		})},
		{"credentials that memcached can change", "containers", ofMemcached, withCredentials(func(p *corev1.PodSpec) {
			p.Containers[0].VolumeMounts[0].ReadOnly = false
		})},
		{"credentials in the place of programs", "containers", ofMemcached, withCredentials(func(p *corev1.PodSpec) {
			p.Containers[0].VolumeMounts[0].MountPath = "/usr/local/bin"
		})},
		{"one file of the credentials", "containers", ofMemcached, withCredentials(func(p *corev1.PodSpec) {
			p.Containers[0].VolumeMounts[0].SubPath = "elsewhere"
		})},
		{"a Secret at another path of the agent", "containers", ofAgent, withCredentials(func(p *corev1.PodSpec) {
			p.InitContainers[0].VolumeMounts[0].MountPath = "/agent.d"
		})},
		{"users in the place of the certificate", "containers", ofAgent, withCredentials(func(p *corev1.PodSpec) {
			p.InitContainers[0].VolumeMounts[1].MountPath = "/etc/memcached-agent/certificate"
		})},
		{"two Secrets in one", "pods", volumes, withCredentials(func(p *corev1.PodSpec) {
			projected := volumeOf(p, "users-secret").Projected
			projected.Sources = append(projected.Sources, other)
		})},
		{"a token beside the users", "pods", volumes, withCredentials(func(p *corev1.PodSpec) {
			projected := volumeOf(p, "users-secret").Projected
			projected.Sources = append(projected.Sources, corev1.VolumeProjection{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"},
			})
		})},
		{"a token in the place of the users", "pods", volumes, withCredentials(func(p *corev1.PodSpec) {
			volumeOf(p, "users-secret").Projected.Sources = []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			}
		})},
		{"the cluster node in the place of the certificate", "pods", volumes, withCredentials(func(p *corev1.PodSpec) {
			volumeOf(p, "tls-secret").VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		})},
		{"all keys of a Secret as a certificate", "pods", keys, withCredentials(func(p *corev1.PodSpec) {
			volumeOf(p, "tls-secret").Projected.Sources[0].Secret.Items = nil
		})},
		{"another key as the certificate", "pods", keys, withCredentials(func(p *corev1.PodSpec) {
			volumeOf(p, "tls-secret").Projected.Sources[0].Secret.Items[0].Key = "password"
		})},
		{"memory without a limit", "pods", volumes, withCredentials(func(p *corev1.PodSpec) { volumeOf(p, "credentials").EmptyDir.SizeLimit = nil })},
		{"much memory", "pods", volumes, withCredentials(func(p *corev1.PodSpec) {
			volumeOf(p, "credentials").EmptyDir.SizeLimit = ptr.To(resource.MustParse("1Gi"))
		})},
		{"memory with a limit of nothing, which is none", "pods", volumes, withCredentials(func(p *corev1.PodSpec) {
			volumeOf(p, "credentials").EmptyDir.SizeLimit = ptr.To(resource.MustParse("0"))
		})},
		{"credentials on the disk of the cluster node", "pods", volumes, withCredentials(func(p *corev1.PodSpec) {
			volumeOf(p, "credentials").EmptyDir.Medium = corev1.StorageMediumDefault
		})},
	}
}

// optionEscalations weaken TLS, or make memcached or the agent use other files, ports or hosts.
func optionEscalations() []podEscalation {
	const program = "containers[0].command, args: must run memcached with the options of the operator"
	const agent, probe = "initContainers[].command, args: must run the agent with the options of the operator", "must be httpGet of /livez, /readyz and /startupz"
	replace := func(old, by string) func(*appsv1.Deployment) {
		return withCredentials(func(p *corev1.PodSpec) {
			for _, c := range []*corev1.Container{&p.Containers[0], &p.InitContainers[0]} {
				for i := range c.Args {
					c.Args[i] = strings.ReplaceAll(c.Args[i], old, by)
				}
			}
		})
	}
	return []podEscalation{
		{"clients without a certificate", "containers", program, replace("ssl_verify_mode=2", "ssl_verify_mode=1")},
		{"an old version of TLS", "containers", program, replace("ssl_min_version=2", "ssl_min_version=0")},
		{"a certificate from elsewhere", "containers", program, replace("/run/memcached/current/tls.crt", "/tmp/tls.crt")},
		{"users from elsewhere", "containers", program, replace("/run/memcached/current/users", "/etc/passwd")},
		{"TLS without TLS", "containers", program, withCredentials(func(p *corev1.PodSpec) {
			c := &p.Containers[0]
			at := slices.Index(c.Args, "-Z")
			c.Args = slices.Delete(c.Args, at, at+3)
		})},
		{"another port", "containers", program, replace("*:11212", "*:22")},
		{"a port of another container", "containers", "must be ports 11211 and 11212 of memcached", withCredentials(func(p *corev1.PodSpec) {
			p.Containers[0].Ports[0].ContainerPort = 9150
		})},
		{"an agent that reads another folder", "containers", agent, replace("--users-secret=/etc/memcached-agent/users", "--users-secret=/var/run/secrets")},
		{"an agent that writes elsewhere", "containers", agent, replace("--credentials=/run/memcached", "--credentials=/tmp")},
		{"an agent that proves another host", "containers", agent, replace("--tls=127.0.0.1:11212", "--tls=203.0.113.7:443")},
		{"an agent whose start is asked of another host", "containers", probe, withCredentials(func(p *corev1.PodSpec) {
			p.InitContainers[0].StartupProbe.HTTPGet.Host = "169.254.169.254"
		})},
	}
}
