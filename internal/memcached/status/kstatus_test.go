// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// unstructured returns the row's Memcached with its status, as a client without Go types reads it.
func (c statusCase) unstructured(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	mc := c.mc.DeepCopy()
	mc.Status = c.status(noon)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mc)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	return object
}

// kstatusOf maps the most important rows to the expected result. For the other rows, TestKstatus derives the result.
var kstatusOf = map[string]status.Status{
	"created":                                                  status.CurrentStatus,
	"created with size 0":                                      status.CurrentStatus,
	"the operator has a newer default image":                   status.CurrentStatus,
	"paused, nothing held back":                                status.CurrentStatus,
	"creating: one node is ready":                              status.InProgressStatus,
	"rolling out: the first node is being replaced":            status.InProgressStatus,
	"scaling down":                                             status.InProgressStatus,
	"a node is not ready":                                      status.InProgressStatus,
	"a larger size is held back":                               status.InProgressStatus,
	"the Service must be gone first, the nodes run":            status.InProgressStatus,
	"the rollout is overdue":                                   status.FailedStatus,
	"the rollout is overdue, and it is known why":              status.FailedStatus,
	"refused: Conflict":                                        status.FailedStatus,
	"the Service is refused, the rollout goes on":              status.InProgressStatus,
	"orphans of a former StatefulSet":                          status.FailedStatus,
	"there is no room":                                         status.FailedStatus,
	"degraded comes before paused":                             status.FailedStatus,
	"the Memcached is being deleted, its pods are still there": status.TerminatingStatus,
}

// TestKstatus uses the library of Flux, Helm and kpt. Current must mean Ready. While a change is in progress, the result must be
// InProgress, even if something else is wrong. Failed must mean that somebody has to act.
func TestKstatus(t *testing.T) {
	found := 0
	for _, c := range rows(t) {
		t.Run(c.name, func(t *testing.T) {
			want := status.InProgressStatus
			switch {
			case c.mc.DeletionTimestamp != nil:
				want = status.TerminatingStatus
			case strings.HasPrefix(c.ready, "True "):
				want = status.CurrentStatus
			case strings.HasPrefix(c.progressing, "True "): // InProgress, whatever else is wrong
			case strings.HasPrefix(c.degraded, "True "), strings.HasPrefix(c.progressing, "False Stuck"):
				want = status.FailedStatus
			}
			if explicit, ok := kstatusOf[c.name]; ok {
				found++
				want = explicit
			}
			got, err := status.Compute(c.unstructured(t))
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != want {
				t.Errorf("kstatus is %s (%s), not %s", got.Status, got.Message, want)
			}
			reason := strings.Fields(c.ready)[1]
			if got.Status == status.FailedStatus && got.Message != reason+" see the condition Ready" {
				t.Errorf("the message of kstatus is %q", got.Message)
			}
		})
	}
	if found != len(kstatusOf) {
		t.Errorf("%d of %d names are those of rows", found, len(kstatusOf))
	}
}

// TestKstatusOfOldStatus has a spec that the operator has not seen, because the operator does not run.
func TestKstatusOfOldStatus(t *testing.T) {
	mc := memcachedtest.Cache(3)
	c := statusCase{mc: mc, deployment: makeDeployment(t, mc, settled), pods: makePods(3)}
	object := c.unstructured(t)
	object.SetGeneration(memcachedtest.Generation + 1)
	got, err := status.Compute(object)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != status.InProgressStatus {
		t.Errorf("kstatus is %s: %s", got.Status, got.Message)
	}
}

// TestKstatusConditions expects one condition for kstatus, with the status True, while Ready is False, and none otherwise. This
// condition must change only together with the other conditions, so that it causes no additional write.
func TestKstatusConditions(t *testing.T) {
	known := map[string]string{}
	for _, c := range rows(t) {
		var others, own []string
		for _, condition := range c.status(noon).Conditions {
			text := fmt.Sprint(condition.Type, condition.Status, condition.Reason)
			switch condition.Type {
			case cachev1alpha1.ConditionReconciling, cachev1alpha1.ConditionStalled:
				own = append(own, text)
				if condition.Status != metav1.ConditionTrue {
					t.Errorf("%s: %s", c.name, text)
				}
			default:
				others = append(others, text)
			}
		}
		before, ok := known[fmt.Sprint(others)]
		if now := fmt.Sprint(own); ok && before != now {
			t.Errorf("%s: %v comes with %s, and with %s elsewhere", c.name, others, now, before)
		}
		known[fmt.Sprint(others)] = fmt.Sprint(own)
		if ready := strings.HasPrefix(c.ready, "False "); len(own) > 1 || (len(own) == 1) != ready {
			t.Errorf("%s: Ready is %q, and of kstatus there are %v", c.name, c.ready, own)
		}
	}
}
