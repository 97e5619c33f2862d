// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	containerName = "memcached"
	// port is memcached's registered port; portName is what the Service and the probes call it.
	port     = 11211
	portName = "memcached"
	// user is the uid and gid of the official memcached image.
	user = int64(11211)
	// defaultPreStopDelay and shutdownSeconds add up to the termination grace period: memcached exits within a second of
	// SIGTERM, so what remains is for a kubelet that is late.
	defaultPreStopDelay = 5
	shutdownSeconds     = 30
)

// podTemplate is the template of the pods. A difference in what it returns replaces every node, so a change of it is a
// change of the product: the golden files guard it.
func podTemplate(mc *cachev1alpha1.Memcached, opts Options, defaults podDefaults) corev1.PodTemplateSpec {
	scheduling := mc.Spec.Scheduling
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      labelsOf(mc, mc.Spec.PodMetadata.Labels),
			Annotations: annotationsOf(mc.Spec.PodMetadata),
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			SecurityContext:               podSecurityContext(opts),
			ImagePullSecrets:              imagePullSecrets(mc),
			TerminationGracePeriodSeconds: ptr.To(int64(preStopDelay(mc)) + shutdownSeconds),
			NodeSelector:                  nodeSelector(mc),
			Tolerations:                   tolerations(scheduling.Tolerations),
			Affinity:                      affinity(scheduling.Affinity),
			TopologySpreadConstraints:     topologySpread(mc),
			PriorityClassName:             scheduling.PriorityClassName,
			Containers:                    []corev1.Container{container(mc, defaults)},
		},
	}
}

func container(mc *cachev1alpha1.Memcached, defaults podDefaults) corev1.Container {
	image := mc.Spec.Image
	if image == "" {
		image = defaults.Images[containerName]
	}
	pullPolicy := mc.Spec.ImagePullPolicy
	if pullPolicy == "" {
		pullPolicy = corev1.PullIfNotPresent
	}
	return corev1.Container{
		Name:            containerName,
		Image:           image,
		ImagePullPolicy: pullPolicy,
		Command:         []string{"memcached"},
		Args:            args(mc),
		Ports:           []corev1.ContainerPort{{Name: portName, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Resources:       resources(mc, defaults),
		// A TCP connect is the only check that works whatever a later version puts in front of the commands, and that a busy
		// memcached passes. A restart loses a share of the cache, so it takes a minute of refused connections.
		ReadinessProbe: tcpProbe(5, 3),
		// The first probe often comes before memcached listens. Without this one the node would serve 5 s later than it could.
		StartupProbe:  tcpProbe(1, 60),
		LivenessProbe: tcpProbe(10, 6),
		Lifecycle:     lifecycle(mc),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

func tcpProbe(period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(portName)}},
		PeriodSeconds:    period,
		TimeoutSeconds:   5,
		SuccessThreshold: 1,
		FailureThreshold: failures,
	}
}

func podSecurityContext(opts Options) *corev1.PodSecurityContext {
	security := &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !opts.OmitRunAsUser {
		security.RunAsUser, security.RunAsGroup = ptr.To(user), ptr.To(user)
	}
	return security
}

// resources has the memory limit that is given or computed. What has a limit and no request is requested as much as it is
// limited. For memory that is a must, since memory that is promised but not there means a killed node, and a lost share of
// the cache; for the others it is what the API server makes of pods, written out so that it is seen and stays.
func resources(mc *cachev1alpha1.Memcached, defaults podDefaults) corev1.ResourceRequirements {
	wanted := mc.Spec.Resources
	resources := corev1.ResourceRequirements{Limits: rounded(wanted.Limits), Requests: rounded(wanted.Requests)}
	limit, given := givenMemoryLimit(mc)
	if !given && defaults.MemoryLimit != "" {
		limit = resource.MustParse(defaults.MemoryLimit)
	}
	resources.Limits[corev1.ResourceMemory] = roundedUp(corev1.ResourceMemory, limit)
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = limit
		}
	}
	return resources
}

// givenMemoryLimit is the memory limit that the spec gives: a request alone is the limit too.
func givenMemoryLimit(mc *cachev1alpha1.Memcached) (resource.Quantity, bool) {
	if limit, ok := mc.Spec.Resources.Limits[corev1.ResourceMemory]; ok {
		return limit, true
	}
	request, ok := mc.Spec.Resources.Requests[corev1.ResourceMemory]
	return request, ok
}

// rounded is a list as the API server stores it: it rounds every quantity up to thousandths. If we applied something
// else, each reconcile would find a difference and write.
func rounded(list corev1.ResourceList) corev1.ResourceList {
	result := make(corev1.ResourceList, len(list))
	for name, quantity := range list {
		result[name] = roundedUp(name, quantity)
	}
	return result
}

// roundedUp rounds CPU up to thousandths and bytes to whole ones: the API server warns of thousandths of a byte.
func roundedUp(name corev1.ResourceName, quantity resource.Quantity) resource.Quantity {
	scale := resource.Scale(0)
	if name == corev1.ResourceCPU {
		scale = resource.Milli
	}
	result := quantity.DeepCopy()
	result.RoundUp(scale)
	return result
}

// lifecycle lets a node that leaves go on serving until clients and DNS have learnt of it: memcached itself exits at once
// on SIGTERM, and drains nothing.
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

// nodeSelector keeps the nodes off Windows, where the image does not run. The value that the user gives counts, though:
// no field is overruled in silence.
func nodeSelector(mc *cachev1alpha1.Memcached) map[string]string {
	selector := map[string]string{corev1.LabelOSStable: "linux"}
	maps.Copy(selector, mc.Spec.Scheduling.NodeSelector)
	return selector
}

func imagePullSecrets(mc *cachev1alpha1.Memcached) []corev1.LocalObjectReference {
	var secrets []corev1.LocalObjectReference
	for _, secret := range mc.Spec.ImagePullSecrets {
		secrets = append(secrets, corev1.LocalObjectReference{Name: secret.Name})
	}
	return secrets
}

// topologySpread spreads the nodes over hosts and zones as far as possible, so that the loss of one takes as little of
// the cache as possible. The pods of each rollout are spread among themselves. A constraint of the user that does not say
// which pods it is about is about the nodes; Kubernetes would take it for one about none, and it would spread nothing.
func topologySpread(mc *cachev1alpha1.Memcached) []corev1.TopologySpreadConstraint {
	constraints := spreadConstraints(mc.Spec.Scheduling.TopologySpreadConstraints)
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: selectorLabels(mc)}
		}
	}
	if len(constraints) > 0 {
		return constraints
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		constraints = append(constraints, corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: selectorLabels(mc)},
			MatchLabelKeys:    []string{"pod-template-hash"},
		})
	}
	return constraints
}
