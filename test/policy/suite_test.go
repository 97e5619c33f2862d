// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy_test proves the limits of the operator's service account. The admission policies in config/components must limit the
// account even if its roles allow everything. The roles must limit it even without policies. The package also proves that the operator
// works under both. Children are the objects that the operator creates for a Memcached or MemcachedProxy. The agent is a sidecar of
// memcached. The launcher is the program that starts memcached in the pods of a StatefulSet or of a MemcachedProxy.
package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/manifests"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	operatorNamespace = manifests.Namespace
	account           = manifests.Account
	// shop is the namespace of a user.
	shop = "shop"
	// timeout is how long a test waits for the API server or the operator. It is long enough for a loaded machine.
	timeout = "60s"
)

// installation is an API server with the operator's manifests, but without the operator. The field operator is a client that acts
// as the operator's service account.
type installation struct {
	config   *rest.Config
	minor    testenv.Minor
	admin    client.Client
	operator client.Client
}

// install starts an API server, and installs config/default without the Deployment and the policies.
func install(t *testing.T) *installation {
	t.Helper()
	g := NewWithT(t)
	ctrl.SetLogger(logr.Discard())
	// As on OpenShift: setting blockOwnerDeletion requires the permission to update the finalizers of the owner.
	started := manifests.Start(t, func(environment *envtest.Environment) {
		environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	})
	i := &installation{config: started.Config, admin: started.Admin}
	var err error
	i.minor, err = testenv.MinorOf(started.Config)
	g.Expect(err).NotTo(HaveOccurred())
	i.apply(t, slices.DeleteFunc(render(t, overlay{base: "default"}), func(object *unstructured.Unstructured) bool {
		return strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy")
	}))
	i.operator, err = client.New(i.asOperator(), client.Options{Scheme: testenv.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(i.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}})).To(Succeed())
	return i
}

func (i *installation) asOperator() *rest.Config {
	config := rest.CopyConfig(i.config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operatorNamespace + ":" + account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated"},
	}
	return config
}

// apply applies rendered objects, except the Deployment of the operator.
func (i *installation) apply(t *testing.T, objects kustomize.Objects) {
	t.Helper()
	(&manifests.Installation{Config: i.config, Admin: i.admin}).Apply(t, objects)
}

// grantEverything makes the operator a cluster administrator, so that only policies can refuse its requests.
func (i *installation) grantEverything(t *testing.T) *rbacv1.ClusterRoleBinding {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: account}},
	}
	g := NewWithT(t)
	g.Expect(i.admin.Create(t.Context(), binding)).To(Succeed())
	g.Eventually(t.Context(), func() error { return i.operator.List(t.Context(), &corev1.SecretList{}) }, timeout).Should(Succeed())
	return binding
}

// installPolicies installs config/default with all components except monitoring. It waits until each policy that it probes refuses a
// request.
func (i *installation) installPolicies(t *testing.T) {
	t.Helper()
	i.apply(t, render(t, overlay{base: "default", all: true}))
	NewWithT(t).Expect(client.IgnoreAlreadyExists(i.admin.Create(t.Context(), newPod()))).To(Succeed())
	for policy, probe := range map[string]attempt{
		"writes":     create(newSecret()),
		"children":   createService(func(s *corev1.Service) { s.OwnerReferences = nil }),
		"services":   createService(func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.7"} }),
		"configmaps": createConfigMap(setData("host", "example.org")),
		"pods":       createDeployment(hostPID),
		"containers": createDeployment(privileged),
		"deletions":  remove(newPod()),
		"images":     createDeployment(foreignImage),
	} {
		NewWithT(t).Eventually(t.Context(), func() error { return probe(t, i.operator) }, timeout).
			Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy 'memcached-operator-" + policy + "'")))
	}
	NewWithT(t).Eventually(t.Context(), func() error { return create(labelled("app"))(t, i.admin) }, timeout).
		Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy 'memcached-operator-metadata'")))
}

// overlay is a kustomization in config. The field base is the name of its folder. If namespace is set, a user's kustomization adds
// namespace and prefix.
type overlay struct {
	base              string
	all               bool
	namespace, prefix string
}

// render renders an overlay. If the field all is true, render first uncomments the components, as a user would.
func render(t *testing.T, o overlay) kustomize.Objects {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.CopyFS(filepath.Join(dir, "config"), os.DirFS(repository.Path("config")))).To(Succeed())
	base := filepath.Join(dir, "config", o.base)
	if o.all {
		file := filepath.Join(base, "kustomization.yaml")
		text := repository.ReadFile(t, file)
		uncommented := strings.ReplaceAll(text, "#- ../components/", "- ../components/")
		// The API server of the tests does not know the resources of the Prometheus operator.
		uncommented = strings.ReplaceAll(uncommented, "- ../components/monitoring\n", "")
		g.Expect(uncommented).NotTo(Equal(text))
		g.Expect(os.WriteFile(file, []byte(uncommented), 0o600)).To(Succeed())
	}
	if o.namespace == "" {
		return kustomize.Render(t, base)
	}
	mine := filepath.Join(dir, "mine")
	g.Expect(os.Mkdir(mine, 0o700)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(mine, "kustomization.yaml"), fmt.Appendf(nil,
		"resources: [ ../config/%s ]\nnamespace: %s\nnamePrefix: %s\n", o.base, o.namespace, o.prefix), 0o600)).To(Succeed())
	return kustomize.Render(t, mine)
}

// refused reports whether a role or a policy refused the request.
func refused(err error) bool { return apierrors.IsForbidden(err) }
