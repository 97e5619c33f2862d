// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// RefusalReason is the reason of the Degraded condition for the message with which the API server refuses an object. Quotas, RBAC,
// policies and webhooks answer with Forbidden, Invalid, BadRequest or InternalError, and with no cause that tells them apart: only
// their text does. Of the refusal of a pod, the workload has nothing but the text.
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
		// LimitRange, PriorityClass, ServiceAccount and other admission; a lack of permissions names the user.
		strings.Contains(message, "is forbidden: ") && !strings.Contains(message, `User "`) &&
			!strings.Contains(message, "not yet ready to handle request"): // an API server that starts
		return cachev1alpha1.ReasonAdmissionDenied
	default:
		return cachev1alpha1.ReasonApplyFailed
	}
}

// specFields are the fields of the Memcached that the fields of a workload follow from.
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
)

// NameSpecFields replaces field names of the workload in a message by those of the Memcached.
func NameSpecFields(message string) string { return specFields.Replace(message) }
