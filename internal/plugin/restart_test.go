// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// operatorReports returns a world that simulates the operator during a restart of the cache "pages". Each read of the restarting cache
// returns the conditions of the next state, and later reads repeat the last state.
func operatorReports(t *testing.T, states ...[]metav1.Condition) *world {
	t.Helper()
	reads := 0
	return newWorld(t, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := c.Get(ctx, key, object, options...); err != nil {
				return err
			}
			mc, isMemcached := object.(*cachev1alpha1.Memcached)
			if !isMemcached || mc.Spec.RestartedAt == nil {
				return nil
			}
			mc.Status.Conditions = states[min(reads, len(states)-1)]
			reads++
			mc.Status.UpdatedReplicas = int32(min(reads, 2))
			return nil
		},
	})
}

func conditionOf(conditionType, reason string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{Type: conditionType, Reason: reason, Status: status, ObservedGeneration: generation, Message: "no room"}
}

// rolling, replaced, overdue and degraded return conditions that the operator has set for this generation.
func rolling(generation int64) []metav1.Condition {
	return []metav1.Condition{
		conditionOf("Ready", "RollingOut", "False", generation), conditionOf("Progressing", "RollingOut", "True", generation),
		conditionOf("Degraded", "AsExpected", "False", generation), conditionOf("Reconciling", "RollingOut", "True", generation),
	}
}

func replaced(generation int64) []metav1.Condition {
	return []metav1.Condition{
		conditionOf("Ready", "AllNodesReady", "True", generation), conditionOf("Progressing", "Complete", "False", generation),
		conditionOf("Degraded", "AsExpected", "False", generation),
	}
}

func overdue(generation int64) []metav1.Condition {
	return []metav1.Condition{
		conditionOf("Ready", "Stuck", "False", generation), conditionOf("Progressing", "Stuck", "False", generation),
		conditionOf("Degraded", "AsExpected", "False", generation), conditionOf("Stalled", "Stuck", "True", generation),
	}
}

func degraded(generation int64) []metav1.Condition {
	return []metav1.Condition{
		conditionOf("Ready", "NodesCrashing", "False", generation), conditionOf("Progressing", "Stuck", "False", generation),
		conditionOf("Degraded", "NodesCrashing", "True", generation), conditionOf("Stalled", "NodesCrashing", "True", generation),
	}
}

func TestRestartWaits(t *testing.T) {
	w := operatorReports(t, rolling(1), replaced(1))
	compare(t, "restart-waits", "$ kubectl memcached restart pages\n"+w.run(t, "y\n", "restart", "pages").String())
	var mc cachev1alpha1.Memcached
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "pages"}, &mc); err != nil {
		t.Fatal(err)
	}
	if !mc.Spec.RestartedAt.Time.Equal(now) {
		t.Errorf("spec.restartedAt is %s, want %s", mc.Spec.RestartedAt, now)
	}
}

// The command also waits while a node crashes, because the restart may repair the node.
func TestRestartOfACrashingNode(t *testing.T) {
	w := operatorReports(t, degraded(1), degraded(1), rolling(1), replaced(1))
	compare(t, "restart-repairs", "$ kubectl memcached restart pages\n"+w.run(t, "y\n", "restart", "pages").String())
}

func TestRestartThatGetsStuck(t *testing.T) {
	w := operatorReports(t, rolling(1), overdue(1))
	if got := w.run(t, "", "restart", "pages", "--yes"); got.code != 1 || !strings.Contains(got.stderr, "error: the restart cannot go on: no room") {
		t.Errorf("got %s", got)
	}
}

func TestRestartProgress(t *testing.T) {
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		line       string
		done       bool
	}{
		"not seen": {nil, "waiting for the operator", false},
		"old":      {replaced(1), "waiting for the operator", false},
		"rolling":  {rolling(2), "1 of 3 nodes have restarted, 2 are ready: RollingOut", false},
		"done":     {replaced(2), "1 of 3 nodes have restarted and are ready", true},
		"degraded": {degraded(2), "1 of 3 nodes have restarted, 2 are ready: NodesCrashing: no room", false},
	} {
		mc := &cachev1alpha1.Memcached{
			Spec:   cachev1alpha1.MemcachedSpec{Size: 3},
			Status: cachev1alpha1.MemcachedStatus{UpdatedReplicas: 1, ReadyReplicas: 2, Conditions: test.conditions},
		}
		if line, done := restartProgress(mc, 2); line != test.line || done != test.done {
			t.Errorf("%s: got %q, %t", name, line, done)
		}
	}
}

// The deadline for progress is ten minutes plus minReadySeconds, here eleven minutes.
func TestRestartGivesUp(t *testing.T) {
	type look struct {
		minute         int
		updated, ready int32
		conditions     []metav1.Condition
	}
	for name, test := range map[string]struct {
		looks []look
		want  string
	}{
		"not seen":                  {[]look{{0, 0, 3, nil}}, ""},
		"overdue before the change": {[]look{{0, 0, 3, overdue(1)}}, ""},
		"overdue":                   {[]look{{0, 0, 3, overdue(2)}}, "no room"},
		"slow":                      {[]look{{0, 0, 3, rolling(2)}, {60, 0, 3, rolling(2)}}, ""},
		"degraded":                  {[]look{{0, 1, 2, degraded(2)}, {10, 1, 2, degraded(2)}}, ""},
		"degraded for too long":     {[]look{{0, 1, 2, degraded(2)}, {11, 1, 2, degraded(2)}}, "no room"},
		"degraded, but moves":       {[]look{{0, 0, 2, degraded(2)}, {9, 1, 2, degraded(2)}, {19, 1, 2, degraded(2)}}, ""},
		"degraded, but recovers":    {[]look{{0, 1, 2, degraded(2)}, {9, 1, 3, degraded(2)}, {19, 1, 3, degraded(2)}}, ""},
		"degraded twice":            {[]look{{0, 1, 2, degraded(2)}, {9, 1, 2, rolling(2)}, {19, 1, 2, degraded(2)}}, ""},
	} {
		var still standstill
		var got string
		for _, seen := range test.looks {
			mc := &cachev1alpha1.Memcached{
				Spec:   cachev1alpha1.MemcachedSpec{Size: 3, UpdateStrategy: cachev1alpha1.MemcachedUpdateStrategy{MinReadySeconds: 60}},
				Status: cachev1alpha1.MemcachedStatus{UpdatedReplicas: seen.updated, ReadyReplicas: seen.ready, Conditions: seen.conditions},
			}
			got = still.givesUp(mc, 2, now.Add(time.Duration(seen.minute)*time.Minute))
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestRestartThatEndsEarly covers events that end the wait for a restart before the restart is complete.
func TestRestartThatEndsEarly(t *testing.T) {
	for name, test := range map[string]struct {
		timeout string
		read    func(context.Context, *cachev1alpha1.Memcached) error
		want    string
	}{
		"a read that takes too long": {"20ms", func(ctx context.Context, _ *cachev1alpha1.Memcached) error {
			<-ctx.Done()
			return ctx.Err()
		}, "error: not all nodes have restarted within 20ms: the restart goes on"},
		"an API server that does not answer": {"0", func(context.Context, *cachev1alpha1.Memcached) error {
			return errors.New("connection refused")
		}, "error: cannot follow the restart: connection refused"},
		"another Memcached": {"0", func(_ context.Context, mc *cachev1alpha1.Memcached) error {
			mc.UID = "another"
			return nil
		}, "error: the restart cannot go on: somebody has deleted the Memcached and created it again"},
		"a paused Memcached": {"0", func(_ context.Context, mc *cachev1alpha1.Memcached) error {
			mc.Spec.Paused = true
			return nil
		}, "error: the restart cannot go on: spec.paused holds it back"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if err := c.Get(ctx, key, object, options...); err != nil {
						return err
					}
					if mc, isMemcached := object.(*cachev1alpha1.Memcached); isMemcached && mc.Spec.RestartedAt != nil {
						return test.read(ctx, mc)
					}
					return nil
				},
			})
			got := w.run(t, "", "restart", "pages", "--yes", "--timeout", test.timeout)
			if got.code != 1 || !strings.Contains(got.stderr, test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestRestartTakesTooLong(t *testing.T) {
	w := operatorReports(t, rolling(1))
	if got := w.run(t, "", "restart", "pages", "--yes", "--timeout=20ms"); got.code != 1 || !strings.Contains(got.stderr, "within 20ms") {
		t.Errorf("got %s", got)
	}
}

// A second restart within the same second must set a later time, because the same time would change nothing.
func TestRestartTwice(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	for range 2 {
		if got := w.run(t, "", "restart", "pages", "--yes", "--wait=false"); got.code != 0 {
			t.Fatal(got)
		}
	}
	var mc cachev1alpha1.Memcached
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "pages"}, &mc); err != nil {
		t.Fatal(err)
	}
	if want := now.Add(time.Second); !mc.Spec.RestartedAt.Time.Equal(want) {
		t.Errorf("spec.restartedAt is %s, want %s", mc.Spec.RestartedAt, want)
	}
}
