// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
)

var _ = DescribeTable("Power over the pods of other namespaces is refused with the field and the fix",
	func(ctx SpecContext, term string) {
		for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
			for list, item := range map[string]string{
				"requiredDuringSchedulingIgnoredDuringExecution":  "{%s}",
				"preferredDuringSchedulingIgnoredDuringExecution": "{weight: 1, podAffinityTerm: {%s}}",
			} {
				_, err := dryRunSpec(ctx, fmt.Sprintf("{size: 1, scheduling: {affinity: {%s: {%s: [%s]}}}}", kind, list, fmt.Sprintf(item, "topologyKey: a, "+term)))
				expectRefusal(err, "spec.scheduling.affinity: Invalid value: ", "spec.scheduling.affinity must have no terms with namespaces or "+
					"a namespaceSelector, as a Memcached has no say about the pods of others: remove them")
			}
		}
	},
	EntryDescription("%s"),
	Entry(nil, "namespaces: [default]"),
	Entry(nil, "namespaceSelector: {}"),
	Entry(nil, "namespaceSelector: {matchLabels: {team: a}}"),
)
