// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// podTemplate returns the pod template of a copy. If another version of the operator renders it differently, an upgrade replaces the nodes
// of all users' Deployments. Golden files make such changes visible.
func podTemplate(mc *cachev1alpha1.Memcached, number int, opts memcached.Options, defaults podDefaults) corev1.PodTemplateSpec {
	rollout := appsv1.DefaultDeploymentUniqueLabelKey
	if memcached.IsStatefulSet(mc) {
		rollout = "" // a node stops before its successor starts
	}
	spec := role(mc).PodSpec(mc.Spec.Scheduling, mc.Spec.ImagePullSecrets, opts.OmitRunAsUser, rollout)
	spec.TerminationGracePeriodSeconds = ptr.To(int64(preStopDelay(mc)) + shutdownSeconds)
	spec.Containers = []corev1.Container{container(mc, defaults)}
	if memcached.IsStatefulSet(mc) {
		launch(&spec, mc, number)
		image := defaults.Images[memcached.AgentContainerName]
		agent := render.Agent{Image: image, TLS: mc.Spec.TLS, Auth: mc.Spec.Auth, Resources: mc.Spec.Agent.Resources, Beside: mc.Spec.Resources}
		agent.AddTo(&spec)
	}
	labels := role(mc).Labels(mc.Spec.PodMetadata.Labels)
	maps.Copy(labels, memcached.CopyLabels(mc, number))
	if memcached.Copies(mc) > 1 && spec.Affinity == nil {
		spec.Affinity = apart(mc)
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: podAnnotations(mc, spec.Volumes)},
		Spec:       spec,
	}
}

// templateHash returns the hash of a Deployment's pod template without the podDefaults.
func templateHash(mc *cachev1alpha1.Memcached, opts memcached.Options) string {
	return render.Hash(podTemplate(mc, 0, opts, podDefaults{}))
}

// defaultPreStopDelay is the default time, in seconds, for which a node continues to serve after the deletion of its pod.
const defaultPreStopDelay = 5

func container(mc *cachev1alpha1.Memcached, defaults podDefaults) corev1.Container {
	return corev1.Container{
		Name:            memcached.ContainerName,
		Image:           cmp.Or(mc.Spec.Image, defaults.Images[memcached.ContainerName]),
		ImagePullPolicy: cmp.Or(mc.Spec.ImagePullPolicy, corev1.PullIfNotPresent),
		Command:         []string{"memcached"},
		Args:            args(mc),
		Ports:           memcached.ContainerPorts(memcached.ClientPorts(mc.Spec.TLS)),
		// The kernel kills a memcached that exceeds the memory limit, and its part of the cache is lost.
		Resources: render.Resources(mc.Spec.Resources, defaults.MemoryLimit),
		// The probes of a Deployment only open a TCP connection, which works even if memcached is busy. A restart loses a share of the
		// cache. So the liveness probe restarts memcached only after a minute of failures.
		ReadinessProbe: tcpProbe(mc, 5, 3),
		// The first readiness probe often comes before memcached listens. Without this startup probe, the second readiness probe would
		// follow only after 5 s.
		StartupProbe:    tcpProbe(mc, 1, 60),
		LivenessProbe:   tcpProbe(mc, 10, 6),
		Lifecycle:       lifecycle(mc),
		SecurityContext: render.Restricted(),
	}
}

func tcpProbe(mc *cachev1alpha1.Memcached, period, failures int32) *corev1.Probe {
	port := intstr.FromString(memcached.ClientPorts(mc.Spec.TLS)[0].Name)
	return render.Probe(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}, period, 5, failures)
}

// lifecycle delays the end of memcached until clients and DNS have noticed that the pod is being deleted. On SIGTERM, memcached
// exits at once.
func lifecycle(mc *cachev1alpha1.Memcached) *corev1.Lifecycle {
	delay := preStopDelay(mc)
	if delay == 0 {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(delay)}}}
}

func preStopDelay(mc *cachev1alpha1.Memcached) int32 {
	return ptr.Deref(mc.Spec.GracefulShutdown.PreStopDelaySeconds, defaultPreStopDelay)
}
