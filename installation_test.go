// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/testenv"
)

// installation is config/default, installed in an API server.
type installation struct {
	config *rest.Config
	admin  client.Client
}

const (
	installed = "memcached-operator-system"
	account   = "memcached-operator-controller-manager"
)

// install installs everything in config/default but the Deployment, in whose place the tests run the manager.
func install(t *testing.T) installation {
	t.Helper()
	g := NewWithT(t)
	environment := &envtest.Environment{Scheme: testenv.Scheme()}
	config, err := environment.Start()
	t.Cleanup(func() { g.Expect(environment.Stop()).To(Succeed()) })
	g.Expect(err).NotTo(HaveOccurred())
	admin, err := client.New(config, client.Options{Scheme: testenv.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range kustomize.Render(t, "config/default") {
		if object.GetKind() != "Deployment" {
			g.Expect(admin.Create(t.Context(), object)).To(Succeed())
		}
	}
	return installation{config: config, admin: admin}
}

// token returns a token of a service account in the namespace of the operator, which is created.
func (i installation) token(t *testing.T, name string) string {
	t.Helper()
	g := NewWithT(t)
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: installed, Name: name}}
	g.Expect(client.IgnoreAlreadyExists(i.admin.Create(t.Context(), serviceAccount))).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	g.Expect(i.admin.SubResource("token").Create(t.Context(), serviceAccount, request)).To(Succeed())
	return request.Status.Token
}

// kubeconfig writes a kubeconfig with the permissions of a service account, no more.
func (i installation) kubeconfig(t *testing.T, account string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: i.config.Host, CertificateAuthorityData: i.config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: i.token(t, account)}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	file := t.TempDir() + "/kubeconfig"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// conditions returns what reads the conditions of a Memcached.
func (i installation) conditions(t *testing.T, mc *cachev1alpha1.Memcached) func() []metav1.Condition {
	return func() []metav1.Condition {
		if err := i.admin.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
			t.Fatal(err)
		}
		return mc.Status.Conditions
	}
}

// leader is who holds the lease.
func (i installation) leader(t *testing.T) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := i.admin.Get(t.Context(), client.ObjectKey{Namespace: installed, Name: leaderElectionID}, lease); err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

// tokenOfMetricsReader binds the role that the installation offers for this.
func (i installation) tokenOfMetricsReader(t *testing.T) string {
	t.Helper()
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "reader"},
		"roleRef": map[string]any{
			"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "memcached-operator-metrics-reader",
		},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "reader", "namespace": installed}},
	}}
	if err := i.admin.Create(t.Context(), binding); err != nil {
		t.Fatal(fmt.Errorf("bind the role: %w", err))
	}
	// The API server reads its roles by a watch, and the operator remembers a refusal for half a minute.
	NewWithT(t).Eventually(func(g Gomega) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  fmt.Sprintf("system:serviceaccount:%s:reader", installed),
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}}
		g.Expect(i.admin.Create(t.Context(), review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(BeTrue())
	}, "60s").Should(Succeed())
	return i.token(t, "reader")
}
