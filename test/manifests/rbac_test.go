// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/example/memcached-operator/test/kustomize"
)

// permissions maps an API group and resource, or a URL, to the sorted verbs.
type permissions map[string]string

func permissionsOf(t *testing.T, all kustomize.Objects, kind, name string) permissions {
	t.Helper()
	role := kustomize.Find[rbacv1.ClusterRole](t, all, kind, name) // a Role has the same rules
	got := permissions{}
	add := func(key string, verbs []string) {
		verbs = append(strings.Fields(got[key]), verbs...)
		slices.Sort(verbs)
		got[key] = strings.Join(slices.Compact(verbs), " ")
	}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				key := strings.TrimPrefix(group+"/"+resource, "/")
				if len(rule.ResourceNames) > 0 {
					key += " named " + strings.Join(rule.ResourceNames, ",")
				}
				add(key, rule.Verbs)
			}
		}
		for _, url := range rule.NonResourceURLs {
			add(url, rule.Verbs)
		}
	}
	return got
}

// managerPermissions are all permissions of the manager role. It has no Secret and no wildcard. It deletes pods, and what a change of a spec
// makes unnecessary. A new line needs a reason.
var managerPermissions = permissions{
	"cache.example.com/memcacheds":            "list watch",
	"cache.example.com/memcacheds/status":     "patch",
	"cache.example.com/memcacheds/finalizers": "update",
	"apps/deployments":                        "create delete get list patch watch",
	"apps/statefulsets":                       "create delete get list patch watch",
	"services":                                "create delete get list patch watch",
	"policy/poddisruptionbudgets":             "create delete get list patch watch",
	"networking.k8s.io/networkpolicies":       "create delete get list patch watch",
	"configmaps":                              "create delete get list patch watch",
	"pods":                                    "delete list watch",
	"pods/eviction":                           "create",            // with copies, the API server counts a replacement against the budget over all copies
	"events.k8s.io/events":                    "create list patch", // list: only the events of a StatefulSet say that its pods are refused
}

func TestPermissions(t *testing.T) {
	leaderElection := permissions{"coordination.k8s.io/leases": "create get update", "events": "create patch"}
	user := func(memcacheds, scale string) permissions {
		return permissions{
			"cache.example.com/memcacheds":        memcacheds,
			"cache.example.com/memcacheds/scale":  scale,
			"cache.example.com/memcacheds/status": "get",
		}
	}
	tests := map[string]map[string]permissions{
		"default": {
			"ClusterRole manager-role":  managerPermissions,
			"Role leader-election-role": leaderElection,
			"ClusterRole metrics-auth-role": {
				"authentication.k8s.io/tokenreviews":        "create",
				"authorization.k8s.io/subjectaccessreviews": "create",
			},
			"ClusterRole metrics-reader":        {"/metrics": "get"},
			"ClusterRole memcached-admin-role":  user("create delete deletecollection get list patch update watch", "get patch update"),
			"ClusterRole memcached-editor-role": user("create delete get list patch update watch", "get patch update"),
			"ClusterRole memcached-viewer-role": user("get list watch", "get"),
		},
		"namespaced": {
			"Role manager-role":         managerPermissions,
			"Role leader-election-role": leaderElection,
		},
	}
	for overlay, roles := range tests {
		all := kustomize.Render(t, config(overlay))
		rendered := 0
		for _, name := range all.Names() {
			if strings.HasPrefix(name, "Role ") || strings.HasPrefix(name, "ClusterRole ") {
				rendered++
			}
		}
		if rendered != len(roles) {
			t.Errorf("config/%s has %d roles, want %d", overlay, rendered, len(roles))
		}
		for role, want := range roles {
			kind, name, _ := strings.Cut(role, " ")
			if diff := cmp.Diff(want, permissionsOf(t, all, kind, "memcached-operator-"+name)); diff != "" {
				t.Errorf("config/%s, %s (-want +got):\n%s", overlay, role, diff)
			}
		}
	}
}

func TestUserRolesAreAggregated(t *testing.T) {
	all := kustomize.Render(t, config("default"))
	for role, into := range map[string]string{"admin": "admin", "editor": "edit", "viewer": "view"} {
		labels := kustomize.Find[rbacv1.ClusterRole](t, all, "ClusterRole", "memcached-operator-memcached-"+role+"-role").Labels
		if labels["rbac.authorization.k8s.io/aggregate-to-"+into] != "true" {
			t.Errorf("the role %s is not aggregated into %s: %v", role, into, labels)
		}
	}
}
