// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/clustertest"
)

// permission is a verb that RBAC grants the operator.
type permission struct {
	// namespace is where the permission applies, or "" if it applies in all namespaces.
	namespace string
	// resource begins with its API group, as in "apps/deployments", unless that is the core group.
	resource, verb string
}

// unusedPermissions says why the operator needs permissions that it does not use in the suite.
var unusedPermissions = map[permission]string{
	{"", "cache.example.com/memcacheds/finalizers", "update"}:       "OpenShift requires it for owner references that block deletion",
	{"", "cache.example.com/memcachedproxies/finalizers", "update"}: "the same",
	{"", "events.k8s.io/events", "patch"}:                           "an event that is sent again becomes a series",
	{operatorNamespace, "events", "create"}:                         "leader election reports the leader",
	{operatorNamespace, "events", "patch"}:                          "leader election reports it again",
}

var suiteBegan = time.Now()

// specFailed is set when a spec has failed. The operator may then have had no occasion to use some permissions.
var specFailed bool

var _ = ReportAfterEach(func(report SpecReport) { specFailed = specFailed || report.Failed() })

// Over the whole suite, RBAC refuses no request of the operator, and the operator uses every permission. The use is checked only if all
// specs have passed, and only specs with the label "measured" were filtered out. useOf and unusedPermissions have the exceptions. The
// roles still exist here, because the cleanup of BeforeSuite uninstalls the operator later.
var _ = AfterSuite(func(ctx SpecContext) {
	if clusterDir == "" || k8s == nil {
		return
	}
	granted := permissionsOf(ctx, operatorNamespace)
	refused := useOf(granted, operatorUser(operatorNamespace), suiteBegan)
	unused, table := listUse(granted)
	AddReportEntry("Requests by permission of the operator", table, ReportEntryVisibilityAlways)

	Expect(refused).To(BeEmpty(), "requests of the operator that its roles do not grant")
	for p := range granted {
		Expect([]string{p.resource, p.verb}).NotTo(ContainElement(ContainSubstring("*")), "no permission has a wildcard")
		Expect(p.resource).NotTo(HavePrefix("secrets"))
	}
	suite, _ := GinkgoConfiguration()
	filters := slices.Concat(suite.FocusStrings, suite.SkipStrings, suite.FocusFiles, suite.SkipFiles)
	if specFailed || len(filters) > 0 || suite.LabelFilter != "!"+measured {
		return
	}
	Expect(unused).To(BeEmpty(), "permissions of the operator that it never uses\n%s", table)
})

// permissionsOf returns the permissions that the operator in a namespace has everywhere or in this namespace, each with zero uses.
func permissionsOf(ctx context.Context, namespace string) map[permission]int {
	GinkgoHelper()
	granted := map[permission]int{}
	var everywhere rbacv1.ClusterRoleBindingList
	var somewhere rbacv1.RoleBindingList
	Expect(k8s.List(ctx, &everywhere)).To(Succeed())
	// In other namespaces, specs may have bound a role for changes in place.
	Expect(k8s.List(ctx, &somewhere, client.InNamespace(namespace))).To(Succeed())
	operator := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: operatorDeployment}
	for _, binding := range everywhere.Items {
		if slices.Contains(binding.Subjects, operator) {
			addRules(granted, "", rulesOf(ctx, "", binding.RoleRef))
		}
	}
	for _, binding := range somewhere.Items {
		if slices.Contains(binding.Subjects, operator) {
			addRules(granted, binding.Namespace, rulesOf(ctx, binding.Namespace, binding.RoleRef))
		}
	}
	Expect(granted).NotTo(BeEmpty())
	return granted
}

func rulesOf(ctx context.Context, namespace string, ref rbacv1.RoleRef) []rbacv1.PolicyRule {
	GinkgoHelper()
	if ref.Kind == "Role" {
		var role rbacv1.Role
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &role)).To(Succeed())
		return role.Rules
	}
	var role rbacv1.ClusterRole
	Expect(k8s.Get(ctx, client.ObjectKey{Name: ref.Name}, &role)).To(Succeed())
	return role.Rules
}

func addRules(granted map[permission]int, namespace string, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[permission{namespace, inGroup(group, resource), verb}] = 0
				}
			}
		}
		for _, url := range rule.NonResourceURLs {
			for _, verb := range rule.Verbs {
				granted[permission{"", url, verb}] = 0
			}
		}
	}
}

// useOf counts the requests of a user by permission, and adds the counts to the map granted. It returns how often each request was
// refused by RBAC, or allowed by no permission in granted. Refusals during the periods apiServerAway and helmUninstalls do not count.
func useOf(granted map[permission]int, user string, since time.Time) (refused map[string]int) {
	refused = map[string]int{}
	for event := range requestsOf(user, since) {
		received := event.RequestReceivedTimestamp.Time
		if denied(event) && (apiServerAway.contains(received) || slices.ContainsFunc(helmUninstalls, within(received))) {
			continue
		}
		resource := resourceOf(event)
		if resource == "" && !denied(event) {
			continue // discovery, which everybody may read
		}
		for _, verb := range verbsOf(event) {
			everywhere := permission{"", cmp.Or(resource, event.RequestURI), verb}
			here := everywhere
			if event.ObjectRef != nil {
				here.namespace = event.ObjectRef.Namespace
			}
			_, isEverywhere := granted[everywhere]
			_, isHere := granted[here]
			if !denied(event) && verb == "patch" && (here.resource == "pods" || here.resource == "pods/resize") {
				continue // the role for changes in place allows this: a spec has bound it in its namespace
			}
			switch {
			case denied(event) || !isEverywhere && !isHere:
				refused[fmt.Sprintf("%s %s %s", verb, here.resource, here.namespace)]++
			case isHere:
				granted[here]++
			default:
				granted[everywhere]++
			}
		}
	}
	return refused
}

// listUse returns the permissions that the operator has not used, except those in unusedPermissions. It also returns a
// table of all permissions and their uses.
func listUse(granted map[permission]int) (unused []string, table string) {
	rows := [][]string{{"verb", "resource", "namespace", "requests"}}
	sorted := slices.SortedFunc(maps.Keys(granted), func(a, b permission) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb))
	})
	for _, p := range sorted {
		use := strconv.Itoa(granted[p])
		why, allowed := unusedPermissions[p]
		switch {
		case granted[p] > 0:
		case allowed:
			use = "0: " + why
		default:
			unused = append(unused, p.verb+" "+p.resource)
		}
		rows = append(rows, []string{p.verb, p.resource, cmp.Or(p.namespace, "(all)"), use})
	}
	return unused, clustertest.Tabulate(rows)
}
