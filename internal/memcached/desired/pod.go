// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

const (
	// The termination grace period is shutdownSeconds plus the delay before the shutdown. memcached exits within a second of SIGTERM.
	// The remaining seconds are for a slow kubelet.
	shutdownSeconds = 30
)

// podTemplate returns the pod template. If another version of the operator renders it differently, an upgrade replaces the nodes of
// all users. Golden files make such changes visible.
func podTemplate(mc *cachev1alpha1.Memcached, opts memcached.Options, defaults podDefaults) corev1.PodTemplateSpec {
	rollout := appsv1.DefaultDeploymentUniqueLabelKey
	if memcached.IsStatefulSet(mc) {
		rollout = appsv1.ControllerRevisionHashLabelKey
	}
	spec := role(mc).PodSpec(mc.Spec.Scheduling, mc.Spec.ImagePullSecrets, opts.OmitRunAsUser, rollout)
	spec.TerminationGracePeriodSeconds = ptr.To(int64(preStopDelay(mc)) + shutdownSeconds)
	spec.Containers = []corev1.Container{container(mc, defaults)}
	if memcached.IsStatefulSet(mc) {
		launch(&spec, mc)
		image := string(defaults.Images[memcached.AgentContainerName])
		render.Agent{Image: image, TLS: mc.Spec.TLS, Auth: mc.Spec.Auth, Beside: mc.Spec.Resources}.AddTo(&spec)
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: role(mc).Labels(mc.Spec.PodMetadata.Labels), Annotations: podAnnotations(mc, spec.Volumes)},
		Spec:       spec,
	}
}

// templateHash returns the hash of the pod template without the podDefaults. With a StatefulSet and without a memory limit in the spec,
// nothing in this template depends on the item memory: memcached's arguments are in the ConfigMap, and the computed memory limit is one of
// the podDefaults. In this case, the hash includes the item memory itself.
func templateHash(mc *cachev1alpha1.Memcached, opts memcached.Options) string {
	template := podTemplate(mc, opts, podDefaults{})
	if _, given := render.MemoryLimit(mc.Spec.Resources); memcached.IsStatefulSet(mc) && !given {
		return render.Hash([]any{template, sizingOf(mc).memory})
	}
	return render.Hash(template)
}
