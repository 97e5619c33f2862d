// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// user is the user ID and the group ID of memcached's official image.
const user = int64(11211)

// PodSpec returns the common part of the pods of nodes and proxies. With omitRunAsUser, the cluster chooses the user ID, as OpenShift
// does. The label with the key rollout differs between rollouts. The key is empty if no pods of two rollouts exist side by side.
func (r Role) PodSpec(
	scheduling cachev1alpha1.MemcachedScheduling, registries []corev1.LocalObjectReference, omitRunAsUser bool, rollout string,
) corev1.PodSpec {
	return corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		EnableServiceLinks:           ptr.To(false),
		SecurityContext:              podSecurityContext(omitRunAsUser),
		ImagePullSecrets:             registries,
		NodeSelector:                 nodeSelector(scheduling.NodeSelector),
		Tolerations:                  scheduling.Tolerations,
		Affinity:                     scheduling.Affinity,
		PriorityClassName:            scheduling.PriorityClassName,
		TopologySpreadConstraints:    topologySpread(scheduling.TopologySpreadConstraints, r.Selector, rollout),
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

// Restricted returns a container's part of the security context for the Pod Security level "restricted". The pod's security context
// has the other part.
func Restricted() *corev1.SecurityContext {
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

// Hash returns a hash of a value, such as a pod template.
func Hash(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err)) // impossible, because callers pass only Kubernetes' types
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// WithAPIDefaults adds the API server's defaults to a template. Then any other field in the live template was set by somebody else.
// The template's hash is computed without the defaults, because another hash would replace every pod.
func WithAPIDefaults(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
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
