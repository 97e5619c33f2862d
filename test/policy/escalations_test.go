// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// escalations returns all escalations, except those with a field that an API server of the version minor drops.
func escalations(minor testenv.Minor) []escalation {
	var all []escalation
	for _, pod := range podEscalations() {
		if minor < escalationsSince[pod.name] {
			continue
		}
		all = append(all,
			escalation{"create pods with " + pod.name, pod.policy, pod.message, createDeployment(pod.change)},
			escalation{"give pods " + pod.name, pod.policy, pod.message, updateDeployment(pod.change)})
	}
	all = append(all, ownershipEscalations()...)
	all = append(all, serviceEscalations()...)
	all = append(all, configMapEscalations()...)
	all = append(all, childEscalations()...)
	all = append(all, proxyEscalations()...)
	all = append(all, launcherEscalations()...)
	all = append(all, foreignEscalations()...)
	all = append(all, deletionEscalations()...)
	all = append(all, podChangeEscalations()...)
	if minor >= testenv.ResizeSince {
		all = append(all, resizeEscalations()...)
	}
	return append(all, otherEscalations()...)
}

func serviceEscalations() []escalation {
	clusterIP := func(s *corev1.Service) { s.Spec.ClusterIP = "" }
	expose := func(t corev1.ServiceType) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Type, s.Spec.ClusterIP = t, "" }
	}
	external := func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.7"} }
	port := func(s *corev1.Service) { s.Spec.Ports[0].Port = 443 }
	target := func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(22) }
	return []escalation{
		{"open a port on every node", "services", "spec.type: must be ClusterIP", createService(expose(corev1.ServiceTypeNodePort))},
		{"ask for a load balancer", "services", "spec.type: must be ClusterIP", createService(expose(corev1.ServiceTypeLoadBalancer))},
		{"point a name at another host", "services", "spec.type: must be ClusterIP", createService(func(s *corev1.Service) {
			s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org", Selector: s.Spec.Selector}
		})},
		{"take an address of the cluster", "services", "spec.clusterIP: must be None", createService(clusterIP)},
		{"take the traffic of an outside address", "services", "spec.externalIPs, spec.externalName: must not be set", createService(external)},
		{"take the traffic of an outside address later", "services", "spec.externalIPs, spec.externalName: must not be set", updateService(external)},
		{"ask for an address of a load balancer", "services", "spec.loadBalancerIP, loadBalancerClass", createService(func(s *corev1.Service) {
			s.Spec.LoadBalancerIP = "203.0.113.7"
		})},
		{"use the port of another protocol", "services", "spec.ports: must be ports 11211 and 11212 over TCP", updateService(port)},
		{"lead to another port of the pods", "services", "spec.ports: must be ports 11211 and 11212 over TCP", updateService(target)},
	}
}

// configMapEscalations misuse the ConfigMap from which applications get environment variables and the addresses of servers.
func configMapEscalations() []escalation {
	const none, foreign = "metadata.ownerReferences: the controller must be the Memcached of the same name", "what no Memcached of the same name controls must stay as it is"
	const keys, service = "data, binaryData, immutable: must be the keys host, port, servers, tlsPort and tlsServers of data and no others", "data.host, data.port, data.tlsPort: must be the Service of the Memcached"
	binary := func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"LD_PRELOAD": []byte("/mine.so")} }
	theirs := &corev1.ConfigMap{ObjectMeta: named("website-servers")}
	all := []escalation{
		{"create a ConfigMap of another name", "children", none, createConfigMap(func(c *corev1.ConfigMap) { c.Name = "website" })},
		{"create a ConfigMap of the Memcached's name", "children", none, createConfigMap(func(c *corev1.ConfigMap) { c.Name = stable })},
		{"create a ConfigMap that its name attributes to another Memcached", "children", none, createConfigMap(func(c *corev1.ConfigMap) {
			c.Name = "another" + c.Name
		})},
		{"take over the user's ConfigMap", "children", foreign, update(theirs, func(c *corev1.ConfigMap) {
			c.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: "website", UID: "mine", Controller: ptr.To(true),
			}}
		})},
		{"delete the ConfigMap of another", "children", foreign, remove(theirs)},
		{"put a variable into applications", "configmaps", keys, createConfigMap(setData("LD_PRELOAD", "/mine.so"))},
		{"put a variable into applications later", "configmaps", keys, updateConfigMap(setData("LD_PRELOAD", "/mine.so"))},
		{"put a variable into applications as bytes", "configmaps", keys, updateConfigMap(binary)},
		{"keep others from changing the servers", "configmaps", keys, updateConfigMap(func(c *corev1.ConfigMap) { c.Immutable = ptr.To(true) })},
		{"lead applications to another host", "configmaps", service, updateConfigMap(setData("host", "example.org"))},
		{"lead applications to another port", "configmaps", service, updateConfigMap(setData("port", "22"))},
		{"lead applications to another port of TLS", "configmaps", service, updateConfigMap(setData("tlsPort", "11211"))},
		{"lead applications to another port than that of memcached", "configmaps", "data.servers: must be addresses of nodes", updateConfigMap(
			func(c *corev1.ConfigMap) {
				c.Data["port"], c.Data["servers"] = "11212", strings.ReplaceAll("NAME-0.NAME.shop.svc:11211", "NAME", empty)
			})},
	}
	for name, servers := range map[string]string{
		"another host":                     "example.org:11211",
		"another host besides":             "NAME-0.NAME.shop.svc:11211,example.org:11211",
		"another host in front":            "example.org:11211,NAME-0.NAME.shop.svc:11211",
		"another namespace":                "NAME-0.NAME.elsewhere.svc:11211",
		"another Memcached":                "another-0.another.shop.svc:11211",
		"another port":                     "NAME-0.NAME.shop.svc:22",
		"a name in a name":                 "NAME-0.example.org.NAME.shop.svc:11211",
		"numbers that are no nodes":        "NAME-0123.NAME.shop.svc:11211",
		"an address in a number":           "NAME-0.NAME.shop.svc:11211,203.0.113.7:11211",
		"an empty address":                 "NAME-0.NAME.shop.svc:11211,",
		"an address that ends in the next": "NAME-0.NAME.shop.svc:11211.NAME.shop.svc:11211",
		"another separator":                "NAME-0.NAME.shop.svc:11211 NAME-1.NAME.shop.svc:11211",
	} {
		change := setData("servers", strings.ReplaceAll(servers, "NAME", empty))
		all = append(all, escalation{"lead applications to " + name, "configmaps", "data.servers: must be addresses of nodes", updateConfigMap(change)})
		change = setData("tlsServers", strings.ReplaceAll(strings.ReplaceAll(servers, "NAME", empty), "11211", "11212"))
		all = append(all, escalation{"lead applications with TLS to " + name, "configmaps", "data.tlsServers: must be addresses of nodes", updateConfigMap(change)})
	}
	return all
}

// foreignEscalations are writes that the operator never makes, such as the creation of a pod or the deletion of a Service.
func foreignEscalations() []escalation {
	const must = "the operator must not "
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "mine"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	daemons := &appsv1.DaemonSet{ObjectMeta: named("mine"), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "mine"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "mine"}}, Spec: newPod().Spec},
	}}
	job := &batchv1.Job{ObjectMeta: named("mine"), Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: newPod().Spec}}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod := newPod()
	pod.Name = "mine"
	secret := newSecret()
	secret.Name = "mine"
	return []escalation{
		{"create a pod", "writes", must + "CREATE pods", create(pod)},
		{"change the status of a pod", "writes", must + "UPDATE pods/status", func(t *testing.T, c client.Client) error {
			t.Helper()
			pod := newPod()
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
				return err
			}
			pod.Status.Phase = corev1.PodFailed
			return c.Status().Update(t.Context(), pod, client.DryRunAll)
		}},
		{"create a DaemonSet", "writes", must + "CREATE apps/daemonsets", create(daemons)},
		{"create a Job", "writes", must + "CREATE batch/jobs", create(job)},
		{"create a Secret", "writes", must + "CREATE secrets", create(secret)},
		{"change a Secret", "writes", must + "UPDATE secrets", update(newSecret(), func(s *corev1.Secret) { s.StringData = map[string]string{"password": "mine"} })},
		{"delete a Secret", "writes", must + "DELETE secrets", remove(newSecret())},
		{"make itself an administrator", "writes", must + "CREATE rbac.authorization.k8s.io/clusterrolebindings", create(binding)},
		{"change its own role", "writes", must + "UPDATE rbac.authorization.k8s.io/clusterroles", update(
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "memcached-operator-manager-role"}},
			func(r *rbacv1.ClusterRole) {
				r.Rules = append(r.Rules, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
			})},
		{"create a namespace", "writes", must + "CREATE namespaces", create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})},
		{"delete the Service", "writes", must + "DELETE services", remove(&corev1.Service{ObjectMeta: named(existing)})},
		{"create a Memcached", "writes", must + "CREATE cache.example.com/memcacheds", create(&cachev1alpha1.Memcached{ObjectMeta: named("mine")})},
		{"change a Memcached", "writes", must + "UPDATE cache.example.com/memcacheds", update(&cachev1alpha1.Memcached{ObjectMeta: named(existing)},
			func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = 9 })},
		{"delete a Memcached", "writes", must + "DELETE cache.example.com/memcacheds", remove(&cachev1alpha1.Memcached{ObjectMeta: named(existing)})},
	}
}

// otherEscalations write leases or events that the operator would never write, or use subresources that it never uses.
func otherEscalations() []escalation {
	const own = "in its own namespace only"
	lease := func(namespace, name string) client.Object {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	const reports = "reportingController, regarding: the operator reports events in its own name and about Memcacheds and MemcachedProxies only"
	event := func(controller, kind, apiVersion string) client.Object {
		return &eventsv1.Event{
			ObjectMeta: named("forged"), EventTime: metav1.NewMicroTime(time.Unix(1, 0)), Type: corev1.EventTypeNormal, Reason: "Forged",
			Action: "Forge", ReportingController: controller, ReportingInstance: "forger",
			Regarding: corev1.ObjectReference{Kind: kind, APIVersion: apiVersion, Namespace: shop, Name: existing},
		}
	}
	return []escalation{
		{"hold the lease of another", "writes", "metadata.name: the operator writes its own lease only", create(lease(operatorNamespace, "another"))},
		{"report what another component did", "writes", reports, create(event("kubelet", "Memcached", "cache.example.com/v1alpha1"))},
		{"report about what is not a Memcached", "writes", reports, create(event("memcached-operator", "Pod", "v1"))},
		{"report about another's Memcached", "writes", reports, create(event("memcached-operator", "Memcached", "example.org/v1"))},
		{"report about a version that does not exist", "writes", reports, create(event("memcached-operator", "Memcached", unserved))},
		{"report in the old way about another object", "writes", "involvedObject: the operator reports events of this kind", create(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: operatorNamespace, Name: "forged"},
			InvolvedObject: corev1.ObjectReference{Kind: "Secret", Namespace: operatorNamespace, Name: "credentials"},
		})},
		{"hold a lease elsewhere", "writes", own, create(lease(shop, "memcached-operator.cache.example.com"))},
		{"get a token of another account", "writes", "the operator must not CREATE serviceaccounts/token", subresource("token",
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: account}}, &authenticationv1.TokenRequest{})},
		{"evict a pod", "writes", "the operator must not CREATE pods/eviction", subresource("eviction", newPod(), &policyv1.Eviction{
			ObjectMeta: named("website"), DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		})},
	}
}
