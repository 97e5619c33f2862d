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
	"a role of its own": {
		func(b *bundle) {
			role := object(b, "Service").DeepCopy()
			role.SetAPIVersion(rbacv1.SchemeGroupVersion.String())
			role.SetKind("ClusterRole")
			role.SetName("viewer")
			b.objects = append(b.objects, role)
		}, "has the ClusterRole viewer, which OLM would never remove",
	},
}
