// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
	"github.com/example/memcached-operator/test/testenv"
)

// Names of the user's MemcachedProxies. Only existingProxy has children.
const (
	existingProxy = "front"
	freshProxy    = "fresh-front"
)

// createProxies creates both MemcachedProxies, and the children of existingProxy.
func (i *installation) createProxies(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for _, name := range []string{existingProxy, freshProxy} {
		proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: named(name)}
		proxy.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: stable}}
		proxy.Spec.NetworkPolicy.Enabled = ptr.To(true)
		g.Expect(i.admin.Create(t.Context(), proxy)).To(Succeed())
	}
	for _, child := range proxyChildrenOf(t, i.admin, existingProxy) {
		g.Expect(i.admin.Create(t.Context(), child)).To(Succeed())
	}
}

// proxyChildrenOf returns the children that the operator renders for a MemcachedProxy.
func proxyChildrenOf(t *testing.T, c client.Client, name string) []client.Object {
	t.Helper()
	g := NewWithT(t)
	proxy := &cachev1alpha1.MemcachedProxy{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: name}, proxy)).To(Succeed())
	pool := &cachev1alpha1.Memcached{ObjectMeta: named(stable)}
	pool.Spec.Workload, pool.Status.ObservedGeneration, pool.Status.Servers = cachev1alpha1.WorkloadStatefulSet, 1, make([]string, 3)
	plan := memcachedproxy.For(memcachedproxy.View{Proxy: proxy, Pool: pool, Now: time.Now()},
		memcached.Options{DefaultImage: "docker.io/library/memcached:1.6.45", AgentImage: agentImage})
	g.Expect(plan.Problem).To(BeNil())
	for _, child := range plan.Objects {
		g.Expect(controllerutil.SetControllerReference(proxy, child, testenv.Scheme())).To(Succeed())
	}
	return plan.Objects
}

// createProxyChild returns an attempt to create the child of freshProxy that has the type T. The function change modifies the child
// first.
func createProxyChild[T client.Object](change func(T)) attempt {
	return createOneOf(change, func(t *testing.T, c client.Client) []client.Object {
		t.Helper()
		return proxyChildrenOf(t, c, freshProxy)
	})
}

// updateProxyChild returns an attempt to update a child of existingProxy. The argument child only determines the type.
func updateProxyChild[T client.Object](child T, change func(T)) attempt {
	name := existingProxy
	if _, routes := client.Object(child).(*corev1.ConfigMap); routes {
		name += memcachedproxy.RoutesSuffix
	}
	return updateNamed(child, name, change)
}

func proxyEscalations() []escalation {
	all := append(proxyOwnershipEscalations(), proxyContentEscalations()...)
	for _, pod := range slices.Concat(proxyPodEscalations(), proxyContainerEscalations(), proxyTLSEscalations()) {
		all = append(all,
			escalation{"create proxies with " + pod.name, "proxypods", pod.message, createProxyChild(pod.change)},
			escalation{"give proxies " + pod.name, "proxypods", pod.message, updateProxyChild(&appsv1.Deployment{}, pod.change)})
	}
	return all
}

func proxyOwnershipEscalations() []escalation {
	const owner, foreign = "the controller must be the MemcachedProxy of the same name", "what this MemcachedProxy does not control must stay as it is"
	take := func(object client.Object) {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "cache.example.com/v1alpha1", Kind: "MemcachedProxy", Name: object.GetName(), UID: "1", Controller: ptr.To(true),
		}})
	}
	namespace := func(d *appsv1.Deployment) { d.Namespace = "kube-system" }
	stays := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "stays", UID: "stays"}
	return []escalation{
		{"run a proxy beside the cluster's own", "proxies", "writes nothing of a proxy in kube-system", createProxyChild(namespace)},
		{"delete the Deployment of a proxy", "proxies", "deletes its PodDisruptionBudget and NetworkPolicy only", remove(&appsv1.Deployment{ObjectMeta: named(existingProxy)})},
		{"delete the routes", "proxies", "deletes its PodDisruptionBudget and NetworkPolicy only", remove(&corev1.ConfigMap{ObjectMeta: named(existingProxy + "-routes")})},
		{"run a set as a proxy", "proxies", "a MemcachedProxy has no StatefulSet", createStatefulSet(func(s *appsv1.StatefulSet) { take(s) })},
		{"create what another proxy controls", "proxies", owner, createProxyChild(func(s *corev1.Service) { s.Name = "other" })},
		{"create what a proxy of an unserved version controls", "proxies", owner, createProxyChild(func(s *corev1.Service) {
			s.OwnerReferences[0].APIVersion = unserved
		})},
		{"take a Deployment of others for a proxy", "proxies", foreign, update(&appsv1.Deployment{ObjectMeta: named("website")}, func(d *appsv1.Deployment) {
			d.Labels = memcachedproxy.IdentityOf("website")
			take(d)
		})},
		{"take the Deployment of a Memcached for a proxy", "proxies", foreign, updateDeployment(func(d *appsv1.Deployment) { take(d) })},
		{"give the objects of a proxy to another one", "proxies", foreign, updateProxyChild(&corev1.Service{}, func(s *corev1.Service) { s.OwnerReferences[0].UID = "2" })},
		{"keep what a proxy had", "proxies", "adds no other owner to what is of a proxy", updateProxyChild(&corev1.Service{}, func(s *corev1.Service) {
			s.OwnerReferences = append(s.OwnerReferences, stays)
		})},
		{"block the deletion of a proxy", "proxies", "sets and removes none of a proxy", updateProxyChild(&corev1.Service{}, func(s *corev1.Service) {
			s.Finalizers = []string{"example.com/stay"}
		})},
		{"name a proxy otherwise", "proxies", "must say that this belongs to a MemcachedProxy", updateProxyChild(&corev1.Service{}, func(s *corev1.Service) {
			s.Labels["app.kubernetes.io/name"] = "memcached"
		})},
		{"label the Deployment of a proxy", "proxies", "adds no label to what is of a proxy", updateProxyChild(&appsv1.Deployment{}, func(d *appsv1.Deployment) {
			d.Labels["app"] = "website"
		})},
		{"give what a proxy has to nobody", "children", "the controller must be the Memcached of the same name", updateProxyChild(&corev1.Service{}, func(s *corev1.Service) {
			s.OwnerReferences = nil
		})},
	}
}

func proxyContentEscalations() []escalation {
	const service, ports = "the Service of a proxy must have a ClusterIP", "the Service of a proxy must have ports 11211 and 11212"
	const routes = "the ConfigMap of a proxy must have the key routes, with nodes of a Memcached of the namespace"
	route := func(text string) attempt {
		return updateProxyChild(&corev1.ConfigMap{}, func(c *corev1.ConfigMap) { c.Data["routes"] = text })
	}
	others := map[string]string{"app": "website"}
	return []escalation{
		{"run too many proxies", "proxies", "must be at most 1000 proxies", updateProxyChild(&appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(1001)) })},
		{"lead clients of a proxy to others", "proxies", "must select the pods of the MemcachedProxy", updateProxyChild(&corev1.Service{}, func(s *corev1.Service) { s.Spec.Selector = others })},
		{"protect others with the budget of a proxy", "proxies", "must select the pods of the MemcachedProxy", createProxyChild(func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchLabels = others
		})},
		{"isolate others with the policy of a proxy", "proxies", "must select the pods of the MemcachedProxy", createProxyChild(func(p *networkingv1.NetworkPolicy) {
			p.Spec.PodSelector = metav1.LabelSelector{}
		})},
		{"admit everybody to a proxy", "proxies", "must admit the clients of a proxy that it lists", createProxyChild(func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress[0].From = nil })},
		{"admit clients to the launcher", "proxies", "must admit the clients of a proxy that it lists", createProxyChild(func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress[0].Ports[0].Port = ptr.To(intstr.FromInt32(9151))
		})},
		{"open a port for a proxy on every node", "proxies", service, createProxyChild(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })},
		{"take an outside address for a proxy", "proxies", service, updateProxyChild(&corev1.Service{}, func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.7"} })},
		{"have no address", "proxies", service, createProxyChild(func(s *corev1.Service) { s.Spec.ClusterIP = "None" })},
		{"use another port of a proxy", "proxies", ports, updateProxyChild(&corev1.Service{}, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(22) })},
		{"lead to another host", "proxies", routes, route("example-%d.com 3\n")},
		{"lead to another namespace", "proxies", routes, route("stable-nodes-%d.stable-nodes.kube-system.svc 3\n")},
		{"copy to another namespace", "proxies", routes, route("stable-nodes-%d.stable-nodes.shop.svc 3\nstable-nodes-%d.stable-nodes.kube-system.svc\n")},
		{"write more than routes", "proxies", routes, route("stable-nodes-%d.stable-nodes.shop.svc 3\nos.exit()\n")},
		{"write four copies", "proxies", routes, route("a-%d.a.shop.svc 3\nb-%d.b.shop.svc\nc-%d.c.shop.svc\nd-%d.d.shop.svc\n")},
		{"add a key to the routes", "proxies", routes, updateProxyChild(&corev1.ConfigMap{}, func(c *corev1.ConfigMap) { c.Data["more"] = "x" })},
		{"add bytes to the routes", "proxies", "binaryData, immutable: the ConfigMap of a proxy must have none", updateProxyChild(&corev1.ConfigMap{}, func(c *corev1.ConfigMap) {
			c.BinaryData = map[string][]byte{"x": {1}}
		})},
	}
}

func proxyPodEscalations() []podEscalation {
	pod := func(name, message string, change func(*corev1.PodSpec)) podEscalation {
		return podEscalation{name: name, policy: "proxypods", message: message, change: ofPod(change)}
	}
	return []podEscalation{
		pod("an account", "the pods of a proxy have no account", func(p *corev1.PodSpec) { p.ServiceAccountName = "admin" }),
		pod("a token", "the pods of a proxy have no account", func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil }),
		pod("the network of the host", "must not be set for a proxy", func(p *corev1.PodSpec) { p.HostNetwork = true }),
		pod("processes that see each other", "shareProcessNamespace without the volume credentials", func(p *corev1.PodSpec) {
			p.ShareProcessNamespace = ptr.To(true)
		}),
		pod("a Secret", "must be launcher with at most 64Mi, routes", func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "more", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "credentials"}}})
		}),
		pod("the routes of another", "must be launcher with at most 64Mi, routes", func(p *corev1.PodSpec) { p.Volumes[1].ConfigMap.Name = "other" }),
		pod("a large volume", "must be launcher with at most 64Mi, routes", func(p *corev1.PodSpec) {
			p.Volumes[0].EmptyDir.SizeLimit = ptr.To(resource.MustParse("1Gi"))
		}),
		pod("a cluster node", "terminationGracePeriodSeconds: must be those of a proxy", func(p *corev1.PodSpec) { p.NodeName = "node-1" }),
		pod("another DNS", "a proxy asks the DNS of the cluster", func(p *corev1.PodSpec) { p.DNSConfig.Nameservers = []string{"203.0.113.7"} }),
		pod("a patient DNS", "a proxy asks the DNS of the cluster", func(p *corev1.PodSpec) { p.DNSConfig.Options[0].Value = ptr.To("30") }),
		pod("root", "must be non-root with seccomp RuntimeDefault", func(p *corev1.PodSpec) { p.SecurityContext.RunAsUser = ptr.To(int64(0)) }),
		{"a label of the cluster", "proxypods", "the pods of a proxy must have no profile of AppArmor", func(d *appsv1.Deployment) {
			d.Spec.Template.Labels["k8s-app"] = "kube-dns"
		}},
		pod("priority", "must not be a class of the system for a proxy", func(p *corev1.PodSpec) { p.PriorityClassName = "system-node-critical" }),
		pod("the neighbors of others", "no term of a proxy may have namespaces", func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: corev1.LabelHostname, NamespaceSelector: &metav1.LabelSelector{}},
			}}}
		}),
	}
}

func proxyContainerEscalations() []podEscalation {
	in := func(name, message string, change func(*corev1.Container)) podEscalation {
		return podEscalation{name: name, policy: "proxypods", message: message, change: ofContainer(change)}
	}
	const runs, installs = "a proxy runs memcached by the launcher", "a proxy has one, which installs the launcher, and at most memcached-agent"
	const mounts = "must be launcher, routes, credentials and, for the agent, tls-secret at the paths of a proxy"
	return []podEscalation{
		in("another command", runs, func(c *corev1.Container) { c.Command = []string{"sh"} }),
		in("another option", runs, func(c *corev1.Container) { c.Args = append(c.Args, "--program=sh") }),
		{"another init container", "proxypods", installs, ofPod(func(p *corev1.PodSpec) {
			p.InitContainers = append(p.InitContainers, *p.InitContainers[0].DeepCopy())
			p.InitContainers[1].Name = "more"
		})},
		{"an installer of something else", "proxypods", installs, ofPod(func(p *corev1.PodSpec) { p.InitContainers[0].Command[2] = "/run/launcher/x" })},
		in("a variable", mounts, func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "A", Value: "b"}} }),
		in("another path", mounts, func(c *corev1.Container) { c.VolumeMounts[0].MountPath = "/usr" }),
		in("a port of the host", "ports 11211, 11212, 9151 and 9150 of a proxy", func(c *corev1.Container) { c.Ports[0].HostPort = 11211 }),
		in("another probe", "must be those of the launcher of a proxy", func(c *corev1.Container) {
			c.LivenessProbe.HTTPGet = nil
			c.LivenessProbe.Exec = &corev1.ExecAction{Command: []string{"sh"}}
		}),
		in("a terminal", "must be a sleep before a proxy stops, or nothing", func(c *corev1.Container) { c.TTY = true }),
		in("privileges", "the containers of a proxy must be restricted", func(c *corev1.Container) {
			c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = ptr.To(true), ptr.To(true)
		}),
	}
}

func harmlessForProxies() map[string]attempt {
	return map[string]attempt{
		"create the Deployment of a proxy": createProxyChild(func(*appsv1.Deployment) {}),
		"create one with TLS":              createProxyChild(proxyWithTLS(func(*corev1.PodSpec) {})),
		"give a proxy TLS":                 updateProxyChild(&appsv1.Deployment{}, proxyWithTLS(func(*corev1.PodSpec) {})),
		"serve TLS": updateProxyChild(&corev1.Service{}, func(s *corev1.Service) {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "memcached-tls", Port: 11212, TargetPort: intstr.FromString("memcached-tls")})
		}),
		"admit readers of metrics": createProxyChild(func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress[0].Ports[0].Port = ptr.To(intstr.FromInt32(9150))
		}),
		"create the Service of a proxy": createProxyChild(func(*corev1.Service) {}),
		"create the budget of a proxy":  createProxyChild(func(*policyv1.PodDisruptionBudget) {}),
		"create the policy of a proxy":  createProxyChild(func(*networkingv1.NetworkPolicy) {}),
		"create the routes of a proxy":  createProxyChild(func(*corev1.ConfigMap) {}),
		"announce a number of nodes": updateProxyChild(&corev1.ConfigMap{}, func(c *corev1.ConfigMap) {
			c.Data["routes"] = "stable-nodes-%d.stable-nodes.shop.svc 3 next 4 2026-11-24T10:00:00Z\n"
		}),
		"announce it for copies": updateProxyChild(&corev1.ConfigMap{}, func(c *corev1.ConfigMap) {
			c.Data["routes"] = "stable-nodes-%d.stable-nodes.shop.svc 3 next 4 2026-11-24T10:00:00Z\nb-%d.b.shop.svc\nc-%d.c.shop.svc\n"
		}),
		"scale a proxy":                   updateProxyChild(&appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(7)) }),
		"label the Service of a proxy":    updateProxyChild(&corev1.Service{}, func(s *corev1.Service) { s.Labels["team"] = "storefront" }),
		"change the pods of a proxy":      updateProxyChild(&appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Template.Labels["team"] = "storefront" }),
		"delete the budget of a proxy":    remove(&policyv1.PodDisruptionBudget{ObjectMeta: named(existingProxy)}),
		"delete the policy of a proxy":    remove(&networkingv1.NetworkPolicy{ObjectMeta: named(existingProxy)}),
		"restore the labels of a proxy's": updateProxyChild(&corev1.Service{}, func(s *corev1.Service) { s.Labels["app.kubernetes.io/name"] = "memcached-proxy" }),
	}
}
