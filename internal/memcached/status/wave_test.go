// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRestartsInPlace has three nodes that are ready, and get another configuration one by one, which does not show in their pods.
func TestRestartsInPlace(t *testing.T) {
	const blocked = "The operator cannot ask the node cache-2"
	const stuck = "No node has come, gone or changed for 10 minutes; to see why: kubectl describe statefulset cache -n shop"
	for name, test := range map[string]struct {
		wave memcached.Wave
		// ago is since when the status says that it goes on, and moved is when the last node has restarted.
		ago, moved time.Duration
		paused     bool
		want       string
		updated    int32
	}{
		"at rest":           {want: complete, updated: 3},
		"one has restarted": {memcached.Wave{Open: true, Done: 1}, time.Minute, 0, false, "True RollingOut: Restarting in place: 1 of 3 nodes run the new configuration", 1},
		"one does not answer": {
			memcached.Wave{Open: true, Done: 1, Blocked: blocked}, time.Minute, time.Minute, false, "True RollingOut: " + blocked, 1,
		},
		"nothing happens": {memcached.Wave{Open: true, Done: 1}, time.Hour, 11 * time.Minute, false, "False Stuck: " + stuck, 1},
		"it takes long, and goes on": {
			memcached.Wave{Open: true, Done: 2},
			time.Hour, time.Minute, false,
			"True RollingOut: Restarting in place: 2 of 3 nodes run the new configuration", 2,
		},
		"one does not answer for long": {
			memcached.Wave{Open: true, Done: 1, Blocked: blocked}, time.Hour, time.Hour, false, "False Stuck: " + blocked, 1,
		},
		"a pause": {memcached.Wave{Open: true}, time.Minute, 0, true, "False Paused: spec.paused holds changes back; there are none now", 0},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, inStatefulSet, progressing(metav1.ConditionTrue, cachev1alpha1.ReasonRollingOut, noon.Add(-test.ago)))
			mc.Spec.Paused = test.paused
			set := makeStatefulSet(t, mc, setCounts(3, 3, 3))
			set.CreationTimestamp = metav1.NewTime(noon.Add(-24 * time.Hour))
			view := memcached.NewView(mc, memcached.Observed{Children: []client.Object{set}, Pods: setPods("a", "a", "a")}, noon)
			plan := desired.For(view, memcachedtest.Options)
			plan.Wave = test.wave
			for i := range view.Pods {
				view.Pods[i].UID = "pod"
			}
			view.Answers = memcached.Answers{"pod": {Status: protocol.Status{Since: noon.Add(-test.moved)}}}
			status := For(view, plan, memcached.Written{Objects: []client.Object{set}})
			condition := conditionOf(status, cachev1alpha1.ConditionProgressing)
			if got := string(condition.Status) + " " + condition.Reason + ": " + condition.Message; got != test.want || status.UpdatedReplicas != test.updated {
				t.Errorf("%s, %d are updated", got, status.UpdatedReplicas)
			}
		})
	}
}
