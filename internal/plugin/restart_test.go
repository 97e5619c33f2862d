// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// operatorReports returns a world whose operator reports these states of pages, one for each read after the restart.
func operatorReports(t *testing.T, states ...metav1.Condition) *world {
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
			state := states[min(reads, len(states)-1)]
			reads++
			mc.Status.UpdatedReplicas = int32(min(reads, 2))
			mc.Status.Conditions = []metav1.Condition{state}
			if state.Reason == cachev1alpha1.ReasonStuck {
				state.Type = cachev1alpha1.ConditionStalled
				mc.Status.Conditions = append(mc.Status.Conditions, state)
			}
			return nil
		},
	})
}

func ready(status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: cachev1alpha1.ConditionReady, Status: status, Reason: reason, ObservedGeneration: 1, Message: "no room"}
}

func TestRestartWaits(t *testing.T) {
	w := operatorReports(t, ready("False", cachev1alpha1.ReasonRollingOut), ready("True", cachev1alpha1.ReasonAllNodesReady))
	compare(t, "restart-waits", "$ kubectl memcached restart pages\n"+w.run(t, "y\n", "restart", "pages").String())
	var mc cachev1alpha1.Memcached
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "pages"}, &mc); err != nil {
		t.Fatal(err)
	}
	if !mc.Spec.RestartedAt.Time.Equal(now) {
		t.Errorf("spec.restartedAt is %s, want %s", mc.Spec.RestartedAt, now)
	}
}

func TestRestartThatGetsStuck(t *testing.T) {
	w := operatorReports(t, ready("False", cachev1alpha1.ReasonRollingOut), ready("False", cachev1alpha1.ReasonStuck))
	if got := w.run(t, "", "restart", "pages", "--yes"); got.code != 1 || !strings.Contains(got.stderr, "error: the restart cannot go on: no room") {
		t.Errorf("got %s", got)
	}
}

func TestRestartTakesTooLong(t *testing.T) {
	w := operatorReports(t, ready("False", cachev1alpha1.ReasonRollingOut))
	if got := w.run(t, "", "restart", "pages", "--yes", "--timeout=20ms"); got.code != 1 || !strings.Contains(got.stderr, "within 20ms") {
		t.Errorf("got %s", got)
	}
}

// A second restart within a second needs another time, or it would be none.
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
