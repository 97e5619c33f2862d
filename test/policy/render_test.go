// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"

	"github.com/example/memcached-operator/internal/testenv"
)

// Whatever namespace and prefix a user chooses, the policies hold the account that the operator then has: a binding that
// names another would guard nobody, and nothing would tell.
func TestBindingsFollowTheServiceAccount(t *testing.T) {
	for name, o := range map[string]overlay{
		"default":              {base: "default", guarded: true},
		"namespaced":           {base: "namespaced", guarded: true},
		"default elsewhere":    {base: "default", guarded: true, namespace: "elsewhere", prefix: "mine-"},
		"namespaced elsewhere": {base: "namespaced", guarded: true, namespace: "elsewhere", prefix: "mine-"},
	} {
		t.Run(name, func(t *testing.T) { checkBindings(t, render(t, o)) })
	}
	t.Run("installed already", func(t *testing.T) {
		checkBindings(t, slices.Concat(render(t, overlay{base: "default"}), build(t, testenv.Path("config", "admission-policy"))))
	})
}

func checkBindings(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	var operator, list, bound []string
	policies := map[string]string{}
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment":
			name, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "serviceAccountName")
			operator = []string{object.GetNamespace(), name, "Allow"}
		case "ConfigMap":
			list = []string{object.GetNamespace(), object.GetName(), "Deny"}
		case "ValidatingAdmissionPolicy":
			policies[object.GetName()], _, _ = unstructured.NestedString(object.Object, "spec", "paramKind", "kind")
		}
	}
	for _, object := range objects {
		if object.GetKind() != "ValidatingAdmissionPolicyBinding" {
			continue
		}
		var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &binding, true)).To(Succeed())
		ref := binding.Spec.ParamRef
		want := map[string][]string{"ServiceAccount": operator, "ConfigMap": list}[policies[binding.Spec.PolicyName]]
		g.Expect([]string{ref.Namespace, ref.Name, string(*ref.ParameterNotFoundAction)}).To(Equal(want), binding.Name)
		g.Expect(binding.Spec.ValidationActions).To(ConsistOf(admissionregistrationv1.Deny, admissionregistrationv1.Audit), binding.Name)
		bound = append(bound, binding.Spec.PolicyName)
	}
	slices.Sort(bound)
	g.Expect(slices.Compact(bound)).To(HaveLen(6))
	g.Expect(policies).To(HaveLen(6))
}

// A field that is misspelt would be absent for ever, and what is asked of it never refused. The API server lets that pass,
// as its types are known at run time only; this is the check whose warnings it writes into the status of a policy.
func TestExpressionsFitTheTypes(t *testing.T) {
	i := install(t)
	g := NewWithT(t)
	client, err := discovery.NewDiscoveryClientForConfig(i.config)
	g.Expect(err).NotTo(HaveOccurred())
	checker := &validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: client}, RestMapper: i.admin.RESTMapper(),
	}
	checked := 0
	for _, policy := range policies(t, render(t, overlay{base: "default", guarded: true})) {
		g.Expect(checker.Check(policy)).To(BeEmpty(), policy.Name)
		// With a mistake the check has something to say, but for the policy of all resources, which have no type in common.
		if strings.HasSuffix(policy.Name, "-writes") {
			continue
		}
		policy.Spec.Validations[0].Expression = "object.metadata.misspelt == ''"
		g.Expect(checker.Check(policy)).NotTo(BeEmpty(), policy.Name)
		checked++
	}
	g.Expect(checked).To(Equal(5))
}

// policies are those among what was rendered.
func policies(t *testing.T, objects []*unstructured.Unstructured) []*admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	var all []*admissionregistrationv1.ValidatingAdmissionPolicy
	for _, object := range objects {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, policy, true); err != nil {
			t.Fatal(err)
		}
		all = append(all, policy)
	}
	return all
}
