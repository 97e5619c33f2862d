// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// proxies returns the objects of the proxies, and adds to the plan their routes and the parents to ask. Without proxies, it returns none.
func proxies(v memcached.View, opts memcached.Options, plan *memcached.Plan) []client.Object {
	mc := v.Memcached
	if !memcached.HasProxies(mc) {
		return nil
	}
	role := proxyRole(mc)
	objects := []client.Object{role.service("")}
	if memcached.WantsBudget(mc.Spec.PodDisruptionBudget) {
		objects = append(objects, role.budget(cachev1alpha1.MemcachedPodDisruptionBudget{}))
	}
	if wanted := mc.Spec.NetworkPolicy; wanted != nil {
		objects = append(objects, role.networkPolicy(*wanted, memcached.ParentPort, memcached.MetricsPort))
	}
	plan.Routes = routesOf(v)
	if plan.Routes != nil {
		objects = append(objects, role.configMap(memcached.RoutesSuffix, map[string]string{protocol.RoutesKey: plan.Routes.String()}))
		plan.Announcing = v.Routes() != nil && plan.Routes.String() != v.Routes().String()
	} else if found := v.RoutesObject(); found != nil {
		objects = append(objects, role.configMap(memcached.RoutesSuffix, found.Data))
	}
	if !plan.Announcing {
		plan.Ask = slices.DeleteFunc(v.ProxyPods(), func(pod *corev1.Pod) bool {
			_, answered := v.Answers[pod.UID]
			return answered
		})
	}
	// Pods cannot start without the ConfigMap of the routes.
	if plan.Routes != nil || v.ProxyWorkload() != nil {
		var deployment client.Object
		deployment, plan.Problem = proxyDeployment(v, opts)
		objects = append(objects, deployment)
	}
	return objects
}

// proxyPeers are the proxies in a NetworkPolicy.
func proxyPeers(mc *cachev1alpha1.Memcached) []networkingv1.NetworkPolicyPeer {
	return []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: memcached.ProxyLabels(mc.Name)}}}
}

// onlyProxies reports whether clients may not connect to the nodes any more. While a living cache gets its first proxies, they still may.
func onlyProxies(v memcached.View) bool {
	if v.Workload == nil || slices.ContainsFunc(v.ProxyPods(), memcached.PodReady) {
		return true
	}
	return slices.ContainsFunc(v.Children, func(child client.Object) bool {
		policy, ok := child.(*networkingv1.NetworkPolicy)
		return ok && policy.Name == v.Memcached.Name && metav1.IsControlledBy(policy, v.Memcached) && len(policy.Spec.Ingress) > 0 &&
			equality.Semantic.DeepEqual(policy.Spec.Ingress[0].From, proxyPeers(v.Memcached))
	})
}

// proxyPreStopSeconds is how long a deleted proxy continues to serve, so that clients and kube-proxy can notice the deletion.
const proxyPreStopSeconds = 5

// proxyDeployment returns the Deployment of the proxies. They store nothing, so a new one starts before an old one stops. The problem is
// why no proxies of this spec may be created, or nil.
func proxyDeployment(v memcached.View, opts memcached.Options) (*appsv1.Deployment, *memcached.Problem) {
	mc := v.Memcached
	hash := hashOf(proxyTemplate(mc, opts, podDefaults{}))
	defaults, kept := proxyDefaults(v, opts, hash)
	var problem *memcached.Problem
	if !kept {
		problem = checkProxyMemory(mc)
	}
	record := memcached.Record{Template: hash, Defaults: defaults}
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	return proxyRole(mc).deployment(record, v.ProxySize(), 0, one, none, proxyTemplate(mc, opts, defaults)), problem
}

// proxyDefaults returns the settings that the operator chooses because the spec leaves them open. It keeps the settings of running
// proxies until the spec requires new ones, so that an upgrade of the operator replaces no proxy.
func proxyDefaults(v memcached.View, opts memcached.Options, hash string) (defaults podDefaults, kept bool) {
	if live := v.ProxyWorkload(); live != nil {
		record := memcached.RecordOf(live)
		_, unreadable := resource.ParseQuantity(cmp.Or(record.MemoryLimit, "0"))
		if record.Template == hash && record.Images[memcached.AgentContainerName] != "" && unreadable == nil {
			return record.Defaults, true
		}
	}
	defaults = podDefaults{Images: map[string]string{memcached.AgentContainerName: opts.AgentImage}}
	if v.Memcached.Spec.Image == "" {
		defaults.Images[memcached.ContainerName] = opts.DefaultImage
	}
	if _, given := givenLimit(memcached.Proxy(v.Memcached).Resources); !given {
		defaults.MemoryLimit = proxyNeed(v.Memcached).String()
	}
	return defaults, false
}

// proxyTemplate returns the template of the proxies. It does not depend on the nodes, because the routes are in a ConfigMap.
func proxyTemplate(mc *cachev1alpha1.Memcached, opts memcached.Options, defaults podDefaults) corev1.PodTemplateSpec {
	role, wanted := proxyRole(mc), memcached.Proxy(mc)
	spec := role.podSpec(opts, appsv1.DefaultDeploymentUniqueLabelKey)
	spec.TerminationGracePeriodSeconds = ptr.To(int64(proxyPreStopSeconds + shutdownSeconds))
	// Every second, memcached's parent looks up the nodes that DNS does not know, so no lookup may take longer.
	spec.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{
		{Name: "timeout", Value: ptr.To("1")}, {Name: "attempts", Value: ptr.To("1")},
	}}
	spec.Containers = []corev1.Container{{
		Name:            memcached.ContainerName,
		Image:           cmp.Or(mc.Spec.Image, defaults.Images[memcached.ContainerName]),
		ImagePullPolicy: cmp.Or(mc.Spec.ImagePullPolicy, corev1.PullIfNotPresent),
		Args:            proxyArguments(mc),
		Ports:           memcached.ContainerPorts(memcached.ClientPorts(mc.Spec.TLS)),
		Resources:       resourcesOf(wanted.Resources, defaults.MemoryLimit),
		Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: proxyPreStopSeconds}}},
		SecurityContext: restricted(),
	}}
	// The program and its files take a few megabytes.
	addParent(&spec, "proxy", "64Mi", "routes", mc.Name+memcached.RoutesSuffix, corev1.ConfigMapVolumeSourceDefaultMode)
	probeParent(&spec.Containers[0])
	agent{
		image: defaults.Images[memcached.AgentContainerName], tls: mc.Spec.TLS, resources: mc.Spec.Agent.Resources, beside: wanted.Resources,
		proxy: true,
	}.addTo(&spec)
	annotations := annotationsOf(mc.Spec.PodMetadata)
	if replaced := timeOf(mc.Spec.ReplacedAt); replaced != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[memcached.RestartedAtAnnotation] = replaced
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: role.labels(mc.Spec.PodMetadata.Labels), Annotations: annotations}, Spec: spec,
	}
}

func proxyArguments(mc *cachev1alpha1.Memcached) []string {
	args := []string{
		"--threads=" + strconv.Itoa(int(proxyThreads(mc))), "--max-connections=" + strconv.Itoa(int(proxyConnections(mc))),
	}
	tls := mc.Spec.TLS
	if tls == nil {
		return args
	}
	args = append(args, "--tls="+string(cmp.Or(tls.MinVersion, cachev1alpha1.TLSVersion12)))
	if requiresClientCertificates(tls) {
		args = append(args, "--client-ca")
	}
	if tls.Plaintext == cachev1alpha1.PlaintextEnabled {
		args = append(args, "--plaintext")
	}
	return args
}

func proxyConnections(mc *cachev1alpha1.Memcached) int32 {
	return cmp.Or(mc.Spec.Config.MaxConnections, defaultConnections)
}

// proxyThreads returns the number of worker threads: proxy.threads, or else the CPU limit rounded up, or else 1. With more threads, each
// thread handles fewer requests at once, and a request takes more CPU time. Copies need one thread for one order.
func proxyThreads(mc *cachev1alpha1.Memcached) int32 {
	if memcached.Copies(mc) > 1 {
		return 1
	}
	wanted := memcached.Proxy(mc)
	return threadCount(wanted.Threads, wanted.Resources, 1)
}
