// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// RefusalReason returns the reason of Degraded for the API server's message about a refused object. Only the text of the message
// tells quotas, RBAC, policies and webhooks apart: they share status reasons, such as Forbidden. When a pod was refused, its
// workload reports only the text.
func RefusalReason(message string) string {
	switch {
	case strings.Contains(message, "exceeded quota"),
		strings.Contains(message, "failed quota"),
		strings.Contains(message, "status unknown for quota"),
		strings.Contains(message, "insufficient quota"):
		return cachev1alpha1.ReasonQuotaExceeded
	case strings.Contains(message, "violates PodSecurity"),
		strings.Contains(message, "admission webhook"),
		strings.Contains(message, "failed calling webhook"),
		strings.Contains(message, "denied request: "), // ValidatingAdmissionPolicy and MutatingAdmissionPolicy
		strings.Contains(message, "unable to validate against any security context constraint"),
		// Other admission plugins, such as LimitRange, PriorityClass and ServiceAccount. A message about missing permissions also
		// contains "is forbidden: ", but names the user.
		strings.Contains(message, "is forbidden: ") && !strings.Contains(message, `User "`) &&
			!strings.Contains(message, "not yet ready to handle request"): // the API server is starting
		return cachev1alpha1.ReasonAdmissionDenied
	default:
		return cachev1alpha1.ReasonApplyFailed
	}
}

// specFields maps fields of a workload or a NetworkPolicy to the Memcached's fields that set them.
var specFields = strings.NewReplacer(
	"spec.template.spec.affinity", "spec.scheduling.affinity",
	"spec.template.spec.imagePullSecrets", "spec.imagePullSecrets",
	"spec.template.spec.nodeSelector", "spec.scheduling.nodeSelector",
	"spec.template.spec.priorityClassName", "spec.scheduling.priorityClassName",
	"spec.template.spec.tolerations", "spec.scheduling.tolerations",
	"spec.template.spec.topologySpreadConstraints", "spec.scheduling.topologySpreadConstraints",
	"spec.template.annotations", "spec.podMetadata.annotations",
	"spec.template.labels", "spec.podMetadata.labels",
	"spec.strategy.rollingUpdate", "spec.updateStrategy",
	"spec.ingress[0].from", "spec.networkPolicy.from",
	"spec.ingress[1].from", "spec.networkPolicy.metricsFrom",
)

// NameSpecFields replaces names of an object's fields in a message by the names of the Memcached's fields that set them.
func NameSpecFields(message string) string { return specFields.Replace(message) }
