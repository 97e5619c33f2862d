// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/crds"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example/memcached-operator/controllers/upgradeable"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/testenv/suite"
)

// readNamespace is operator-lib's function that returns the namespace of the operator's pod. The tests replace it, because they run
// in no pod.
//
//go:linkname readNamespace github.com/operator-framework/operator-lib/conditions.readNamespace
var readNamespace func() (string, error)

// operator-lib's requests, in the form that testenv.Requests records.
const (
	readCondition  = "get operatorconditions"
	writeCondition = "update operatorconditions"
)

// olm is the state of a cluster in which OLM v0 has installed the operator.
type olm struct {
	client    client.Client
	condition *operatorsv2.OperatorCondition
}

// installOLM installs the CustomResourceDefinition of the OperatorCondition until the end of the Ginkgo container.
func installOLM() {
	GinkgoHelper()
	options := envtest.CRDInstallOptions{
		Scheme: testenv.Scheme(), CRDs: []*apiextensionsv1.CustomResourceDefinition{crds.OperatorCondition()},
	}
	installed, err := envtest.InstallCRDs(config, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(envtest.UninstallCRDs(config, options)).To(Succeed())
		// The next Ginkgo container may install the CRD again. That fails while the old CRD is being deleted.
		Eventually(ctx, func() error { return user.Get(ctx, client.ObjectKeyFromObject(installed[0]), crd()) }).
			Should(Satisfy(apierrors.IsNotFound))
	})
}

func crd() client.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return object
}

// newOLM tells the operator the name and namespace of an OperatorCondition as OLM does, but does not create the OperatorCondition.
func newOLM(ctx context.Context) *olm {
	GinkgoHelper()
	o := &olm{condition: &operatorsv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.NewNamespace(ctx, user), Name: "memcached-operator.v1.2.3"},
		Spec:       operatorsv2.OperatorConditionSpec{Deployments: []string{"controller-manager"}},
	}}
	scheme := testenv.Scheme()
	Expect(operatorsv2.AddToScheme(scheme)).To(Succeed())
	var err error
	o.client, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	GinkgoT().Setenv(upgradeable.OperatorConditionVariable, o.condition.Name)
	read := readNamespace
	readNamespace = func() (string, error) { return o.condition.Namespace, nil }
	DeferCleanup(func() { readNamespace = read })
	return o
}

func (o *olm) create(ctx context.Context) {
	GinkgoHelper()
	Expect(o.client.Create(ctx, o.condition)).To(Succeed())
}

// grant gives the operator exactly the permissions for its OperatorCondition that OLM gives it.
func (o *olm) grant(ctx context.Context) {
	GinkgoHelper()
	name := metav1.ObjectMeta{Namespace: o.condition.Namespace, Name: o.condition.Name}
	Expect(user.Create(ctx, &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"get", "update", "patch"}, APIGroups: []string{"operators.coreos.com"},
		Resources: []string{"operatorconditions"}, ResourceNames: []string{o.condition.Name},
	}}})).To(Succeed())
	Expect(user.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: name,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: o.condition.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
	})).To(Succeed())
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "operator", ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: name.Namespace, Name: name.Name, Verb: "update", Group: "operators.coreos.com", Resource: "operatorconditions",
		},
	}}
	// The API server's authorizer learns of the role by a watch, which may take a moment.
	Eventually(func(g Gomega) bool {
		g.Expect(user.Create(ctx, review)).To(Succeed())
		return review.Status.Allowed
	}).WithContext(ctx).Should(BeTrue())
}

// asOperator returns a client configuration for the user whose permissions the method grant creates.
func asOperator() *rest.Config {
	impersonated := rest.CopyConfig(config)
	impersonated.Impersonate = rest.ImpersonationConfig{UserName: "operator", Groups: []string{"system:authenticated"}}
	return impersonated
}

// knows returns what was reported to OLM, in the form "status/reason: message".
func (o *olm) knows(ctx context.Context) string {
	GinkgoHelper()
	Expect(o.client.Get(ctx, client.ObjectKeyFromObject(o.condition), o.condition)).To(Succeed())
	told := meta.FindStatusCondition(o.condition.Spec.Conditions, operatorsv2.Upgradeable)
	if told == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s/%s: %s", told.Status, told.Reason, told.Message)
}

func conditionRequests(requests *testenv.Requests) []string {
	all := append(requests.Gets(), requests.Writes()...)
	return slices.DeleteFunc(all, func(request string) bool { return !strings.Contains(request, "operatorconditions") })
}

type logged struct {
	mutex sync.Mutex
	lines []string
}

func (l *logged) logger(verbosity int) logr.Logger {
	return funcr.New(func(_, line string) {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.lines = append(l.lines, line)
	}, funcr.Options{Verbosity: verbosity})
}

func (l *logged) take() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}
