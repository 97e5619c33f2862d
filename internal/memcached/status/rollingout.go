// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// RollingOut reports whether the status shows that nodes are being replaced or changed. Adding nodes, removing them or starting
// them for the first time does not count.
func RollingOut(mc *cachev1alpha1.Memcached) bool {
	progressing := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionProgressing)
	return progressing != nil && progressing.Status == metav1.ConditionTrue &&
		(progressing.Reason == cachev1alpha1.ReasonRollingOut || progressing.Reason == cachev1alpha1.ReasonUpdatingInPlace)
}
