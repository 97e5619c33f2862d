// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests installs config/ in an API server, so that other tests can check what the installation permits. Its own tests
// check the files.
package manifests

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/testenv"
)

// Namespace is where config/default installs the operator. Account is the name of its service account and of its Deployment.
const (
	Namespace = "memcached-operator-system"
	Account   = "memcached-operator-controller-manager"
)

// timeout is how long this package waits for the API server. It is long enough for a loaded machine.
const timeout = "60s"

// Installation is an API server in which Apply installs everything but Deployments, because the tests run the operator themselves.
type Installation struct {
	Config *rest.Config
	// Admin has all permissions.
	Admin client.Client
}

// Start starts an API server, which stops at the end of the test. Each function in configure changes the envtest.Environment before
// the start.
func Start(t *testing.T, configure ...func(*envtest.Environment)) *Installation {
	t.Helper()
	g := NewWithT(t)
	environment := &envtest.Environment{Scheme: testenv.Scheme()}
	for _, change := range configure {
		change(environment)
	}
	config, err := environment.Start()
	t.Cleanup(func() { g.Expect(environment.Stop()).To(Succeed()) })
	g.Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	admin, err := client.New(config, client.Options{Scheme: testenv.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	return &Installation{Config: config, Admin: admin}
}

// Apply applies rendered objects, except Deployments. If the CustomResourceDefinitions are among them, it waits until the API server serves
// Memcacheds.
func (i *Installation) Apply(t *testing.T, objects kustomize.Objects) {
	t.Helper()
	g := NewWithT(t)
	defined := false
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			continue
		}
		defined = defined || object.GetKind() == "CustomResourceDefinition"
		apply := client.ApplyConfigurationFromUnstructured(object)
		g.Expect(i.Admin.Apply(t.Context(), apply, client.FieldOwner("admin"), client.ForceOwnership)).To(Succeed())
	}
	if defined {
		g.Eventually(func() error { return i.Admin.List(t.Context(), &cachev1alpha1.MemcachedList{}) }, timeout).Should(Succeed())
	}
}

// Token returns a token of a service account in the operator's namespace. It creates the account if needed.
func (i *Installation) Token(t *testing.T, name string) string {
	t.Helper()
	g := NewWithT(t)
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	g.Expect(client.IgnoreAlreadyExists(i.Admin.Create(t.Context(), serviceAccount))).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	g.Expect(i.Admin.SubResource("token").Create(t.Context(), serviceAccount, request)).To(Succeed())
	return request.Status.Token
}

// Kubeconfig writes a kubeconfig for a service account in the operator's namespace, and returns the path.
func (i *Installation) Kubeconfig(t *testing.T, account string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: i.Config.Host, CertificateAuthorityData: i.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: i.Token(t, account)}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	file := t.TempDir() + "/kubeconfig"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Conditions returns a function that reads the conditions of a Memcached. They are nil until the operator has written them.
func (i *Installation) Conditions(t *testing.T, mc *cachev1alpha1.Memcached) func() []metav1.Condition {
	return func() []metav1.Condition {
		if err := i.Admin.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
			t.Fatal(err)
		}
		if mc.Status.ObservedGeneration < 1 {
			return nil // the conditions are the API server's default
		}
		return mc.Status.Conditions
	}
}

// Leader returns the holder of this lease in the operator's namespace.
func (i *Installation) Leader(t *testing.T, lease string) string {
	t.Helper()
	held := &coordinationv1.Lease{}
	if err := i.Admin.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: lease}, held); err != nil {
		t.Fatal(err)
	}
	return *held.Spec.HolderIdentity
}

// TokenOfMetricsReader returns a token of a service account with the role memcached-operator-metrics-reader.
func (i *Installation) TokenOfMetricsReader(t *testing.T) string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "memcached-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: Namespace}},
	}
	if err := i.Admin.Create(t.Context(), binding); err != nil {
		t.Fatal(fmt.Errorf("bind the role: %w", err))
	}
	// The API server notices a new binding with a delay. Without this wait, the operator could cache a refusal for half a minute.
	NewWithT(t).Eventually(func(g Gomega) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  fmt.Sprintf("system:serviceaccount:%s:reader", Namespace),
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}}
		g.Expect(i.Admin.Create(t.Context(), review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(BeTrue())
	}, timeout).Should(Succeed())
	return i.Token(t, "reader")
}
