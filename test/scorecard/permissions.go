// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// permissions finds differences between the operator's permissions in the bundle and in config/, and RBAC objects in the bundle.
func permissions(b *bundle) []string {
	strategy := b.csv.Spec.InstallStrategy.StrategySpec
	wrong := compareRules("the operator's permissions in namespaces", b.needed.namespaced, granted(strategy.Permissions))
	wrong = append(wrong, compareRules("the operator's cluster permissions", b.needed.cluster, granted(strategy.ClusterPermissions))...)
	for _, object := range b.objects {
		if object.GroupVersionKind().Group == rbacv1.GroupName {
			wrong = append(wrong, fmt.Sprintf("the bundle has the %s %s, which OLM would never remove", object.GetKind(), object.GetName()))
		}
	}
	return wrong
}

func granted(all []operatorsv1alpha1.StrategyDeploymentPermissions) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, permissions := range all {
		rules = append(rules, permissions.Rules...)
	}
	return rules
}

// compareRules returns the differences between needed and granted rules, verb by verb. The first parameter says whose rules they are.
func compareRules(of string, needed, granted []rbacv1.PolicyRule) []string {
	want, got := verbs(needed), verbs(granted)
	var wrong []string
	for _, verb := range slices.Sorted(maps.Keys(want)) {
		if !got[verb] {
			wrong = append(wrong, fmt.Sprintf("%s lack %q", of, verb))
		}
	}
	for _, verb := range slices.Sorted(maps.Keys(got)) {
		if !want[verb] {
			wrong = append(wrong, fmt.Sprintf("%s include %q, which config/ does not have", of, verb))
		}
	}
	return wrong
}

// verbs splits rules into single permissions, such as "create apps/deployments" or "get /metrics".
func verbs(rules []rbacv1.PolicyRule) map[string]bool {
	all := map[string]bool{}
	for _, rule := range rules {
		names := strings.Join(rule.ResourceNames, ",")
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				all[verb+" "+url] = true
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					all[strings.TrimSpace(verb+" "+strings.TrimPrefix(group+"/"+resource, "/")+" "+names)] = true
				}
			}
		}
	}
	return all
}
