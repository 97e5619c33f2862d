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
// all users' Deployments. Golden files make such changes visible.
func podTemplate(mc *cachev1alpha1.Memcached, opts memcached.Options, defaults podDefaults) corev1.PodTemplateSpec {
	rollout := appsv1.DefaultDeploymentUniqueLabelKey
	if memcached.IsStatefulSet(mc) {
		rollout = "" // a node stops before its successor starts
	}
	spec := role(mc).PodSpec(mc.Spec.Scheduling, mc.Spec.ImagePullSecrets, opts.OmitRunAsUser, rollout)
	spec.TerminationGracePeriodSeconds = ptr.To(int64(preStopDelay(mc)) + shutdownSeconds)
	spec.Containers = []corev1.Container{container(mc, defaults)}
	if memcached.IsStatefulSet(mc) {
		launch(&spec, mc)
		image := defaults.Images[memcached.AgentContainerName]
		render.Agent{Image: image, TLS: mc.Spec.TLS, Auth: mc.Spec.Auth, Beside: mc.Spec.Resources}.AddTo(&spec)
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: role(mc).Labels(mc.Spec.PodMetadata.Labels), Annotations: podAnnotations(mc, spec.Volumes)},
		Spec:       spec,
	}
}

// templateHash returns the hash of a Deployment's pod template without the podDefaults.
func templateHash(mc *cachev1alpha1.Memcached, opts memcached.Options) string {
	return render.Hash(podTemplate(mc, opts, podDefaults{}))
}
