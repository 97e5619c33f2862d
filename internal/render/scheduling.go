// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// This API's types for scheduling have the same fields as Kubernetes' types, but limit the values: see ADR-0003.

// Annotations returns the user's annotations, or nil.
func Annotations(metadata cachev1alpha1.Metadata) map[string]string {
	if metadata.Annotations == nil {
		return nil
	}
	annotations := make(map[string]string, len(metadata.Annotations))
	for key, value := range metadata.Annotations {
		annotations[key] = string(value)
	}
	return annotations
}

// each converts the elements of a list. It returns nil for nil.
func each[From, To any](list []From, convert func(From) To) []To {
	if list == nil {
		return nil
	}
	converted := make([]To, len(list))
	for i, element := range list {
		converted[i] = convert(element)
	}
	return converted
}

// optional converts the value behind a pointer. It returns nil for nil.
func optional[From, To any](value *From, convert func(From) To) *To {
	if value == nil {
		return nil
	}
	converted := convert(*value)
	return &converted
}

func tolerations(wanted []cachev1alpha1.Toleration) []corev1.Toleration {
	return each(wanted, func(t cachev1alpha1.Toleration) corev1.Toleration { return corev1.Toleration(t) })
}

func affinity(wanted *cachev1alpha1.Affinity) *corev1.Affinity {
	return optional(wanted, func(a cachev1alpha1.Affinity) corev1.Affinity {
		return corev1.Affinity{
			NodeAffinity: optional(a.NodeAffinity, nodeAffinity),
			PodAffinity: optional(a.PodAffinity, func(p cachev1alpha1.PodAffinity) corev1.PodAffinity {
				return corev1.PodAffinity(podAffinity(p))
			}),
			PodAntiAffinity: optional(a.PodAntiAffinity, podAffinity),
		}
	})
}

func nodeAffinity(wanted cachev1alpha1.NodeAffinity) corev1.NodeAffinity {
	return corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: optional(wanted.RequiredDuringSchedulingIgnoredDuringExecution,
			func(s cachev1alpha1.NodeSelector) corev1.NodeSelector {
				return corev1.NodeSelector{NodeSelectorTerms: each(s.NodeSelectorTerms, nodeSelectorTerm)}
			}),
		PreferredDuringSchedulingIgnoredDuringExecution: each(wanted.PreferredDuringSchedulingIgnoredDuringExecution,
			func(t cachev1alpha1.PreferredNodeTerm) corev1.PreferredSchedulingTerm {
				return corev1.PreferredSchedulingTerm{Weight: t.Weight, Preference: nodeSelectorTerm(t.Preference)}
			}),
	}
}

func nodeSelectorTerm(wanted cachev1alpha1.NodeSelectorTerm) corev1.NodeSelectorTerm {
	requirement := func(r cachev1alpha1.NodeSelectorRequirement) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement(r)
	}
	return corev1.NodeSelectorTerm{
		MatchExpressions: each(wanted.MatchExpressions, requirement),
		MatchFields:      each(wanted.MatchFields, requirement),
	}
}

// podAffinity converts to PodAntiAffinity. Callers can convert the result to PodAffinity, which has the same fields.
func podAffinity(wanted cachev1alpha1.PodAffinity) corev1.PodAntiAffinity {
	return corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: each(wanted.RequiredDuringSchedulingIgnoredDuringExecution, podAffinityTerm),
		PreferredDuringSchedulingIgnoredDuringExecution: each(wanted.PreferredDuringSchedulingIgnoredDuringExecution,
			func(t cachev1alpha1.WeightedPodTerm) corev1.WeightedPodAffinityTerm {
				return corev1.WeightedPodAffinityTerm{Weight: t.Weight, PodAffinityTerm: podAffinityTerm(t.PodAffinityTerm)}
			}),
	}
}

// podAffinityTerm leaves out namespaces and namespaceSelector, because terms must not refer to pods of other namespaces.
func podAffinityTerm(wanted cachev1alpha1.PodAffinityTerm) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		LabelSelector:     optional(wanted.LabelSelector, LabelSelector),
		TopologyKey:       wanted.TopologyKey,
		MatchLabelKeys:    wanted.MatchLabelKeys,
		MismatchLabelKeys: wanted.MismatchLabelKeys,
	}
}

// LabelSelector converts a label selector to Kubernetes' type.
func LabelSelector(wanted cachev1alpha1.LabelSelector) metav1.LabelSelector {
	selector := metav1.LabelSelector{
		MatchExpressions: each(wanted.MatchExpressions, func(r cachev1alpha1.LabelSelectorRequirement) metav1.LabelSelectorRequirement {
			return metav1.LabelSelectorRequirement(r)
		}),
	}
	if wanted.MatchLabels != nil {
		selector.MatchLabels = make(map[string]string, len(wanted.MatchLabels))
		for key, value := range wanted.MatchLabels {
			selector.MatchLabels[key] = string(value)
		}
	}
	return selector
}

// SpreadConstraints converts topology spread constraints to Kubernetes' type.
func SpreadConstraints(wanted []cachev1alpha1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	return each(wanted, func(c cachev1alpha1.TopologySpreadConstraint) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew:            c.MaxSkew,
			TopologyKey:        c.TopologyKey,
			WhenUnsatisfiable:  c.WhenUnsatisfiable,
			LabelSelector:      optional(c.LabelSelector, LabelSelector),
			MinDomains:         c.MinDomains,
			NodeAffinityPolicy: c.NodeAffinityPolicy,
			NodeTaintsPolicy:   c.NodeTaintsPolicy,
			MatchLabelKeys:     c.MatchLabelKeys,
		}
	})
}
