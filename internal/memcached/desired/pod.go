// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// The termination grace period is shutdownSeconds plus the delay before the shutdown. memcached exits within a second of SIGTERM.
// The remaining seconds are for a slow kubelet.
const shutdownSeconds = 30

// podTemplate returns the pod template of a copy. If another version of the operator renders it differently, an upgrade replaces the nodes
// of all users' Deployments. Golden files make such changes visible.
func podTemplate(mc *cachev1alpha1.Memcached, number int, opts memcached.Options, defaults podDefaults) corev1.PodTemplateSpec {
	rollout := appsv1.DefaultDeploymentUniqueLabelKey
	if memcached.IsStatefulSet(mc) {
		rollout = "" // a node stops before its successor starts
	}
	spec := nodeRole(mc).podSpec(opts, rollout)
	spec.TerminationGracePeriodSeconds = ptr.To(int64(preStopDelay(mc)) + shutdownSeconds)
	spec.Containers = []corev1.Container{container(mc, defaults)}
	if memcached.IsStatefulSet(mc) {
		launch(&spec, mc, number)
		agent{
			image: defaults.Images[memcached.AgentContainerName], tls: mc.Spec.TLS, auth: mc.Spec.Auth, resources: mc.Spec.Agent.Resources,
			beside: mc.Spec.Resources,
		}.addTo(&spec)
	}
	labels := nodeRole(mc).labels(mc.Spec.PodMetadata.Labels)
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
	return hashOf(podTemplate(mc, 0, opts, podDefaults{}))
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
		Resources: resourcesOf(mc.Spec.Resources, defaults.MemoryLimit),
		// The probes of a Deployment only open a TCP connection, which works even if memcached is busy. A restart loses a share of the
		// cache. So the liveness probe restarts memcached only after a minute of failures.
		ReadinessProbe: tcpProbe(mc, 5, 3),
		// The first readiness probe often comes before memcached listens. Without this startup probe, the second readiness probe would
		// follow only after 5 s.
		StartupProbe:    tcpProbe(mc, 1, 60),
		LivenessProbe:   tcpProbe(mc, 10, 6),
		Lifecycle:       lifecycle(mc),
		SecurityContext: restricted(),
	}
}

func tcpProbe(mc *cachev1alpha1.Memcached, period, failures int32) *corev1.Probe {
	port := intstr.FromString(memcached.ClientPorts(mc.Spec.TLS)[0].Name)
	return probe(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}, period, 5, failures)
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

// user is the user ID and the group ID of memcached's official image.
const user = int64(11211)

// podSpec returns the common part of the pods of nodes and proxies. The label with the key rollout differs between rollouts. The key is
// empty if no pods of two rollouts exist side by side.
func (r role) podSpec(opts memcached.Options, rollout string) corev1.PodSpec {
	scheduling := r.mc.Spec.Scheduling
	return corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		EnableServiceLinks:           ptr.To(false),
		SecurityContext:              podSecurityContext(opts.OmitRunAsUser),
		ImagePullSecrets:             r.mc.Spec.ImagePullSecrets,
		NodeSelector:                 nodeSelector(scheduling.NodeSelector),
		Tolerations:                  scheduling.Tolerations,
		Affinity:                     scheduling.Affinity,
		PriorityClassName:            scheduling.PriorityClassName,
		TopologySpreadConstraints:    topologySpread(scheduling.TopologySpreadConstraints, r.selector, rollout),
	}
}

func podSecurityContext(omitRunAsUser bool) *corev1.PodSecurityContext {
	security := &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !omitRunAsUser {
		security.RunAsUser, security.RunAsGroup = ptr.To(user), ptr.To(user)
	}
	return security
}

// restricted returns a container's part of the security context for the Pod Security level "restricted". The pod's security context
// has the other part.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// nodeSelector adds a selector of Linux to the user's selectors, because there is no image for Windows. The user's selectors have
// precedence.
func nodeSelector(wanted map[string]string) map[string]string {
	selector := map[string]string{corev1.LabelOSStable: "linux"}
	maps.Copy(selector, wanted)
	return selector
}

// topologySpread returns the user's constraints. A constraint without a label selector gets one for these pods, because Kubernetes
// would otherwise apply it to no pods. If the user has no constraints, the pods of each rollout spread over hosts and zones as far as
// possible, so that the loss of a host or zone costs the least.
func topologySpread(
	wanted []corev1.TopologySpreadConstraint, pods map[string]string, rollout string,
) []corev1.TopologySpreadConstraint {
	constraints := slices.Clone(wanted)
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: maps.Clone(pods)}
		}
	}
	if len(constraints) > 0 {
		return constraints
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		constraint := corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: maps.Clone(pods)},
		}
		if rollout != "" {
			constraint.MatchLabelKeys = []string{rollout}
		}
		constraints = append(constraints, constraint)
	}
	return constraints
}

// hashOf returns a hash of a value, such as a pod template.
func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err)) // impossible, because callers pass only Kubernetes' types
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// withAPIDefaults adds the API server's defaults to a template. Then any other field in the live template was set by somebody else.
// The template's hash is computed without the defaults, because another hash would replace every pod.
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
