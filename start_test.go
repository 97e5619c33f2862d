// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/manifests"
)

func (i installation) applyKind(t *testing.T, objects kustomize.Objects, kind string) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind {
			apply := client.ApplyConfigurationFromUnstructured(object)
			NewWithT(t).Expect(i.Admin.Apply(t.Context(), apply, client.FieldOwner("admin"))).To(Succeed())
		}
	}
}

// grant binds the rendered ClusterRoles to the manager's account in one namespace.
func (i installation) grant(t *testing.T, objects kustomize.Objects, namespace string) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" {
			continue
		}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object.GetName()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: object.GetName()},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: manifests.Namespace, Name: manifests.Account}},
		}
		NewWithT(t).Expect(i.Admin.Create(t.Context(), binding)).To(Succeed())
	}
}

// TestStart starts managers while the CRDs or permissions are missing.
func TestStart(t *testing.T) {
	i := installation{manifests.Start(t)}
	objects := kustomize.Render(t, "config/default")
	i.applyKind(t, objects, "ClusterRole")
	for _, name := range []string{manifests.Namespace, "shop"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		NewWithT(t).Expect(i.Admin.Create(t.Context(), namespace)).To(Succeed())
	}
	i.grant(t, objects, "shop")
	address := freeAddress(t)
	probe := func(path string) func() int {
		return func() int { code, _, _ := get(t, "http://"+address+path, ""); return code }
	}
	start := func() *manager {
		return command(t, []string{image, namespaceVariable + "=shop", "KUBECONFIG=" + i.Kubeconfig(t, manifests.Account)},
			"--health-probe-bind-address="+address)
	}
	m := start()

	t.Run("a manager names the CRD that is missing, and the next one starts", func(t *testing.T) {
		g := NewWithT(t)
		early := start()
		g.Expect(early.Run()).NotTo(Succeed())
		g.Expect(early.output()).To(ContainSubstring(`set up the controller, which needs the CRDs of this version: index Memcacheds by their twins`))
		i.applyKind(t, objects, "CustomResourceDefinition")
		g.Eventually(func() error { return i.Admin.List(t.Context(), &cachev1alpha1.MemcachedList{}) }, "60s").Should(Succeed())
		g.Expect(m.Start()).To(Succeed())
		g.Eventually(probe("/healthz"), "60s").Should(Equal(http.StatusOK), m.output)
	})

	t.Run("it serves its namespace, with permissions in no other", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(probe("/readyz"), "60s").Should(Equal(http.StatusOK), m.output)
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache"}}
		g.Expect(i.Admin.Create(t.Context(), mc)).To(Succeed())
		g.Eventually(i.Conditions(t, mc), "60s").ShouldNot(BeEmpty(), m.output)
		g.Expect(m.Process.Kill()).To(Succeed())
		g.Expect(m.Wait()).NotTo(Succeed())
	})
}
