// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// refusalOf returns what a user has to know about a node's refusal.
func refusalOf(n *node, action rollout.Action) *memcached.Problem {
	words := strings.TrimSuffix(n.Refused.Words, ".")
	if action == rollout.Assign {
		return &memcached.Problem{Reason: cachev1alpha1.ReasonChangeRefused, Message: fmt.Sprintf(
			"the node %s has refused the configuration and keeps its former one: %s; change spec.config", n.Name, words)}
	}
	reason, remedy := cachev1alpha1.ReasonChangeRefused, "Correct spec.resources"
	if action == rollout.SetImage {
		reason, remedy = cachev1alpha1.ReasonImagePullFailed, "Correct spec.image"
	}
	if _, last := n.asked.Refused.RetryIn(n.asked.Refused.At); !last {
		remedy += ", or wait: the operator tries again after 1, 5 and 30 minutes"
	}
	return &memcached.Problem{Reason: reason, Message: fmt.Sprintf(
		"Pod %s was not changed in place: %s. It keeps its former image and resources, and the other pods are left as they are. "+
			"This was try %d. %s", n.Name, words, n.Refused.Tries, remedy)}
}
