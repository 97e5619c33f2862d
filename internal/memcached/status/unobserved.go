// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// Unobserved returns the status of a Memcached if some of its objects could not be read. The problem says why. The counts and
// Available stay as in the last status, because it is unknown what exists. The observed generation stays, because the operator has
// not acted on the spec.
func Unobserved(v memcached.View, problem memcached.Problem) cachev1alpha1.MemcachedStatus {
	v.Agents.Pending = true // agents are asked only if everything could be read
	mc, f := v.Memcached, facts{View: v, Written: memcached.Written{Problem: &problem}}
	if mc.Spec.Paused {
		f.held = []string{"what cannot be read"}
	}
	status := *mc.Status.DeepCopy()
	status.Conditions = conditions(f)
	available := meta.FindStatusCondition(v.Last.Conditions, cachev1alpha1.ConditionAvailable)
	if available == nil {
		available = &metav1.Condition{
			Type:               cachev1alpha1.ConditionAvailable,
			Status:             metav1.ConditionUnknown,
			Reason:             cachev1alpha1.ReasonCreating,
			Message:            "The cluster has not reported on the nodes yet",
			ObservedGeneration: mc.Generation,
			LastTransitionTime: metav1.NewTime(v.Now.Truncate(time.Second)),
		}
	}
	i := slices.IndexFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == available.Type })
	status.Conditions[i] = *available
	return status
}
