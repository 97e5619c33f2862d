// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	psaapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// checkObjects has what is true of the objects of every Memcached.
func checkObjects(t *testing.T, mc *cachev1alpha1.Memcached, opts memcached.Options, objects []client.Object) {
	t.Helper()
	selector := map[string]string{
		"app.kubernetes.io/name":       "memcached",
		"app.kubernetes.io/instance":   mc.Name,
		"app.kubernetes.io/managed-by": "memcached-operator",
	}
	var kinds []string
	for _, object := range objects {
		gvk := object.GetObjectKind().GroupVersionKind()
		kinds = append(kinds, gvk.GroupVersion().String()+" "+gvk.Kind)
		if object.GetName() != mc.Name || object.GetNamespace() != mc.Namespace {
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
		case *appsv1.Deployment:
			selected = object.Spec.Selector.MatchLabels
			checkDeployment(t, mc, object)
			checkPods(t, opts, object.Spec.Template)
			if !contains(object.Spec.Template.Labels, selector) {
				t.Errorf("the pods have the labels %v", object.Spec.Template.Labels)
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
	if wantsNetworkPolicy(mc) {
		want = append(want, "networking.k8s.io/v1 NetworkPolicy")
	}
	if want = append(want, "apps/v1 Deployment"); !slices.Equal(kinds, want) {
		t.Errorf("the objects are %v", kinds)
	}
}

// checkNetworkPolicy refuses what lets everybody in: an empty list of clients means all.
func checkNetworkPolicy(t *testing.T, policy *networkingv1.NetworkPolicy) {
	t.Helper()
	for _, rule := range policy.Spec.Ingress {
		if len(rule.From) == 0 || len(rule.Ports) != 1 || rule.Ports[0].Port.IntValue() != 11211 {
			t.Errorf("the NetworkPolicy admits %+v", rule)
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

// checkDeployment has what the API server asks of a Deployment.
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

// checkPods has what no spec may change: who may create a Memcached gains no more than pods of memcached.
func checkPods(t *testing.T, opts memcached.Options, template corev1.PodTemplateSpec) {
	t.Helper()
	if result := podSecurity(t, template); !result.Allowed {
		t.Errorf("the pods violate restricted:latest: %s", result.ForbiddenDetail())
	}
	spec := template.Spec
	switch {
	case len(spec.Containers) != 1, len(spec.InitContainers) != 0, len(spec.EphemeralContainers) != 0, len(spec.Volumes) != 0:
		t.Errorf("more than one container: %+v", spec)
	case spec.ServiceAccountName != "", spec.DeprecatedServiceAccount != "", *spec.AutomountServiceAccountToken:
		t.Errorf("a service account: %+v", spec)
	case spec.HostNetwork, spec.HostPID, spec.HostIPC, spec.HostUsers != nil, len(spec.HostAliases) != 0, spec.Hostname != "":
		t.Errorf("something of the host: %+v", spec)
	case spec.NodeName != "", spec.RuntimeClassName != nil, spec.SchedulerName != "", spec.ShareProcessNamespace != nil:
		t.Errorf("something that the spec does not offer: %+v", spec)
	case (spec.SecurityContext.RunAsUser == nil) != opts.OmitRunAsUser:
		t.Errorf("the user is %v", spec.SecurityContext.RunAsUser)
	}
	container := spec.Containers[0]
	if len(container.Env) != 0 || len(container.EnvFrom) != 0 || len(container.VolumeMounts) != 0 || container.TTY || container.Stdin {
		t.Errorf("the container has more than memcached needs: %+v", container)
	}
	if container.Image == "" || !slices.Equal(container.Command, []string{"memcached"}) {
		t.Errorf("image %q runs %v", container.Image, container.Command)
	}
	if slices.Contains(container.Args, "-A") || !slices.Contains(container.Args, "-W") || slices.Index(container.Args, "-U") < 0 {
		t.Errorf("args %v", container.Args)
	}
	limit, request := container.Resources.Limits.Memory(), container.Resources.Requests.Memory()
	if limit.IsZero() || request.Cmp(*limit) > 0 {
		t.Errorf("a memory limit of %s, a request of %s", limit, request)
	}
	if sleep := container.Lifecycle; sleep != nil && sleep.PreStop.Sleep.Seconds >= *spec.TerminationGracePeriodSeconds {
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

// TestPodSecurityIsEvaluated would see an evaluator that allows everything.
func TestPodSecurityIsEvaluated(t *testing.T) {
	deployment := live(t, memcachedtest.Cache(3), memcachedtest.Options)
	deployment.Spec.Template.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = ptr.To(true)
	if podSecurity(t, deployment.Spec.Template).Allowed {
		t.Error("privilege escalation is allowed")
	}
}

// checkSettles renders again, with the Deployment in the cluster and by a later operator.
func checkSettles(t *testing.T, mc *cachev1alpha1.Memcached, objects []client.Object) {
	t.Helper()
	before := encodedText(t, objects)
	deployment, ok := objects[len(objects)-1].(*appsv1.Deployment)
	if !ok {
		t.Fatalf("the last object is a %T", objects[len(objects)-1])
	}
	deployment = deployment.DeepCopy()
	deployment.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Memcached", mc.Name, mc.UID)}
	later := memcached.Options{DefaultImage: "docker.io/library/memcached:1.7.0"}
	if after := encodedText(t, objectsOf(t, mc, memcached.Observed{Children: memcachedtest.Children(deployment)}, later)); before != after {
		t.Errorf("what is in the cluster is rendered differently, before %s and after %s", before, after)
	}
}
