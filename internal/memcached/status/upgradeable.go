// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// reasonNoRollout is the reason why the operator may be upgraded. While it may not, the reason is that of the rollouts.
const reasonNoRollout = "NoRollout"

// Rollout is a Memcached that is RollingOut.
type Rollout struct {
	*cachev1alpha1.Memcached

	// Unchanged is for how long its status has been the same.
	Unchanged time.Duration
}

// RollingOut reports whether nodes of a Memcached are being replaced, according to its status. Nodes that are started for the
// first time, added or removed are not: they have no data yet, or are not replaced.
func RollingOut(mc *cachev1alpha1.Memcached) bool {
	progressing := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionProgressing)
	return progressing != nil && progressing.Status == metav1.ConditionTrue &&
		progressing.Reason == cachev1alpha1.ReasonRollingOut
}

// Upgradeable reports whether the operator may be upgraded: not while a rollout progresses. It has no type.
func Upgradeable(rollouts []Rollout) metav1.Condition {
	var names []string
	for _, rollout := range rollouts {
		if !rollout.stale() {
			names = append(names, rollout.Namespace+"/"+rollout.Name)
		}
	}
	if len(names) == 0 {
		return metav1.Condition{
			Status: metav1.ConditionTrue, Reason: reasonNoRollout, Message: "No nodes are being replaced",
		}
	}
	return metav1.Condition{
		Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonRollingOut, Message: replacing(names),
	}
}

// stale reports that a status should long since have changed: the rollout goes on or is stuck. An operator that cannot write a
// status may need the very upgrade that the rollout would hold back.
func (r Rollout) stale() bool {
	const grace = 5 * time.Minute
	return r.Unchanged > time.Duration(memcached.ProgressDeadlineSeconds(r.Memcached))*time.Second+grace
}

// replacing names some of the Memcached resources, always in the same order.
func replacing(names []string) string {
	const most = 3
	slices.Sort(names)
	shown, resources := strings.Join(names[:min(most, len(names))], ", "), "resources"
	if len(names) > most {
		shown += fmt.Sprintf(" and %d more", len(names)-most)
	}
	if len(names) == 1 {
		resources = "resource"
	}
	return fmt.Sprintf("Nodes of %d Memcached %s are being replaced: %s", len(names), resources, shown)
}
