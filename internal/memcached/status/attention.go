// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

// attentionConditions returns the condition NeedsAttention if agents report a problem. An existing condition stays as it is until
// all agents have been asked: an operator that has just started knows no reports yet. It also stays if no agent reports a problem
// but some agents have not answered.
func attentionConditions(f facts) []metav1.Condition {
	last := meta.FindStatusCondition(f.Last.Conditions, cachev1alpha1.ConditionNeedsAttention)
	worst, words := findings(f)
	switch {
	case last != nil && (f.Agents.Pending || f.Agents.Unanswered && worst == ""):
		return []metav1.Condition{*last}
	case worst == "":
		return nil
	}
	return []metav1.Condition{{
		Type: cachev1alpha1.ConditionNeedsAttention, Status: metav1.ConditionTrue,
		Reason: worst, Message: strings.Join(words, "; "),
	}}
}

// findings returns the worst reason that agents report, or "", and each reported problem in words: the first pod that reports it, how many
// others do, and the message of the first in quotation marks.
func findings(f facts) (worst string, words []string) {
	for _, reason := range protocol.Reasons() {
		pod, others, message := "", 0, ""
		for _, report := range f.Agents.Nodes {
			i := slices.IndexFunc(report.Problems, func(p protocol.Problem) bool { return p.Reason == reason })
			switch {
			case i < 0:
			case pod == "":
				pod, message = report.Pod, report.Problems[i].Message
			default:
				others++
			}
		}
		if pod == "" {
			continue
		}
		says := " says"
		if others > 0 {
			says = fmt.Sprintf(" and %d more say", others)
		}
		worst, words = cmp.Or(worst, reason), append(words, "Pod "+pod+says+ofSecret(f.Memcached, reason)+": "+quoted(message))
	}
	return worst, words
}

// ofSecret names the Secret that causes a problem with this reason. It is empty if no Secret is the cause, or if it is unclear which
// one is.
func ofSecret(mc *cachev1alpha1.Memcached, reason string) string {
	switch reason {
	case protocol.ReasonInvalidCertificate, protocol.ReasonCertificateExpiring, protocol.ReasonCertificateNames:
		if mc.Spec.TLS != nil {
			return " of the Secret " + mc.Spec.TLS.SecretName
		}
	case protocol.ReasonInvalidCredentials:
		if mc.Spec.Auth != nil {
			return " of the Secret " + mc.Spec.Auth.SecretName
		}
	}
	return ""
}
