// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

const (
	// shutdownSeconds plus the delay before the shutdown is the termination grace period. memcached exits within a second of
	// SIGTERM; the rest is for a slow kubelet.
	shutdownSeconds = 30
)

// podTemplate returns the pod template. Any difference in it replaces every node, so changing it is a change of the product,
// guarded by golden files.
func podTemplate(mc *cachev1alpha1.Memcached, opts memcached.Options, defaults podDefaults) corev1.PodTemplateSpec {
	scheduling := mc.Spec.Scheduling
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      labelsOf(mc, mc.Spec.PodMetadata.Labels),
			Annotations: podAnnotations(mc),
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			ShareProcessNamespace:         agentOf(mc, defaults).ShareProcesses(),
			SecurityContext:               render.PodSecurityContext(opts.OmitRunAsUser),
			ImagePullSecrets:              render.PullSecrets(mc.Spec.ImagePullSecrets),
			TerminationGracePeriodSeconds: ptr.To(int64(preStopDelay(mc)) + shutdownSeconds),
			NodeSelector:                  render.NodeSelector(scheduling.NodeSelector),
			Tolerations:                   render.Tolerations(scheduling.Tolerations),
			Affinity:                      render.Affinity(scheduling.Affinity),
			TopologySpreadConstraints:     topologySpread(mc),
			PriorityClassName:             scheduling.PriorityClassName,
			InitContainers:                append(launchers(mc, defaults), agents(mc, defaults)...),
			Containers:                    []corev1.Container{container(mc, defaults)},
			Volumes:                       append(launcherVolumes(mc), agentOf(mc, defaults).Volumes()...),
		},
	}
}

// templateHash is the hash of the pod template that the spec alone determines. A memory limit that is computed follows from the memory
// for items.
func templateHash(mc *cachev1alpha1.Memcached, opts memcached.Options) string {
	template := podTemplate(mc, opts, podDefaults{})
	if _, given := givenMemoryLimit(mc); hasLauncher(mc) && !given {
		return hashOf([]any{template, sizingOf(mc).memory})
	}
	return hashOf(template)
}
