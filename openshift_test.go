// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/manifests"
)

// TestOpenShift runs the manager with the permissions of config/default, first in a cluster without OpenShift's API group, then
// with it.
func TestOpenShift(t *testing.T) {
	installation := install(t)
	fixed, omitted := ptr.To(int64(11211)), (*int64)(nil)
	told := []string{"OMIT_RUN_AS_USER=true"}
	for _, row := range []struct {
		name      string
		openShift bool
		env, args []string
		want      *int64
	}{
		{name: "another cluster", want: fixed},
		{name: "another cluster, told that it is OpenShift", env: told, want: omitted},
		{name: "OpenShift", openShift: true, want: omitted},
		{name: "OpenShift, told by a flag that it is not", openShift: true, env: told, args: []string{"--omit-run-as-user=false"}, want: fixed},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.openShift {
				installation.becomeOpenShift(t)
			}
			NewWithT(t).Expect(installation.userOfPods(t, row.env, row.args)).To(Equal(row.want))
		})
	}
	t.Run("without the permission to ask nothing is guessed", func(t *testing.T) {
		g := NewWithT(t)
		discovery := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "system:discovery"}}
		g.Expect(installation.Admin.Delete(t.Context(), discovery)).To(Succeed())
		g.Eventually(installation.mayAsk(t), "60s").Should(BeFalse(), "the API server reads its roles by a watch")
		m := command(t, []string{image, "KUBECONFIG=" + installation.Kubeconfig(t, manifests.Account)}, "--health-probe-bind-address=0")
		g.Expect(m.Run()).NotTo(Succeed())
		g.Expect(m.output()).To(And(ContainSubstring("find out whether the cluster is OpenShift"), ContainSubstring("forbidden")))
	})
}

// becomeOpenShift gives the cluster the API group by which the manager recognizes OpenShift.
func (i installation) becomeOpenShift(t *testing.T) {
	t.Helper()
	const group, plural = "security.openshift.io", "securitycontextconstraints"
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "SecurityContextConstraints"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	g := NewWithT(t)
	_, err := envtest.InstallCRDs(i.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error {
		return discovery.NewDiscoveryClientForConfigOrDie(i.Config).RESTClient().Get().AbsPath("/apis", group).Do(t.Context()).Error()
	}, "60s").Should(Succeed())
}

// userOfPods runs a manager, and returns the user that it sets for the pods of a new Memcached.
func (i installation) userOfPods(t *testing.T, env, args []string) *int64 {
	t.Helper()
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	g.Expect(i.Admin.Create(t.Context(), namespace)).To(Succeed())
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "cache"}}
	g.Eventually(func() error { return i.Admin.Create(t.Context(), mc) }, "60s").Should(Succeed(), "the definition is new")
	env = append([]string{image, namespaceVariable + "=" + namespace.Name, "KUBECONFIG=" + i.Kubeconfig(t, manifests.Account)}, env...)
	m := command(t, env, append([]string{"--health-probe-bind-address=0"}, args...)...)
	g.Expect(m.Start()).To(Succeed())
	deployment := &appsv1.Deployment{}
	g.Eventually(func() error {
		return i.Admin.Get(t.Context(), client.ObjectKeyFromObject(mc), deployment)
	}, "60s").Should(Succeed(), m.output)
	g.Expect(m.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Expect(m.Wait()).To(Succeed(), m.output)
	g.Expect(m.output()).NotTo(ContainSubstring("forbidden"))
	return deployment.Spec.Template.Spec.SecurityContext.RunAsUser
}

// mayAsk returns a function that reports whether the manager may ask whether the cluster is OpenShift.
func (i installation) mayAsk(t *testing.T) func() bool {
	return func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  "system:serviceaccount:" + manifests.Namespace + ":" + manifests.Account,
			Groups:                []string{"system:authenticated", "system:serviceaccounts"},
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/apis/security.openshift.io", Verb: "get"},
		}}
		if err := i.Admin.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
}
