// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// proxyWithTLS returns a change that gives a Deployment the pods of a MemcachedProxy with mutual TLS, and then modifies the pods.
func proxyWithTLS(change func(*corev1.PodSpec)) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: named(d.Name)}
		proxy.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: stable}}
		proxy.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "credentials", ClientAuth: cachev1alpha1.ClientAuthRequire}
		pool := &cachev1alpha1.Memcached{ObjectMeta: named(stable)}
		pool.Spec.Workload, pool.Status.ObservedGeneration, pool.Status.Servers = cachev1alpha1.WorkloadStatefulSet, 1, make([]string, 3)
		plan := memcachedproxy.For(memcachedproxy.View{Proxy: proxy, Pool: pool, Now: time.Now()},
			memcached.Options{DefaultImage: "docker.io/library/memcached:1.6.45", AgentImage: agentImage})
		for _, object := range plan.Objects {
			if rendered, ok := object.(*appsv1.Deployment); ok {
				d.Spec.Template.Spec = rendered.Spec.Template.Spec
			}
		}
		change(&d.Spec.Template.Spec)
	}
}

// proxyTLSEscalations reach Secrets beyond that of spec.tls, weaken TLS, or misuse the agent or the memory for credentials.
func proxyTLSEscalations() []podEscalation {
	const volumes, keys = "tls-secret with one Secret, and credentials in memory", "tls-secret of a proxy must hold tls.crt, tls.key and ca.crt only"
	const mounts, agent = "must be launcher, routes, credentials and, for the agent, tls-secret", "must run the agent of a proxy with the options of the operator"
	pod := func(name, message string, change func(*corev1.PodSpec)) podEscalation {
		return podEscalation{name: name, policy: "proxypods", message: message, change: proxyWithTLS(change)}
	}
	replace := func(old, by string) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) {
			for _, c := range []*corev1.Container{&p.Containers[0], &p.InitContainers[1]} {
				for i := range c.Args {
					c.Args[i] = strings.ReplaceAll(c.Args[i], old, by)
				}
			}
		}
	}
	return []podEscalation{
		pod("a token in the place of the certificate", volumes, func(p *corev1.PodSpec) {
			volumeOf(p, "tls-secret").Projected.Sources = []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			}
		}),
		pod("all keys of a Secret as a certificate", keys, func(p *corev1.PodSpec) {
			volumeOf(p, "tls-secret").Projected.Sources[0].Secret.Items = nil
		}),
		pod("another key as the certificate", keys, func(p *corev1.PodSpec) {
			volumeOf(p, "tls-secret").Projected.Sources[0].Secret.Items[0].Key = "password"
		}),
		pod("credentials on the disk", volumes, func(p *corev1.PodSpec) { volumeOf(p, "credentials").EmptyDir.Medium = corev1.StorageMediumDefault }),
		pod("much memory", volumes, func(p *corev1.PodSpec) {
			volumeOf(p, "credentials").EmptyDir.SizeLimit = ptr.To(resource.MustParse("1Gi"))
		}),
		pod("the Secret for memcached", mounts, func(p *corev1.PodSpec) {
			p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "tls-secret", MountPath: "/etc/memcached-agent/tls", ReadOnly: true})
		}),
		pod("credentials that memcached can change", mounts, func(p *corev1.PodSpec) { p.Containers[0].VolumeMounts[2].ReadOnly = false }),
		pod("an agent beside the launcher", mounts, func(p *corev1.PodSpec) {
			p.InitContainers[1].VolumeMounts = append(p.InitContainers[1].VolumeMounts, corev1.VolumeMount{Name: "launcher", MountPath: "/run/launcher"})
		}),
		pod("an old version of TLS", "a proxy runs memcached by the launcher", replace("--tls=1.2", "--tls=1.0")),
		pod("an agent that asks another host", agent, replace("--memcached=127.0.0.1:11211", "--memcached=203.0.113.7:80")),
		pod("an agent that asks another launcher", agent, replace("--launcher=127.0.0.1:9151", "--launcher=169.254.169.254:80")),
		pod("an agent that is another program", agent, func(p *corev1.PodSpec) { p.InitContainers[1].Command = []string{"sh"} }),
		pod("an agent that ends", agent, func(p *corev1.PodSpec) {
			p.InitContainers[1].RestartPolicy, p.InitContainers[1].StartupProbe = nil, nil
			p.InitContainers[1].LivenessProbe, p.InitContainers[1].ReadinessProbe = nil, nil
		}),
		pod("a probe of the agent that asks another host", "must be those of the agent of a proxy", func(p *corev1.PodSpec) {
			p.InitContainers[1].StartupProbe.HTTPGet.Host = "169.254.169.254"
		}),
	}
}
