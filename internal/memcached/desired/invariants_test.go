// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	psaapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// checkObjects checks properties that the objects of every Memcached must have.
func checkObjects(t *testing.T, mc *cachev1alpha1.Memcached, opts memcached.Options, objects []client.Object) {
	t.Helper()
	selector := map[string]string{
		"app.kubernetes.io/name":       "memcached",
		"app.kubernetes.io/instance":   mc.Name,
		"app.kubernetes.io/managed-by": "memcached-operator",
	}
	var kinds []string
	for _, object := range objects {
		if object.GetLabels()[memcached.NameLabel] == memcached.ProxyName {
			checkProxyObject(t, mc, object)
			continue
		}
		gvk := object.GetObjectKind().GroupVersionKind()
		kinds = append(kinds, gvk.GroupVersion().String()+" "+gvk.Kind)
		if !slices.Contains(memcached.OwnersOf(object), client.ObjectKeyFromObject(mc)) {
			t.Errorf("%s is %s/%s", gvk.Kind, object.GetNamespace(), object.GetName())
		}
		if !contains(object.GetLabels(), selector) {
			t.Errorf("%s has the labels %v", gvk.Kind, object.GetLabels())
		}
		var selected map[string]string
		switch object := object.(type) {
		case *corev1.Service:
			selected = object.Spec.Selector
		case *policyv1.PodDisruptionBudget:
			selected = object.Spec.Selector.MatchLabels
		case *networkingv1.NetworkPolicy:
			selected = object.Spec.PodSelector.MatchLabels
			checkNetworkPolicy(t, object)
		case *corev1.ConfigMap:
			selected = selector // a ConfigMap has no selector
			checkConfigMap(t, mc, object)
		case *appsv1.Deployment:
			selected = object.Spec.Selector.MatchLabels
			checkDeployment(t, mc, object)
		case *appsv1.StatefulSet:
			selected = maps.Clone(object.Spec.Selector.MatchLabels)
			delete(selected, memcached.CopyLabel)
			checkStatefulSet(t, mc, object)
		}
		if template := memcached.PodTemplate(object); template != nil {
			checkPods(t, opts, *template)
			if !contains(template.Labels, selector) {
				t.Errorf("the pods have the labels %v", template.Labels)
			}
		}
		if !reflect.DeepEqual(selected, selector) {
			t.Errorf("%s selects %v", gvk.Kind, selected)
		}
	}
	want := []string{"v1 Service"}
	if ptr.Deref(mc.Spec.PodDisruptionBudget.Enabled, true) {
		want = append(want, "policy/v1 PodDisruptionBudget")
	}
	if mc.Spec.NetworkPolicy != nil {
		want = append(want, "networking.k8s.io/v1 NetworkPolicy")
	}
	if memcached.IsStatefulSet(mc) {
		want = append(want, "v1 ConfigMap")
	}
	if want = append(want, "apps/v1 "+string(memcached.WorkloadKind(mc))); !slices.Equal(kinds, want) {
		t.Errorf("the objects are %v", kinds)
	}
}

// checkProxyObject checks an object of the proxies. Its selector never matches a node.
func checkProxyObject(t *testing.T, mc *cachev1alpha1.Memcached, object client.Object) {
	t.Helper()
	selector := memcached.ProxyLabels(mc.Name)
	selected := selector
	switch object := object.(type) {
	case *corev1.Service:
		selected = object.Spec.Selector
	case *policyv1.PodDisruptionBudget:
		selected = object.Spec.Selector.MatchLabels
	case *networkingv1.NetworkPolicy:
		selected = object.Spec.PodSelector.MatchLabels
		checkNetworkPolicy(t, object)
	case *appsv1.Deployment:
		selected = object.Spec.Selector.MatchLabels
		if result := podSecurity(t, object.Spec.Template); !result.Allowed {
			t.Errorf("the proxies violate restricted:latest: %s", result.ForbiddenDetail())
		}
		if !contains(object.Spec.Template.Labels, selector) {
			t.Errorf("the proxies have the labels %v", object.Spec.Template.Labels)
		}
	}
	if mc.Spec.Proxy == nil || !reflect.DeepEqual(selected, selector) || !contains(object.GetLabels(), selector) {
		t.Errorf("%T %s selects %v", object, object.GetName(), selected)
	}
}

// checkConfigMap checks the ConfigMap that lists the servers for applications.
func checkConfigMap(t *testing.T, mc *cachev1alpha1.Memcached, object *corev1.ConfigMap) {
	t.Helper()
	lists := map[string]string{"servers": "11211"}
	if memcached.NodeTLS(mc) != nil {
		lists["tlsServers"] = "11212"
		if mc.Spec.TLS.Plaintext != cachev1alpha1.PlaintextEnabled {
			lists["servers"] = "11212"
		}
	}
	if len(object.Data) != 1+2*len(lists) || len(object.BinaryData) != 0 || object.Data["port"] != lists["servers"] ||
		object.Data["tlsPort"] != lists["tlsServers"] {
		t.Errorf("the ConfigMap has %v", object.Data)
	}
	for key, port := range lists {
		servers := strings.FieldsFunc(object.Data[key], func(r rune) bool { return r == ',' })
		if len(servers) != int(mc.Spec.Size) {
			t.Errorf("%s has %d nodes", key, len(servers))
		}
		for i, server := range servers {
			if server != fmt.Sprintf("%s-%d.%s:%s", mc.Name, i, object.Data["host"], port) {
				t.Errorf("the server %d of %s is %s", i, key, server)
			}
		}
	}
}

// checkNetworkPolicy checks the rules of the policy. A rule with an empty "from" would admit everybody.
func checkNetworkPolicy(t *testing.T, policy *networkingv1.NetworkPolicy) {
	t.Helper()
	for i, rule := range policy.Spec.Ingress {
		known := []int{9150, 9151} // the ports of sidecars and parents
		if i == 0 {
			known = []int{11211, 11212}
		}
		strange := func(port networkingv1.NetworkPolicyPort) bool {
			return !slices.Contains(known, port.Port.IntValue())
		}
		if len(rule.From) == 0 || len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, strange) {
			t.Errorf("the NetworkPolicy admits %+v", rule)
		}
		operator := operatorRule(memcached.ParentPort, memcached.MetricsPort)
		if rule.Ports[0].Port.IntValue() == memcached.ParentPort && !reflect.DeepEqual(rule, operator) {
			t.Errorf("others than the operator may ask parents: %+v", rule)
		}
	}
}

func contains(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// checkDeployment checks that the API server would accept the Deployment.
func checkDeployment(t *testing.T, mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment) {
	t.Helper()
	spec := deployment.Spec
	if *spec.Replicas != mc.Spec.Size {
		t.Errorf("%d replicas", *spec.Replicas)
	}
	if *spec.ProgressDeadlineSeconds <= spec.MinReadySeconds {
		t.Errorf("minReadySeconds %d, deadline %d", spec.MinReadySeconds, *spec.ProgressDeadlineSeconds)
	}
	if isZero(*spec.Strategy.RollingUpdate.MaxSurge) && isZero(*spec.Strategy.RollingUpdate.MaxUnavailable) {
		t.Error("maxSurge and maxUnavailable are both 0")
	}
	for _, limit := range []*intstr.IntOrString{spec.Strategy.RollingUpdate.MaxSurge, spec.Strategy.RollingUpdate.MaxUnavailable} {
		if number, err := intstr.GetScaledValueFromIntOrPercent(limit, int(mc.Spec.Size), false); err != nil || number < 0 {
			t.Errorf("a limit of the rollout is %s: %v", limit, err)
		}
	}
}

// checkStatefulSet checks that the API server would accept the StatefulSet, and that its nodes do not wait for each other.
func checkStatefulSet(t *testing.T, mc *cachev1alpha1.Memcached, set *appsv1.StatefulSet) {
	t.Helper()
	spec := set.Spec
	if *spec.Replicas != mc.Spec.Size || spec.ServiceName != mc.Name+"-nodes" || spec.Ordinals != nil {
		t.Errorf("%d replicas of the Service %q from %v", *spec.Replicas, spec.ServiceName, spec.Ordinals)
	}
	if spec.PodManagementPolicy != appsv1.ParallelPodManagement || len(spec.VolumeClaimTemplates) != 0 {
		t.Errorf("the nodes wait for each other or have volumes: %+v", spec)
	}
	if strategy := spec.UpdateStrategy; strategy.Type != appsv1.OnDeleteStatefulSetStrategyType || strategy.RollingUpdate != nil {
		t.Errorf("its controller replaces nodes: %+v", strategy)
	}
}

// checkPods checks what no spec may change: users who may create a Memcached must be able to run nothing but memcached, its parent
// and its agent.
func checkPods(t *testing.T, opts memcached.Options, template corev1.PodTemplateSpec) {
	t.Helper()
	if result := podSecurity(t, template); !result.Allowed {
		t.Errorf("the pods violate restricted:latest: %s", result.ForbiddenDetail())
	}
	spec := template.Spec
	switch {
	case len(spec.Containers) != 1, !slices.Contains([]int{0, 2}, len(spec.InitContainers)), len(spec.EphemeralContainers) != 0:
		t.Errorf("more than memcached, its parent and a sidecar: %+v", spec)
	case spec.ServiceAccountName != "", spec.DeprecatedServiceAccount != "", *spec.AutomountServiceAccountToken:
		t.Errorf("a service account: %+v", spec)
	case spec.HostNetwork, spec.HostPID, spec.HostIPC, spec.HostUsers != nil, len(spec.HostAliases) != 0, spec.Hostname != "":
		t.Errorf("something of the host: %+v", spec)
	case spec.NodeName != "", spec.RuntimeClassName != nil, spec.SchedulerName != corev1.DefaultSchedulerName,
		(spec.ShareProcessNamespace != nil) != slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "credentials" }):
		t.Errorf("something that the spec does not offer: %+v", spec)
	case (spec.SecurityContext.RunAsUser == nil) != opts.OmitRunAsUser:
		t.Errorf("the user is %v", spec.SecurityContext.RunAsUser)
	}
	for _, container := range slices.Concat(spec.Containers, spec.InitContainers) {
		env := slices.DeleteFunc(slices.Clone(container.Env), func(v corev1.EnvVar) bool { return v.Name == "POD_UID" })
		if len(env) != 0 || len(container.EnvFrom) != 0 || container.TTY || container.Stdin {
			t.Errorf("the container has more than it needs: %+v", container)
		}
		for name, request := range container.Resources.Requests {
			if limit, limited := container.Resources.Limits[name]; limited && request.Cmp(limit) > 0 || container.Resources.Limits.Memory().IsZero() {
				t.Errorf("the resources of %s: %+v", container.Name, container.Resources)
			}
		}
	}
	checkCommands(t, template)
	checkVolumes(t, spec)
	if sleep := spec.Containers[0].Lifecycle; sleep != nil && sleep.PreStop.Sleep.Seconds >= *spec.TerminationGracePeriodSeconds {
		t.Error("the pod is killed before it is told to stop")
	}
}

var evaluator = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

func podSecurity(t *testing.T, template corev1.PodTemplateSpec) policy.AggregateCheckResult {
	t.Helper()
	evaluator, err := evaluator()
	if err != nil {
		t.Fatal(err)
	}
	restricted := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
	return policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec))
}
