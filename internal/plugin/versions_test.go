// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The condition Progressing shows newer versions only if no other reason, such as a rollout, takes precedence.
func TestOutdated(t *testing.T) {
	for reason, want := range map[string]string{
		cachev1alpha1.ReasonComplete:               "no",
		cachev1alpha1.ReasonNewerDefaultsAvailable: "the message",
		cachev1alpha1.ReasonUnsupportedVersion:     "the message",
		cachev1alpha1.ReasonPaused:                 "- (Paused)",
		cachev1alpha1.ReasonStuck:                  "- (Stuck)",
		cachev1alpha1.ReasonRollingOut:             "- (RollingOut)",
		cachev1alpha1.ReasonScaling:                "- (Scaling)",
		cachev1alpha1.ReasonWaitingForDeletion:     "- (WaitingForDeletion)",
		cachev1alpha1.ReasonWaitingForOperator:     "- (WaitingForOperator)",
	} {
		mc := &cachev1alpha1.Memcached{}
		if got := outdated(mc).text; got != "-" {
			t.Errorf("no condition: got %q", got)
		}
		mc.Status.Conditions = []metav1.Condition{{Type: cachev1alpha1.ConditionProgressing, Reason: reason, Message: "the message"}}
		if got := outdated(mc).text; got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
}
