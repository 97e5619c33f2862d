// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy_test proves what the policy of config/default refuses to the operator's service account, that the operator works under
// its roles and this policy, and what the warnings tell.
package policy_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/manifests"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// shop is the namespace of a user.
	shop = "shop"
	// timeout is how long a test waits for the API server or the operator. It is long enough for a loaded machine.
	timeout = "60s"
)

// installation is an API server with config/default, but without the operator.
type installation struct {
	*manifests.Installation
	// account are credentials of the operator's service account, and operator is its client.
	account  *rest.Config
	operator client.Client
}

func install(t *testing.T) *installation {
	t.Helper()
	g := NewWithT(t)
	ctrl.SetLogger(logr.Discard())
	// As on OpenShift: setting blockOwnerDeletion requires the permission to update the finalizers of the owner.
	i := &installation{Installation: manifests.Start(t, func(environment *envtest.Environment) {
		environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	})}
	i.Apply(t, kustomize.Render(t, repository.Path("config", "default")))
	i.account = rest.CopyConfig(i.Config)
	i.account.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + manifests.Namespace + ":" + manifests.Account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + manifests.Namespace, "system:authenticated"},
	}
	var err error
	i.operator, err = client.New(i.account, client.Options{Scheme: testenv.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(i.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}})).To(Succeed())
	probe := &corev1.ConfigMap{ObjectMeta: named("probe")}
	create := func() error { return i.operator.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) }
	g.Eventually(create, timeout).Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy 'memcached-operator-writes'")))
	probe.OwnerReferences = ownedBy("probe")
	g.Eventually(create, timeout).Should(Succeed(), "the API server knows the Kinds of owners")
	return i
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: shop, Name: name} }

// The operator does its work under its own roles and the policy. Then its account becomes a cluster administrator, and the policy alone
// refuses the attempts.
func TestTokenWritesOnlyChildren(t *testing.T) {
	i := install(t)
	requests := i.start(t)
	g := NewWithT(t)
	front := &cachev1alpha1.Memcached{ObjectMeta: named("front")}
	front.Spec = cachev1alpha1.MemcachedSpec{
		Workload: cachev1alpha1.WorkloadStatefulSet, Proxy: &cachev1alpha1.MemcachedProxy{}, NetworkPolicy: &cachev1alpha1.MemcachedNetworkPolicy{},
	}
	g.Expect(i.Admin.Create(t.Context(), front)).To(Succeed())
	g.Eventually(func() error {
		return i.Admin.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: "front-proxy"}, &appsv1.Deployment{})
	}, timeout).Should(Succeed())
	cache, stable := &cachev1alpha1.Memcached{ObjectMeta: named("cache")}, &cachev1alpha1.Memcached{ObjectMeta: named("stable")}
	stable.Spec.Workload = cachev1alpha1.WorkloadStatefulSet
	for _, mc := range []*cachev1alpha1.Memcached{cache, stable} {
		g.Expect(i.Admin.Create(t.Context(), mc)).To(Succeed())
		i.settles(t, mc)
		if mc == stable {
			i.runs(t, mc)
		}
		mc.Spec.Size += 2
		mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "changed"}
		mc.Spec.PodDisruptionBudget = cachev1alpha1.MemcachedPodDisruptionBudget{Enabled: ptr.To(mc == cache)}
		if mc.Spec.NetworkPolicy == nil {
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{}
		} else {
			mc.Spec.NetworkPolicy = nil
		}
		g.Expect(i.Admin.Update(t.Context(), mc)).To(Succeed())
		i.settles(t, mc)
	}
	i.isReplaced(t, stable)
	g.Expect(requests.Refused()).To(BeEmpty())
	i.attempts(t)
}

// runs creates the first pod of a StatefulSet, as the StatefulSet's controller would.
func (i *installation) runs(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	set := read[*appsv1.StatefulSet](t, i, mc.Name)
	pod := &corev1.Pod{ObjectMeta: named(mc.Name + "-0"), Spec: set.Spec.Template.Spec}
	pod.Labels, pod.Annotations = set.Spec.Template.Labels, set.Spec.Template.Annotations
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	NewWithT(t).Expect(i.Admin.Create(t.Context(), pod)).To(Succeed())
}

// isReplaced waits until the operator has deleted the first pod of a StatefulSet whose controller has observed the new template.
func (i *installation) isReplaced(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		set := read[*appsv1.StatefulSet](t, i, mc.Name)
		set.Status.ObservedGeneration = set.Generation
		g.Expect(i.Admin.Status().Update(t.Context(), set)).To(Succeed())
		err := i.Admin.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: mc.Name + "-0"}, &corev1.Pod{})
		g.Expect(err).To(Satisfy(apierrors.IsNotFound))
	}, timeout).Should(Succeed())
}

// settles waits until the operator has written all children of a Memcached.
func (i *installation) settles(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		g.Expect(i.Admin.Get(t.Context(), client.ObjectKeyFromObject(mc), mc)).To(Succeed())
		g.Expect(mc.Status.ObservedGeneration).To(Equal(mc.Generation), mc.Name)
		g.Expect(apimeta.IsStatusConditionFalse(mc.Status.Conditions, cachev1alpha1.ConditionDegraded)).To(BeTrue(), "%+v", mc.Status)
	}, timeout).Should(Succeed())
}

// start starts the operator with its own permissions, and records its requests. It stops at the end of the test.
func (i *installation) start(t *testing.T) *testenv.Requests {
	t.Helper()
	g := NewWithT(t)
	requests := &testenv.Requests{}
	mgr, err := ctrl.NewManager(requests.Record(i.account), ctrl.Options{
		Scheme: testenv.Scheme(), Cache: controllers.CacheOptions(""), Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "memcached-operator.cache.example.com", LeaderElectionNamespace: manifests.Namespace,
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)}, // go test -count
	})
	g.Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(context.Background())
	images := memcached.Options{DefaultImage: "docker.io/library/memcached:1.6.45", AgentImage: "example.com/memcached-operator-agent:v0.1.0"}
	options := controllers.Options{Memcached: images, MaxConcurrentReconciles: 8}
	g.Expect(controllers.SetupWithManager(running, mgr, metrics.New(prometheus.NewRegistry()), options)).To(Succeed())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(running) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-stopped).To(Succeed())
	})
	return requests
}

// attempt is a dry run with the operator's token. message is the message of the rule that refuses it, or empty.
type attempt struct {
	name, message string
	send          send
}

type send = func(t *testing.T, i *installation) error

// attempts sends each attempt under the policy. Nothing else refuses it, because the account is a cluster administrator here.
func (i *installation) attempts(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(i.Admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: manifests.Namespace, Name: manifests.Account}},
	})).To(Succeed())
	g.Eventually(func() error { return i.operator.List(t.Context(), &corev1.SecretList{}) }, timeout).Should(Succeed())
	i.createOthers(t)
	tried := map[string]bool{}
	for _, a := range slices.Concat(foreign(), dangerous(), i.ofPods(t), permitted()) {
		tried[a.message] = true
		if err := a.send(t, i); a.message == "" {
			g.Expect(err).NotTo(HaveOccurred(), a.name)
		} else {
			g.Expect(err).To(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring(a.message))), a.name)
		}
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "memcached-operator-writes"}}
	g.Expect(i.Admin.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Succeed())
	for _, rule := range policy.Spec.Validations {
		g.Expect(tried).To(HaveKey(rule.Message), "each rule refuses an attempt, or nobody would notice a wrong one")
	}
}

func created[T client.Object](name string, change func(T)) send {
	return func(t *testing.T, i *installation) error {
		t.Helper()
		object := read[T](t, i, name)
		object.SetName("fresh")
		object.SetResourceVersion("")
		object.GetOwnerReferences()[0].Name = "fresh"
		change(object)
		return i.operator.Create(t.Context(), object, client.DryRunAll)
	}
}

func changed[T client.Object](name string, change func(T), subresource ...string) send {
	return func(t *testing.T, i *installation) error {
		t.Helper()
		before := read[T](t, i, name)
		after := before.DeepCopyObject().(T)
		change(after)
		if len(subresource) > 0 {
			return i.operator.SubResource(subresource[0]).Patch(t.Context(), after, client.MergeFrom(before), client.DryRunAll)
		}
		return i.operator.Patch(t.Context(), after, client.MergeFrom(before), client.DryRunAll)
	}
}

func removed(object client.Object) send {
	return func(t *testing.T, i *installation) error {
		t.Helper()
		return i.operator.Delete(t.Context(), object, client.DryRunAll, client.GracePeriodSeconds(0))
	}
}

func sent(object client.Object) send {
	return func(t *testing.T, i *installation) error {
		t.Helper()
		return i.operator.Create(t.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

// read returns the object NAME of the user, or NAMESPACE/NAME.
func read[T client.Object](t *testing.T, i *installation, name string) T {
	t.Helper()
	key := client.ObjectKey{Namespace: shop, Name: name}
	if namespace, other, found := strings.Cut(name, "/"); found {
		key = client.ObjectKey{Namespace: namespace, Name: other}
	}
	object := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	NewWithT(t).Expect(i.Admin.Get(t.Context(), key, object)).To(Succeed())
	return object
}

const (
	kubes     = "metadata.namespace: the operator writes nothing in namespaces of Kubernetes"
	owner     = "metadata.ownerReferences: the controller must be the Memcached of this name, before and after"
	selector  = "spec.selector: must select pods with the operator's label only"
	addresses = "spec.externalIPs: the operator takes no traffic of other addresses"
	accounts  = "spec.template.spec.serviceAccountName, automountServiceAccountToken: pods act as nobody"
	rights    = "spec.template.spec: must have no host namespaces, host ports, privileged containers or added capabilities"
	volumes   = "spec.template.spec.volumes: must be no folder of the cluster node, no storage of others and no token"
	pods      = "metadata: the operator changes and deletes pods of the StatefulSets of Memcacheds only"
	reports   = "regarding: the operator reports about Memcacheds and leases only"
)

// foreign are writes of what is not a child, or of children that select or take what belongs to others.
func foreign() []attempt {
	others := map[string]string{"app": "website"}
	ofConfigMap := func(c *corev1.ConfigMap) { c.Data = others }
	external := func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.7"} }
	return []attempt{
		{"a Deployment in kube-system", kubes, created("cache", func(d *appsv1.Deployment) { d.Namespace = "kube-system" })},
		{"the configuration of the DNS", kubes, changed("kube-system/coredns", ofConfigMap)},
		{"delete the configuration of the DNS", kubes, removed(coreDNS())},
		{"evict a pod of the DNS", kubes, func(t *testing.T, i *installation) error {
			t.Helper()
			dryRun := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}}
			return i.operator.SubResource("eviction").Create(t.Context(), &corev1.Pod{ObjectMeta: coreDNS().ObjectMeta}, dryRun)
		}},
		{"a Deployment without an owner", owner, created("cache", func(d *appsv1.Deployment) { d.OwnerReferences = nil })},
		{"an owner that does not control", owner, created("cache", func(d *appsv1.Deployment) { d.OwnerReferences[0].Controller = nil })},
		{"an owner of a version that is not served", owner, created("cache", func(d *appsv1.Deployment) {
			d.OwnerReferences[0].APIVersion, d.OwnerReferences[0].BlockOwnerDeletion = "cache.example.com/v9", nil
		})},
		{"an owner of another Kind", owner, created("cache", func(d *appsv1.Deployment) {
			d.OwnerReferences[0].APIVersion, d.OwnerReferences[0].Kind, d.OwnerReferences[0].BlockOwnerDeletion = "v1", "Secret", nil
		})},
		{"an owner of another name", owner, created("cache", func(d *appsv1.Deployment) { d.Name = "another" })},
		{"a child for another owner", owner, changed("cache", func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "another" })},
		{"delete the Deployment of another", owner, removed(&appsv1.Deployment{ObjectMeta: named("website")})},
		{"the ConfigMap of another", owner, changed("website", ofConfigMap)},
		{"take over the ConfigMap of another", owner, changed("website", func(c *corev1.ConfigMap) {
			c.Labels, c.Annotations, c.OwnerReferences = left().Labels, left().Annotations, ownedBy("website")
		})},
		{"a Service for pods of others", selector, changed("cache-nodes", func(s *corev1.Service) { s.Spec.Selector = others })},
		{"a budget without a selector", selector, created("cache", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil })},
		{"a NetworkPolicy of all", selector, created("front", func(n *networkingv1.NetworkPolicy) { n.Spec.PodSelector.Reset() })},
		{"external addresses", addresses, changed("front", external)},
		{"storage of another set", volumes, created("stable", func(s *appsv1.StatefulSet) {
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
			claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
		})},
		{"an event about a cluster node", reports, sent(event("Node"))},
	}
}

// dangerous are changes of the pods of a new Deployment, a StatefulSet and a proxy.
func dangerous() []attempt {
	var all []attempt
	add := func(name, message string, change func(*corev1.PodSpec)) {
		all = append(all, attempt{"create " + name, message, created("cache", func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec) })},
			attempt{"change " + name, message, changed("stable", func(s *appsv1.StatefulSet) { change(&s.Spec.Template.Spec) })},
			attempt{"proxies: " + name, message, changed("front-proxy", func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec) })})
	}
	add("another account", accounts, func(p *corev1.PodSpec) { p.ServiceAccountName = "namespace-controller" })
	add("a token", accounts, func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil })
	add("host network", rights, func(p *corev1.PodSpec) { p.HostNetwork = true })
	add("host processes", rights, func(p *corev1.PodSpec) { p.HostPID, p.ShareProcessNamespace = true, nil })
	add("host IPC", rights, func(p *corev1.PodSpec) { p.HostIPC = true })
	add("privileges", rights, func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = privileged })
	add("a host port", rights, func(p *corev1.PodSpec) { p.Containers[0].Ports[0].HostPort = 1 })
	add("a privileged init container", rights, func(p *corev1.PodSpec) {
		p.InitContainers = append(p.InitContainers, corev1.Container{Name: "init", Image: "init", SecurityContext: privileged})
	})
	add("a capability", rights, func(p *corev1.PodSpec) {
		p.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
	})
	for name, source := range map[string]corev1.VolumeSource{
		"a folder of the node": {HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
		"the claim of another": {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "database"}},
		"a projected token": {Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"},
		}}}},
	} {
		add(name, volumes, func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "theirs", VolumeSource: source})
		})
	}
	return all
}

var privileged = &corev1.SecurityContext{Privileged: ptr.To(true)}

// ofPods deletes and changes a pod of a Memcached, and pods that differ from it in one way.
func (i *installation) ofPods(t *testing.T) []attempt {
	t.Helper()
	g := NewWithT(t)
	minor, err := testenv.MinorOf(i.Config)
	g.Expect(err).NotTo(HaveOccurred())
	const set = "StatefulSet"
	own, alone, bare, other := podOf("own", set), podOf("alone", set), podOf("bare", set), podOf("other", set)
	own.OwnerReferences[0].Name, alone.OwnerReferences, bare.Labels, other.OwnerReferences[0].Name = "own-c", nil, nil, "database"
	all := []attempt{{"create a pod", pods, sent(podOf("created", set))}}
	for _, pod := range []*corev1.Pod{own, alone, bare, other, podOf("front", "ReplicaSet")} {
		message := map[bool]string{false: pods}[pod == own]
		all = append(all,
			attempt{"delete " + pod.Name, message, removed(pod)}, attempt{"change " + pod.Name, message, changed(pod.Name, setImage)})
		if minor >= testenv.ResizeSince {
			all = append(all, attempt{"resize " + pod.Name, message, changed(pod.Name, raise, "resize")})
		}
		g.Expect(i.Admin.Create(t.Context(), pod)).To(Succeed())
	}
	return all
}

// permitted are writes of the operator that its run in this package does not need, and those to which others have added.
func permitted() []attempt {
	return []attempt{
		{"adopt an orphan", "", changed("left", func(b *policyv1.PodDisruptionBudget) { b.OwnerReferences = ownedBy("left") })},
		{"delete an orphan", "", removed(left())},
		{"delete a workload", "", removed(&appsv1.Deployment{ObjectMeta: named("cache")})},
		{"report about a lease", "", sent(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: manifests.Namespace, Name: "event"},
			InvolvedObject: corev1.ObjectReference{Kind: "Lease", Namespace: manifests.Namespace},
		})},
		{"report", "", sent(event("Memcached"))},
		{"keep external addresses of others", "", changed("exposed", func(s *corev1.Service) { s.Labels["team"] = "storefront" })},
		{"scale what others have edited", "", changed("edited", func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(2)) })},
		{"what others add to a template", "", created("cache", func(d *appsv1.Deployment) {
			pod := &d.Spec.Template.Spec
			d.Spec.Template.Labels["sidecar.istio.io/inject"], pod.ServiceAccountName = "true", "default"
			pod.Containers[0].Env = []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "http://proxy"}}
			pod.Containers = append(pod.Containers, corev1.Container{Name: "mesh", Image: "mesh", Command: []string{"mesh"}})
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
			for name, source := range map[string]corev1.VolumeSource{
				"identity": {CSI: &corev1.CSIVolumeSource{Driver: "csi.spiffe.io", ReadOnly: ptr.To(true)}},
				"secret":   {Secret: &corev1.SecretVolumeSource{SecretName: "mesh"}},
				"labels":   {DownwardAPI: &corev1.DownwardAPIVolumeSource{}},
			} {
				pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
			}
		})},
		{"what others add to a pod", "", changed("own-0", func(p *corev1.Pod) {
			setImage(p)
			p.Labels["team"], p.Annotations = "storefront", map[string]string{"policies.kyverno.io/last-applied-patches": "image"}
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "spot", Operator: corev1.TolerationOpExists})
		})},
	}
}

// createOthers creates what is not the operator's, an orphan, and the Service of a Memcached with an address of others.
func (i *installation) createOthers(t *testing.T) {
	t.Helper()
	website := &appsv1.Deployment{ObjectMeta: named("website")}
	website.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "website"}}
	website.Spec.Template.Labels, website.Spec.Template.Spec = website.Spec.Selector.MatchLabels, podOf("website", "Deployment").Spec
	exposed := read[*corev1.Service](t, i, "cache-nodes")
	exposed.Name, exposed.ResourceVersion, exposed.OwnerReferences = "exposed", "", ownedBy("exposed")
	exposed.Spec.ExternalIPs = []string{"203.0.113.7"}
	edited := website.DeepCopy()
	edited.Name, edited.OwnerReferences, edited.Spec.Template.Spec.HostNetwork = "edited", ownedBy("edited"), true
	for _, object := range []client.Object{website, edited, left(), exposed, coreDNS(), &corev1.ConfigMap{ObjectMeta: named("website")}} {
		NewWithT(t).Expect(i.Admin.Create(t.Context(), object)).To(Succeed())
	}
}

// left returns what the deletion of a Memcached with --cascade=orphan leaves.
func left() *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: named("left")}
	budget.Labels, budget.Annotations = memcached.NodeLabels("left"), map[string]string{"cache.example.com/applied-hash": "0"}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: budget.Labels}
	return budget
}

func ownedBy(name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: name, UID: "owner", Controller: ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}}
}

func coreDNS() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}
}

// podOf returns a pod with the labels of a Memcached, which an object of this Kind controls.
func podOf(name, kind string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: named(name + "-0")}
	pod.Labels = memcached.NodeLabels(name)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: "owner", Controller: ptr.To(true)}}
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")}
	pod.Spec.Containers = []corev1.Container{{
		Name: "memcached", Image: "memcached:1.6.45", Resources: corev1.ResourceRequirements{Limits: memory, Requests: memory},
	}}
	return pod
}

func setImage(p *corev1.Pod) { p.Spec.Containers[0].Image = "memcached:1.6.46" }

func raise(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("200Mi")
}

func event(kind string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: named("event"), EventTime: metav1.NewMicroTime(time.Unix(1, 0)), Type: corev1.EventTypeNormal, Reason: "Test", Action: "Test",
		ReportingController: "memcached-operator", ReportingInstance: "test", Regarding: corev1.ObjectReference{Kind: kind, Namespace: shop},
	}
}
