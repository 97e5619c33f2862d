// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// KStatusConditions returns Reconciling or Stalled while Ready is False. Otherwise, also while a pause makes Ready Unknown, it
// returns no condition: sigs.k8s.io/cli-utils/pkg/kstatus treats an absent condition as False. The result depends only on the three
// given conditions. So it changes only when they change, and causes no additional write of the status.
func KStatusConditions(ready, progressing, degraded metav1.Condition) []metav1.Condition {
	condition := metav1.Condition{
		Type:    cachev1alpha1.ConditionReconciling,
		Status:  metav1.ConditionTrue,
		Reason:  ready.Reason,
		Message: ready.Reason + ": see the condition Ready",
	}
	switch {
	case ready.Status != metav1.ConditionFalse:
		return nil
	case progressing.Status == metav1.ConditionTrue: // a change that proceeds is not stalled, whatever else is wrong
	case degraded.Status == metav1.ConditionTrue, progressing.Reason == cachev1alpha1.ReasonStuck:
		condition.Type = cachev1alpha1.ConditionStalled
	}
	return []metav1.Condition{condition}
}
