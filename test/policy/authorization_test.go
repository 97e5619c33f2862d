// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// right is a verb on a resource in a namespace. Without a namespace, it is for all namespaces or for a cluster-scoped resource.
type right struct {
	verb, group, resource, subresource, namespace string
}

// forbidden are rights that the operator must not have. Several of them would make the operator a cluster administrator.
var forbidden = []right{
	{"get", "", "secrets", "", shop},
	{"list", "", "secrets", "", ""},
	{"watch", "", "secrets", "", operatorNamespace},
	{"update", "", "configmaps", "", shop},
	{"deletecollection", "", "configmaps", "", operatorNamespace},
	{"get", "", "pods", "", shop},
	{"create", "", "pods", "", shop},
	{"update", "", "pods", "", shop},
	{"deletecollection", "", "pods", "", shop},
	{"patch", "", "pods", "ephemeralcontainers", shop},
	{"create", "", "pods", "exec", shop},
	{"get", "", "pods", "exec", shop},
	{"create", "", "pods", "attach", shop},
	{"create", "", "pods", "portforward", shop},
	{"get", "", "pods", "log", shop},
	{"create", "", "pods", "eviction", shop},
	{"get", "", "nodes", "", ""},
	{"list", "", "nodes", "", ""},
	{"get", "", "nodes", "proxy", ""},
	{"create", "", "namespaces", "", ""},
	{"list", "", "namespaces", "", ""},
	{"create", "", "serviceaccounts", "", shop},
	{"create", "", "serviceaccounts", "token", operatorNamespace},
	{"create", "", "serviceaccounts", "token", "kube-system"},
	{"impersonate", "", "users", "", ""},
	{"impersonate", "", "groups", "", ""},
	{"impersonate", "", "serviceaccounts", "", "kube-system"},
	{"get", "", "services", "proxy", shop},
	{"update", "", "services", "", shop},
	{"delete", "", "services", "", shop},
	{"update", "apps", "deployments", "", shop},
	{"deletecollection", "apps", "deployments", "", shop},
	{"deletecollection", "apps", "statefulsets", "", shop},
	{"patch", "apps", "deployments", "scale", shop},
	{"create", "apps", "daemonsets", "", shop},
	{"update", "apps", "statefulsets", "", shop},
	{"patch", "apps", "statefulsets", "scale", shop},
	{"create", "apps", "replicasets", "", shop},
	{"create", "batch", "jobs", "", shop},
	{"deletecollection", "policy", "poddisruptionbudgets", "", shop},
	{"get", "cache.example.com", "memcacheds", "", shop},
	{"create", "cache.example.com", "memcacheds", "", shop},
	{"update", "cache.example.com", "memcacheds", "", shop},
	{"patch", "cache.example.com", "memcacheds", "", shop},
	{"delete", "cache.example.com", "memcacheds", "", shop},
	{"update", "cache.example.com", "memcacheds", "status", shop},
	{"create", "rbac.authorization.k8s.io", "clusterroles", "", ""},
	{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", ""},
	{"bind", "rbac.authorization.k8s.io", "clusterroles", "", ""},
	{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", ""},
	{"create", "rbac.authorization.k8s.io", "rolebindings", "", operatorNamespace},
	{"patch", "apiextensions.k8s.io", "customresourcedefinitions", "", ""},
	{"create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", ""},
	{"create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", ""},
	{"delete", "admissionregistration.k8s.io", "validatingadmissionpolicies", "", ""},
	{"delete", "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "", ""},
	{"create", "certificates.k8s.io", "certificatesigningrequests", "", ""},
	{"approve", "certificates.k8s.io", "signers", "", ""},
	{"create", "coordination.k8s.io", "leases", "", shop},
	{"update", "coordination.k8s.io", "leases", "", "kube-system"},
	{"list", "coordination.k8s.io", "leases", "", operatorNamespace},
	{"delete", "coordination.k8s.io", "leases", "", operatorNamespace},
	{"list", "authentication.k8s.io", "tokenreviews", "", ""},
	{"*", "*", "*", "", ""},
}

// The operator's roles must grant none of the forbidden rights. Requests without policies then prove that the API server enforces
// what its authorizer reports.
func TestRolesGrantNothingBeyond(t *testing.T) {
	i := install(t)
	for _, right := range forbidden {
		if i.may(t, right) {
			t.Errorf("the operator may %+v", right)
		}
	}
	for _, right := range []right{{"create", "apps", "deployments", "", shop}, {"update", "coordination.k8s.io", "leases", "", operatorNamespace}} {
		if !i.may(t, right) {
			t.Errorf("the operator may not %+v, so the other results prove nothing", right)
		}
	}
	t.Logf("%d rights", len(forbidden))
	i.createForeignObjects(t)
	i.createMemcacheds(t)
	for name, attempt := range refusedByRoles() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := attempt(t, i.operator)
			g.Expect(refused(err)).To(BeTrue(), "got %v", err)
			g.Expect(err).NotTo(MatchError(ContainSubstring("ValidatingAdmissionPolicy")))
		})
	}
}

// may asks the API server's authorizer whether the operator has a right, like kubectl auth can-i.
func (i *installation) may(t *testing.T, right right) bool {
	t.Helper()
	operator := i.asOperator().Impersonate
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: operator.UserName, Groups: operator.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: right.verb, Group: right.group, Resource: right.resource, Subresource: right.subresource, Namespace: right.namespace,
		},
	}}
	if err := i.admin.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func refusedByRoles() map[string]attempt {
	return map[string]attempt{
		"read Secrets":       func(t *testing.T, c client.Client) error { return c.List(t.Context(), &corev1.SecretList{}) },
		"create a Secret":    create(&corev1.Secret{ObjectMeta: named("mine")}),
		"create a pod":       create(newPod()),
		"hold a lease":       create(&coordinationv1.Lease{ObjectMeta: named("memcached-operator.cache.example.com")}),
		"get a token":        subresource("token", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: account}}, &authenticationv1.TokenRequest{}),
		"create a role":      create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}),
		"create a namespace": create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}),
	}
}
