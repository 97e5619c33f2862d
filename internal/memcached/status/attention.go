// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// attentionConditions returns the condition NeedsAttention if agents report a problem. An existing condition stays as it is until
// all agents have been asked: an operator that has just started knows no reports yet. It also stays if no agent reports a problem
// but some agents have not answered.
func attentionConditions(f facts) []metav1.Condition {
	last := meta.FindStatusCondition(f.Last.Conditions, cachev1alpha1.ConditionNeedsAttention)
	findings := memcached.Findings(f.Memcached, f.Agents.Nodes)
	switch {
	case last != nil && (f.Agents.Pending || f.Agents.Unanswered && len(findings) == 0):
		return []metav1.Condition{*last}
	case len(findings) == 0:
		return nil
	}
	var words []string
	for _, finding := range findings {
		words = append(words, inWords(finding))
	}
	return []metav1.Condition{{
		Type: cachev1alpha1.ConditionNeedsAttention, Status: metav1.ConditionTrue,
		Reason: findings[0].Reason, Message: strings.Join(words, "; "),
	}}
}

// inWords describes a finding: the first pod that reports it, how many others do, and the finding's message in quotation marks.
func inWords(finding memcached.Finding) string {
	says, more := "says", ""
	if others := len(finding.Pods) - 1; others > 0 {
		says, more = "say", fmt.Sprintf(" and %d more", others)
	}
	about := ""
	if finding.Secret != "" {
		about = " of the Secret " + finding.Secret
	}
	return fmt.Sprintf("Pod %s%s %s%s: %s", finding.Pods[0], more, says, about, quoted(finding.Message))
}
