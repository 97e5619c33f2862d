// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

// Users may choose another namespace and prefix for the operator. The bindings must then name the operator's new account. Otherwise, the
// policies would protect nothing, and nobody would notice.
func TestBindingsFollowTheServiceAccount(t *testing.T) {
	limits := []string{"children", "configmaps", "containers", "deletions", "podchanges", "pods", "proxies", "proxypods", "services", "writes"}
	own := append([]string{"warnings"}, limits...)
	all := append([]string{"images", "metadata", "podimages"}, own...)
	for name, c := range map[string]struct {
		overlay  overlay
		policies []string
	}{
		"default":              {overlay{base: "default"}, own},
		"default with all":     {overlay{base: "default", all: true}, all},
		"namespaced":           {overlay{base: "namespaced"}, nil},
		"namespaced with all":  {overlay{base: "namespaced", all: true}, all},
		"default elsewhere":    {overlay{base: "default", all: true, namespace: "elsewhere", prefix: "mine-"}, all},
		"namespaced elsewhere": {overlay{base: "namespaced", all: true, namespace: "elsewhere", prefix: "mine-"}, all},
	} {
		t.Run(name, func(t *testing.T) { checkBindings(t, render(t, c.overlay), c.policies) })
	}
	t.Run("installed already", func(t *testing.T) {
		namespaced := render(t, overlay{base: "namespaced"})
		checkBindings(t, slices.Concat(namespaced, kustomize.Render(t, repository.Path("config", "admission-policy"))), limits)
		checkBindings(t, kustomize.Render(t, repository.Path("config", "admission-warnings")), []string{"warnings"})
		checkBindings(t, kustomize.Render(t, repository.Path("config", "allowed-images")), []string{"images", "podimages"})
		checkBindings(t, kustomize.Render(t, repository.Path("config", "allowed-metadata")), []string{"metadata"})
	})
}

// checkBindings fails unless the wanted policies exist and are bound. Each binding, except that of the warnings, must refer to the
// installed service account of the operator, or to the installed ConfigMap of allowed values.
func checkBindings(t *testing.T, objects kustomize.Objects, wanted []string) {
	t.Helper()
	g := NewWithT(t)
	var operator, bound, known []string
	lists := map[string][]string{}
	policies := map[string]string{}
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment":
			name, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "serviceAccountName")
			operator = []string{object.GetNamespace(), name, "Allow"}
		case "ConfigMap":
			kind := object.GetName()[strings.LastIndex(object.GetName(), "-")+1:] // the last word of the name, such as images
			lists[kind] = []string{object.GetNamespace(), object.GetName(), "Deny"}
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
		kind := binding.Spec.PolicyName[strings.LastIndex(binding.Spec.PolicyName, "-")+1:]
		bound = append(bound, kind)
		if kind == "warnings" { // it warns everybody, and refuses nothing
			g.Expect(binding.Spec.ParamRef).To(BeNil(), binding.Name)
			g.Expect(policies).To(HaveKeyWithValue(binding.Spec.PolicyName, ""))
			g.Expect(binding.Spec.ValidationActions).To(ConsistOf(admissionregistrationv1.Warn), binding.Name)
			continue
		}
		ref := binding.Spec.ParamRef
		want := map[string][]string{"ServiceAccount": operator, "ConfigMap": lists[strings.TrimPrefix(kind, "pod")]}[policies[binding.Spec.PolicyName]]
		g.Expect([]string{ref.Namespace, ref.Name, string(*ref.ParameterNotFoundAction)}).To(Equal(want), binding.Name)
		g.Expect(binding.Spec.ValidationActions).To(ConsistOf(admissionregistrationv1.Deny, admissionregistrationv1.Audit), binding.Name)
	}
	for name := range policies {
		known = append(known, name[strings.LastIndex(name, "-")+1:])
	}
	g.Expect(bound).To(ConsistOf(wanted))
	g.Expect(known).To(ConsistOf(wanted))
}

// A misspelled field would always be absent, so its rule would refuse nothing. The API server accepts such a rule, because it knows
// the types only at run time. This test runs the check from which the API server takes the warnings in a policy's status.
func TestExpressionsFitTheTypes(t *testing.T) {
	i := install(t)
	g := NewWithT(t)
	client, err := discovery.NewDiscoveryClientForConfig(i.config)
	g.Expect(err).NotTo(HaveOccurred())
	checker := &validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: client}, RestMapper: i.admin.RESTMapper(),
	}
	checked := 0
	for _, policy := range policies(t, render(t, overlay{base: "default", all: true})) {
		g.Expect(checker.Check(policy)).To(BeEmpty(), policy.Name)
		// The check must report this wrong expression. The policy "writes" is the exception: it matches all resources, which have no type
		// in common.
		if strings.HasSuffix(policy.Name, "-writes") {
			continue
		}
		policy.Spec.Validations[0].Expression = "object.metadata.misspelt == ''"
		g.Expect(checker.Check(policy)).NotTo(BeEmpty(), policy.Name)
		checked++
	}
	g.Expect(checked).To(Equal(13))
}

func policies(t *testing.T, objects kustomize.Objects) []*admissionregistrationv1.ValidatingAdmissionPolicy {
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

// The policies must allow owners of exactly the served versions. The garbage collector never finds an owner with an unserved
// version, so it never deletes the children.
func TestPoliciesAllowExactlyTheServedVersions(t *testing.T) {
	g := NewWithT(t)
	objects := render(t, overlay{base: "default"})
	var served []string
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd)).To(Succeed())
		for _, version := range crd.Spec.Versions {
			if version.Served {
				served = append(served, "'"+crd.Spec.Group+"/"+version.Name+"'")
			}
		}
	}
	g.Expect(served).NotTo(BeEmpty())
	served = slices.Compact(served) // both Kinds have the same versions
	list := "in [" + strings.Join(served, ", ") + "]"
	for policy, times := range map[string]int{"children": 2, "proxies": 2, "writes": 1} {
		for _, object := range objects {
			if object.GetKind() != "ValidatingAdmissionPolicy" || !strings.HasSuffix(object.GetName(), "-"+policy) {
				continue
			}
			text, err := object.MarshalJSON()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Count(string(text), list)).To(Equal(times), "%s does not say %s", policy, list)
		}
	}
}
