// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const (
	// user is the uid and gid of the official memcached image.
	user = int64(11211)
	// shutdownSeconds and the delay before the shutdown add up to the termination grace period: memcached exits within a second of
	// SIGTERM, so what remains is for a kubelet that is late.
	shutdownSeconds = 30
)

// podTemplate is the template of the pods. A difference in what it returns replaces every node, so a change of it is a
// change of the product: the golden files guard it.
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
			ShareProcessNamespace:         shareProcesses(mc),
			SecurityContext:               podSecurityContext(opts),
			ImagePullSecrets:              imagePullSecrets(mc),
			TerminationGracePeriodSeconds: ptr.To(int64(preStopDelay(mc)) + shutdownSeconds),
			NodeSelector:                  nodeSelector(mc),
			Tolerations:                   tolerations(scheduling.Tolerations),
			Affinity:                      affinity(scheduling.Affinity),
			TopologySpreadConstraints:     topologySpread(mc),
			PriorityClassName:             scheduling.PriorityClassName,
			InitContainers:                append(launchers(mc, defaults), agents(mc, defaults)...),
			Containers:                    []corev1.Container{container(mc, defaults)},
			Volumes:                       append(launcherVolumes(mc), credentialVolumes(mc)...),
		},
	}
}

func podSecurityContext(opts memcached.Options) *corev1.PodSecurityContext {
	security := &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !opts.OmitRunAsUser {
		security.RunAsUser, security.RunAsGroup = ptr.To(user), ptr.To(user)
	}
	return security
}

func imagePullSecrets(mc *cachev1alpha1.Memcached) []corev1.LocalObjectReference {
	var secrets []corev1.LocalObjectReference
	for _, secret := range mc.Spec.ImagePullSecrets {
		secrets = append(secrets, corev1.LocalObjectReference{Name: secret.Name})
	}
	return secrets
}

// withAPIDefaults sets what the API server would: whatever else is in the spec of the pods is somebody else's. It is no part of the
// template's hash, of which another value replaces every node.
func withAPIDefaults(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	spec := &template.Spec
	spec.RestartPolicy, spec.DNSPolicy, spec.SchedulerName = corev1.RestartPolicyAlways, corev1.DNSClusterFirst, corev1.DefaultSchedulerName
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].TerminationMessagePath = corev1.TerminationMessagePathDefault
			containers[i].TerminationMessagePolicy = corev1.TerminationMessageReadFile
		}
	}
	return template
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
