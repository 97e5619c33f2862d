// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"encoding/json"
	"errors"
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

func TestOverlaysInstallExactly(t *testing.T) {
	for overlay, want := range map[string][]string{
		"default": {
			"ClusterRole memcached-operator-manager-role",
			"ClusterRole memcached-operator-memcached-admin-role",
			"ClusterRole memcached-operator-memcached-editor-role",
			"ClusterRole memcached-operator-memcached-viewer-role",
			"ClusterRole memcached-operator-metrics-auth-role",
			"ClusterRole memcached-operator-metrics-reader",
			"ClusterRoleBinding memcached-operator-manager-rolebinding",
			"ClusterRoleBinding memcached-operator-metrics-auth-rolebinding",
			"CustomResourceDefinition memcacheds.cache.example.com",
			"Deployment memcached-operator-controller-manager",
			"Namespace memcached-operator-system",
			"Role memcached-operator-leader-election-role",
			"RoleBinding memcached-operator-leader-election-rolebinding",
			"Service memcached-operator-controller-manager-metrics-service",
			"ServiceAccount memcached-operator-controller-manager",
			"ValidatingAdmissionPolicy memcached-operator-warnings",
			"ValidatingAdmissionPolicy memcached-operator-writes",
			"ValidatingAdmissionPolicyBinding memcached-operator-warnings",
			"ValidatingAdmissionPolicyBinding memcached-operator-writes",
		},
		"namespaced": {
			"Deployment memcached-operator-controller-manager",
			"Role memcached-operator-leader-election-role",
			"Role memcached-operator-manager-role",
			"RoleBinding memcached-operator-leader-election-rolebinding",
			"RoleBinding memcached-operator-manager-rolebinding",
			"ServiceAccount memcached-operator-controller-manager",
		},
		"monitoring": {
			"ClusterRoleBinding memcached-operator-metrics-reader",
			"ConfigMap memcached-operator-cache-dashboard",
			"ConfigMap memcached-operator-fleet-dashboard",
			"PodMonitor memcached-operator-nodes",
			"PodMonitor memcached-operator-proxies",
			"PrometheusRule memcached-operator-alerts",
			"Secret memcached-operator-metrics-reader-token",
			"ServiceAccount memcached-operator-metrics-reader",
			"ServiceMonitor memcached-operator-controller-manager-metrics-monitor",
		},
	} {
		if diff := cmp.Diff(want, kustomize.Render(t, config(overlay)).Names()); diff != "" {
			t.Errorf("config/%s (-want +got):\n%s", overlay, diff)
		}
	}
}

// OLM refuses a bundle that contains an admission policy, or objects of a Kind that some clusters lack.
func TestBundlesHaveNoPolicyAndNoMonitors(t *testing.T) {
	for _, object := range kustomize.Render(t, config("manifests")) {
		if version := object.GetAPIVersion(); strings.HasPrefix(version, "admissionregistration") || strings.HasPrefix(version, "monitoring.coreos.com/") {
			t.Errorf("config/manifests has %s %s", object.GetKind(), object.GetName())
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
	if args := container(t, all).Args; !slices.Contains(args, "--metrics-bind-address=0") {
		t.Errorf("the metrics of config/namespaced are not off: %q", args)
	}
	for _, object := range all {
		if object.GetNamespace() != namespace {
			t.Errorf("%s %s is in the namespace %q, want %q", object.GetKind(), object.GetName(), object.GetNamespace(), namespace)
		}
	}
}

// References to roles, accounts and policies must resolve after prefixes and patches.
func TestReferencesResolve(t *testing.T) {
	type place struct{ Name, Namespace string }
	for overlay, all := range map[string]kustomize.Objects{
		"default":    kustomize.Render(t, config("default")),
		"namespaced": kustomize.Render(t, config("namespaced")),
		"prefixed":   prefixed(t, "team-"),
		"with OLM":   append(kustomize.Render(t, config("namespaced")), kustomize.Render(t, config("admission-policy"))...),
	} {
		for _, object := range all {
			var references struct {
				RoleRef  place
				Subjects []place
				Spec     struct {
					PolicyName string
					ParamRef   place
					Template   struct {
						Spec struct{ ServiceAccountName string }
					}
				}
			}
			content, err := object.MarshalJSON()
			if err := errors.Join(err, json.Unmarshal(content, &references)); err != nil {
				t.Fatal(err)
			}
			spec := references.Spec
			for _, to := range append(references.Subjects, references.RoleRef, spec.ParamRef, place{Name: spec.PolicyName},
				place{Name: spec.Template.Spec.ServiceAccountName}) {
				found := slices.ContainsFunc(all.Names(), func(name string) bool { return strings.HasSuffix(name, " "+to.Name) })
				if to.Name != "" && !found || to.Namespace != "" && to.Namespace != namespace {
					t.Errorf("%s: %s %s refers to %+v, which is not rendered", overlay, object.GetKind(), object.GetName(), to)
				}
			}
		}
	}
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
// The token must belong to an account that may read the metrics.
func TestPrometheusReadsTheMetricsWithATokenOfItsOwn(t *testing.T) {
	all := prefixed(t, "team-")
	monitor := kustomize.Find[unstructured.Unstructured](t, all, "ServiceMonitor", "team-"+manager+"-metrics-monitor").Object
	endpoints, _, _ := unstructured.NestedSlice(monitor, "spec", "endpoints")
	endpoint := repository.TheOnly(t, endpoints, "endpoints").(map[string]any)
	credentials, _, _ := unstructured.NestedStringMap(endpoint, "authorization", "credentials")
	secret := kustomize.Find[corev1.Secret](t, all, "Secret", credentials["name"])
	if secret.Type != corev1.SecretTypeServiceAccountToken || credentials["key"] != corev1.ServiceAccountTokenKey {
		t.Errorf("the ServiceMonitor takes %q of a Secret of type %s", credentials["key"], secret.Type)
	}
	account := secret.Annotations[corev1.ServiceAccountNameKey]
	binding := kustomize.Find[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding", account)
	if subject := repository.TheOnly(t, binding.Subjects, "subjects"); subject.Name != account || subject.Namespace != secret.Namespace {
		t.Errorf("the token is one of %s in %s, the binding is for %+v", account, secret.Namespace, subject)
	}
	if binding.RoleRef.Name != "team-memcached-operator-metrics-reader" {
		t.Errorf("the account has the role %s", binding.RoleRef.Name)
	}
}
