// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// agentName is the container whose image is the one of the agent, in both of its roles.
const agentName = memcached.AgentContainerName

const (
	// preStopSeconds is how long a deleted proxy continues to serve, so that clients and kube-proxy can notice the deletion.
	preStopSeconds = 5
	// shutdownSeconds is the rest of the termination grace period, after preStopSeconds.
	shutdownSeconds = 30
)

// deploymentOf returns the Deployment. Proxies store nothing, so a new one starts before an old one stops. The problem is why no
// pods of this spec may be created, or nil.
func deploymentOf(v View, opts memcached.Options) (*appsv1.Deployment, *memcached.Problem) {
	proxy := v.Proxy
	hash := templateHash(proxy, opts)
	defaults, kept := defaultsOf(v, opts, hash)
	problem := memcached.CheckPriority(proxy.Spec.Scheduling, opts).And(memcached.CheckAgentImage("A proxy", defaults.Images[agentName]))
	if !kept {
		problem = problem.And(checkMemoryLimit(proxy))
	}
	record := memcached.Record{Template: hash, Defaults: defaults}
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	return role(proxy).Deployment(record, v.Size(), 0, one, none, podTemplate(proxy, opts, defaults)), problem
}

// defaultsOf returns the settings that the operator chooses because the spec leaves them open. It keeps the settings of running
// pods until the spec requires new pods, so that an upgrade of the operator replaces no pod.
func defaultsOf(v View, opts memcached.Options, hash string) (defaults memcached.Defaults, kept bool) {
	if live := v.Workload(); live != nil {
		record := memcached.RecordOf(live)
		_, unreadable := resource.ParseQuantity(cmp.Or(record.MemoryLimit, "0"))
		if record.Template == hash && record.Images[agentName] != "" && unreadable == nil {
			return record.Defaults, true
		}
	}
	defaults = memcached.Defaults{Images: map[string]string{
		agentName: opts.AgentImage,
	}}
	if v.Proxy.Spec.Image == "" {
		defaults.Images[memcached.ContainerName] = opts.DefaultImage
	}
	if _, given := render.MemoryLimit(v.Proxy.Spec.Resources); !given {
		defaults.MemoryLimit = model(v.Proxy).String()
	}
	return defaults, false
}

// templateHash returns the hash of the pod template without the settings in memcached.Defaults.
func templateHash(proxy *cachev1alpha1.MemcachedProxy, opts memcached.Options) string {
	return render.Hash(podTemplate(proxy, opts, memcached.Defaults{}))
}

func podLabels(proxy *cachev1alpha1.MemcachedProxy) map[string]string {
	return role(proxy).Labels(proxy.Spec.PodMetadata.Labels)
}

// podTemplate returns the template of the pods. It does not depend on the pools, because the routes are in a ConfigMap.
func podTemplate(
	proxy *cachev1alpha1.MemcachedProxy, opts memcached.Options, defaults memcached.Defaults,
) corev1.PodTemplateSpec {
	image := defaults.Images[agentName]
	spec := role(proxy).PodSpec(
		proxy.Spec.Scheduling, proxy.Spec.ImagePullSecrets, opts.OmitRunAsUser, appsv1.DefaultDeploymentUniqueLabelKey)
	spec.TerminationGracePeriodSeconds = ptr.To(int64(preStopSeconds + shutdownSeconds))
	// Every second, memcached's parent looks up the nodes that DNS does not know, so no lookup may take longer.
	spec.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{
		{Name: "timeout", Value: ptr.To("1")}, {Name: "attempts", Value: ptr.To("1")},
	}}
	spec.Containers = []corev1.Container{container(proxy, defaults)}
	// The program and its files take a few megabytes.
	render.Parent(&spec, "proxy", "64Mi", "routes", proxy.Name+RoutesSuffix, corev1.ConfigMapVolumeSourceDefaultMode)
	render.ProbeParent(&spec.Containers[0])
	render.Agent{Image: image, TLS: proxy.Spec.TLS, Beside: proxy.Spec.Resources, Proxy: true}.AddTo(&spec)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: podLabels(proxy), Annotations: render.Annotations(proxy.Spec.PodMetadata)},
		Spec:       spec,
	}
}
