// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

var permissionMutations = map[string]mutation{
	"a permission more": {
		func(b *bundle) {
			rules := &b.csv.Spec.InstallStrategy.StrategySpec.Permissions[0].Rules
			*rules = append(*rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
		}, `include "get secrets"`,
	},
	"a permission less": {
		func(b *bundle) {
			rules := &b.csv.Spec.InstallStrategy.StrategySpec.Permissions[0].Rules
			*rules = (*rules)[1:]
		}, `lack "create coordination.k8s.io/leases"`,
	},
	"a permission for the whole cluster": {
		func(b *bundle) {
			strategy := &b.csv.Spec.InstallStrategy.StrategySpec
			strategy.ClusterPermissions = append(strategy.ClusterPermissions, strategy.Permissions...)
		}, `cluster permissions include "create apps/deployments"`,
	},
	"a role of people that grants more": {
		func(b *bundle) {
			b.needed.people["memcached-operator-metrics-reader"] = nil
		}, `include "get /metrics"`,
	},
	"a role of people that is not shipped": {
		func(b *bundle) { object(b, "ClusterRole").SetName("other") }, "has no ClusterRole memcached-operator-",
	},
}
