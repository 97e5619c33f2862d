// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

func TestDefaultInstallsExactly(t *testing.T) {
	want := []string{
		"ClusterRole memcached-operator-manager-role",
		"ClusterRole memcached-operator-memcached-admin-role",
		"ClusterRole memcached-operator-memcached-editor-role",
		"ClusterRole memcached-operator-memcached-viewer-role",
		"ClusterRole memcached-operator-metrics-auth-role",
		"ClusterRole memcached-operator-metrics-reader",
		"ClusterRoleBinding memcached-operator-manager-rolebinding",
		"ClusterRoleBinding memcached-operator-metrics-auth-rolebinding",
		"CustomResourceDefinition memcachedproxies.cache.example.com",
		"CustomResourceDefinition memcacheds.cache.example.com",
		"Deployment memcached-operator-controller-manager",
		"Namespace memcached-operator-system",
		"Role memcached-operator-leader-election-role",
		"RoleBinding memcached-operator-leader-election-rolebinding",
		"Service memcached-operator-controller-manager-metrics-service",
		"ServiceAccount memcached-operator-controller-manager",
		"ValidatingAdmissionPolicy memcached-operator-children",
		"ValidatingAdmissionPolicy memcached-operator-configmaps",
		"ValidatingAdmissionPolicy memcached-operator-containers",
		"ValidatingAdmissionPolicy memcached-operator-deletions",
		"ValidatingAdmissionPolicy memcached-operator-podchanges",
		"ValidatingAdmissionPolicy memcached-operator-pods",
		"ValidatingAdmissionPolicy memcached-operator-proxies",
		"ValidatingAdmissionPolicy memcached-operator-proxypods",
		"ValidatingAdmissionPolicy memcached-operator-services",
		"ValidatingAdmissionPolicy memcached-operator-warnings",
		"ValidatingAdmissionPolicy memcached-operator-writes",
		"ValidatingAdmissionPolicyBinding memcached-operator-children",
		"ValidatingAdmissionPolicyBinding memcached-operator-configmaps",
		"ValidatingAdmissionPolicyBinding memcached-operator-containers",
		"ValidatingAdmissionPolicyBinding memcached-operator-deletions",
		"ValidatingAdmissionPolicyBinding memcached-operator-podchanges",
		"ValidatingAdmissionPolicyBinding memcached-operator-pods",
		"ValidatingAdmissionPolicyBinding memcached-operator-proxies",
		"ValidatingAdmissionPolicyBinding memcached-operator-proxypods",
		"ValidatingAdmissionPolicyBinding memcached-operator-services",
		"ValidatingAdmissionPolicyBinding memcached-operator-warnings",
		"ValidatingAdmissionPolicyBinding memcached-operator-writes",
	}
	if diff := cmp.Diff(want, kustomize.Render(t, config("default")).Names()); diff != "" {
		t.Errorf("config/default (-want +got):\n%s", diff)
	}
}

// OLM refuses a bundle that contains an admission policy.
func TestBundlesHaveNoPolicy(t *testing.T) {
	for _, name := range kustomize.Render(t, config("manifests")).Names() {
		if strings.HasPrefix(name, "ValidatingAdmissionPolicy") {
			t.Errorf("config/manifests has %s", name)
		}
	}
}

func TestNamespacedInstallsExactly(t *testing.T) {
	want := []string{
		"Deployment memcached-operator-controller-manager",
		"Role memcached-operator-leader-election-role",
		"Role memcached-operator-manager-role",
		"RoleBinding memcached-operator-leader-election-rolebinding",
		"RoleBinding memcached-operator-manager-rolebinding",
		"ServiceAccount memcached-operator-controller-manager",
	}
	all := kustomize.Render(t, config("namespaced"))
	if diff := cmp.Diff(want, all.Names()); diff != "" {
		t.Errorf("config/namespaced (-want +got):\n%s", diff)
	}
	for _, object := range all {
		if object.GetNamespace() != namespace {
			t.Errorf("%s %s is in the namespace %q, want %q", object.GetKind(), object.GetName(), object.GetNamespace(), namespace)
		}
	}
}

func TestNamespacedWatchesItsOwnNamespaceWithoutMetrics(t *testing.T) {
	all := kustomize.Render(t, config("namespaced"))
	want := corev1.EnvVar{
		Name:      "WATCH_NAMESPACE",
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
	}
	if diff := cmp.Diff(want, env(t, all, "WATCH_NAMESPACE")); diff != "" {
		t.Errorf("WATCH_NAMESPACE (-want +got):\n%s", diff)
	}
	want = corev1.EnvVar{Name: "WATCH_NAMESPACE"}
	if diff := cmp.Diff(want, env(t, kustomize.Render(t, config("default")), "WATCH_NAMESPACE")); diff != "" {
		t.Errorf("WATCH_NAMESPACE of config/default (-want +got):\n%s", diff)
	}
	if args := container(t, all).Args; !slices.Contains(args, "--metrics-bind-address=0") {
		t.Errorf("the metrics of config/namespaced are not off: %q", args)
	}
}

// Every reference to a role or an account must resolve after prefixes and patches.
func TestReferencesResolve(t *testing.T) {
	for name, all := range map[string]kustomize.Objects{
		"default":    kustomize.Render(t, config("default")),
		"namespaced": kustomize.Render(t, config("namespaced")),
		"optional":   withOptional(t),
	} {
		t.Run(name, func(t *testing.T) {
			names := all.Names()
			for _, object := range all {
				for _, reference := range references(object) {
					if !slices.Contains(names, reference) {
						t.Errorf("%s %s refers to %s, which is not rendered", object.GetKind(), object.GetName(), reference)
					}
				}
			}
		})
	}
}

// references returns the role and the accounts to which an object refers, as "KIND NAME". An account in another namespace adds a
// reference that never resolves.
func references(object *unstructured.Unstructured) []string {
	var found []string
	if kind, ok, _ := unstructured.NestedString(object.Object, "roleRef", "kind"); ok {
		name, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
		found = append(found, kind+" "+name)
	}
	subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects")
	for _, subject := range subjects {
		kind, _, _ := unstructured.NestedString(subject.(map[string]any), "kind")
		name, _, _ := unstructured.NestedString(subject.(map[string]any), "name")
		found = append(found, kind+" "+name)
		if inNamespace, _, _ := unstructured.NestedString(subject.(map[string]any), "namespace"); inNamespace != namespace {
			found = append(found, "namespace "+inNamespace)
		}
	}
	if account, ok, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "serviceAccountName"); ok {
		found = append(found, "ServiceAccount "+account)
	}
	return found
}

func TestMetricsReachTheOperator(t *testing.T) {
	all := withOptional(t)
	template := kustomize.Find[appsv1.Deployment](t, all, "Deployment", manager).Spec.Template
	service := kustomize.Find[corev1.Service](t, all, "Service", manager+"-metrics-service")
	policy := kustomize.Find[networkingv1.NetworkPolicy](t, all, "NetworkPolicy", "memcached-operator-allow-metrics-traffic")
	monitor := kustomize.Find[unstructured.Unstructured](t, all, "ServiceMonitor", manager+"-metrics-monitor").Object

	selectors := map[string]map[string]string{
		"Service": service.Spec.Selector, "NetworkPolicy": policy.Spec.PodSelector.MatchLabels,
	}
	for kind, selector := range selectors {
		if !labels.SelectorFromSet(selector).Matches(labels.Set(template.Labels)) {
			t.Errorf("the %s selects %v, which the pods' labels %v do not match", kind, selector, template.Labels)
		}
	}
	selected, _, _ := unstructured.NestedStringMap(monitor, "spec", "selector", "matchLabels")
	if !labels.SelectorFromSet(selected).Matches(labels.Set(service.Labels)) {
		t.Errorf("the ServiceMonitor selects %v, which the Service's labels %v do not match", selected, service.Labels)
	}
	endpoints, _, _ := unstructured.NestedSlice(monitor, "spec", "endpoints")
	if port := endpoints[0].(map[string]any)["port"]; port != service.Spec.Ports[0].Name {
		t.Errorf("the ServiceMonitor scrapes port %v, the Service has %s", port, service.Spec.Ports[0].Name)
	}

	ports := map[string]int32{}
	for _, port := range template.Spec.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	target := ports[service.Spec.Ports[0].TargetPort.StrVal]
	if open := policy.Spec.Ingress[0].Ports[0].Port.IntVal; target == 0 || open != target {
		t.Errorf("the Service leads to port %d and the NetworkPolicy opens %d", target, open)
	}
	if args := template.Spec.Containers[0].Args; !slices.Contains(args, "--metrics-bind-address=:8443") || target != 8443 {
		t.Errorf("the operator serves its metrics at %q, the Service leads to port %d", args, target)
	}
}

func TestNamespaceIsRestricted(t *testing.T) {
	object := kustomize.Find[metav1.PartialObjectMetadata](t, kustomize.Render(t, config("default")), "Namespace", namespace)
	if level := object.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
		t.Errorf("the namespace enforces %q, want restricted", level)
	}
}

// The ServiceMonitor must use a token from a Secret, because OpenShift's monitoring of user workloads rejects a token from a file.
// The token must belong to an account that may read the metrics. The test repeats this with a prefix of all names.
func TestPrometheusReadsTheMetricsWithATokenOfItsOwn(t *testing.T) {
	for _, prefix := range []string{"", "team-"} {
		t.Run(prefix, func(t *testing.T) { mustReadTheMetrics(t, prefixed(t, prefix), prefix) })
	}
}

func mustReadTheMetrics(t *testing.T, all kustomize.Objects, prefix string) {
	t.Helper()
	monitor := kustomize.Find[unstructured.Unstructured](t, all, "ServiceMonitor", prefix+manager+"-metrics-monitor").Object
	endpoints, _, _ := unstructured.NestedSlice(monitor, "spec", "endpoints")
	endpoint := repository.TheOnly(t, endpoints, "endpoints").(map[string]any)
	if file, found := endpoint["bearerTokenFile"]; found {
		t.Errorf("the ServiceMonitor names the file %v", file)
	}
	credentials, _, _ := unstructured.NestedStringMap(endpoint, "authorization", "credentials")
	secret := kustomize.Find[corev1.Secret](t, all, "Secret", credentials["name"])
	if secret.Type != corev1.SecretTypeServiceAccountToken || credentials["key"] != corev1.ServiceAccountTokenKey {
		t.Errorf("the ServiceMonitor takes %q of a Secret of type %s", credentials["key"], secret.Type)
	}
	account := kustomize.Find[corev1.ServiceAccount](t, all, "ServiceAccount", secret.Annotations[corev1.ServiceAccountNameKey])
	binding := kustomize.Find[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding", account.Name)
	subject := repository.TheOnly(t, binding.Subjects, "subjects")
	if subject.Name != account.Name || subject.Namespace != secret.Namespace || account.Namespace != secret.Namespace {
		t.Errorf("the token is one of %s in %s, the binding is for %+v", account.Name, secret.Namespace, subject)
	}
	if binding.RoleRef.Name != prefix+"memcached-operator-metrics-reader" {
		t.Errorf("the account has the role %s", binding.RoleRef.Name)
	}
}
