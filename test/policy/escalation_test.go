// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

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

	"github.com/example/memcached-operator/test/testenv"
)

// escalation is an attempt that a policy must refuse with a message. policy is the name of the policy without the prefix
// memcached-operator-.
type escalation struct {
	name, policy, message string
	attempt               attempt
}

// The service account is a cluster administrator here, so only policies can refuse a request. Without the policies, the API server
// must permit every escalation. With the policies, it must refuse every escalation.
func TestEscalationsAreRefusedByPoliciesAlone(t *testing.T) {
	i := install(t)
	i.grantEverything(t)
	i.createForeignObjects(t)
	i.createMemcacheds(t)
	corpus := escalations(i.minor)
	for _, escalation := range corpus {
		t.Run("without the policies/"+escalation.name, func(t *testing.T) {
			if err := escalation.attempt(t, i.operator); err != nil {
				t.Errorf("refused without the policies, so the attempt proves nothing: %v", err)
			}
		})
	}
	i.installPolicies(t)
	for _, escalation := range corpus {
		t.Run("with the policies/"+escalation.name, func(t *testing.T) {
			// The API server may not have all policies yet: installPolicies waits only for the policies that it probes.
			NewWithT(t).Eventually(t.Context(), func() error { return escalation.attempt(t, i.operator) }, timeout).Should(And(
				Satisfy(refused),
				MatchError(ContainSubstring("ValidatingAdmissionPolicy 'memcached-operator-"+escalation.policy+"'")),
				MatchError(ContainSubstring(escalation.message)),
			))
		})
	}
	t.Run("an image is refused for everybody, also in an init container", func(t *testing.T) {
		attempt := updateDeployment(ofPod(func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "first", Image: "registry.example.com/miner:1"}}
		}))
		NewWithT(t).Expect(attempt(t, i.admin)).To(MatchError(ContainSubstring("registry.example.com/miner:1 is not in the ConfigMap")))
	})
	t.Run("an orphaned child may be adopted, but not given to another owner", func(t *testing.T) {
		g := NewWithT(t)
		service := &corev1.Service{ObjectMeta: named(existing)}
		g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(service), service)).To(Succeed())
		owners := service.OwnerReferences
		service.OwnerReferences = nil
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, "cache.example.com/applied-hash", "0123456789abcdef")
		g.Expect(i.admin.Update(t.Context(), service)).To(Succeed())
		g.Expect(updateService(func(s *corev1.Service) { s.OwnerReferences = owners })(t, i.operator)).To(Succeed())
		g.Expect(updateService(func(s *corev1.Service) {
			s.OwnerReferences = append(slices.Clone(owners), metav1.OwnerReference{
				APIVersion: "v1", Kind: "ConfigMap", Name: "stays", UID: "another",
			})
		})(t, i.operator)).To(MatchError(ContainSubstring("the operator adds no other owner")))
		service.OwnerReferences = owners
		g.Expect(i.admin.Update(t.Context(), service)).To(Succeed())
	})
	t.Run("what others have added to a ConfigMap may stay, and go", func(t *testing.T) {
		g := NewWithT(t)
		added := &corev1.ConfigMap{ObjectMeta: named(empty + "-servers")}
		g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(added), added)).To(Succeed())
		added.Data["note"], added.BinaryData = "theirs", map[string][]byte{"bytes": {1}}
		g.Expect(i.admin.Update(t.Context(), added)).To(Succeed())
		g.Expect(updateConfigMap(setData("servers", empty+"-0."+empty+".shop.svc:11211"))(t, i.operator)).To(Succeed())
		g.Expect(updateConfigMap(setData("note", "mine"))(t, i.operator)).
			To(MatchError(ContainSubstring("must be the keys host, port, servers, tlsPort and tlsServers of data and no others")))
		g.Expect(updateConfigMap(func(c *corev1.ConfigMap) {
			delete(c.Data, "note")
			c.BinaryData = nil
		})(t, i.operator)).To(Succeed())
	})
	t.Run("what others have written among arguments may stay, and go", func(t *testing.T) {
		g := NewWithT(t)
		added := argumentsOf(t, i.admin, empty)
		want := added.Data
		_, err := controllerutil.CreateOrUpdate(t.Context(), i.admin, added, func() error {
			added.Data = maps.Clone(want)
			added.Data["note"], added.Data["arguments.2123456789abcdef"], added.Data["nodes.2123456789abcdef"] = "theirs", "-A", "-A"
			return nil
		})
		g.Expect(err).NotTo(HaveOccurred())
		change := func(key, value string) error { return update(added, setData(key, value))(t, i.operator) }
		g.Expect(change("arguments."+hash, strings.Replace(arguments, "-t 4", "-t 5", 1))).To(Succeed())
		g.Expect(change("arguments.2123456789abcdef", "-A -A")).To(MatchError(ContainSubstring("arguments.HASH must be")))
		g.Expect(change("nodes.2123456789abcdef", "-A -A")).To(MatchError(ContainSubstring("nodes.HASH must say")))
		g.Expect(update(added, func(c *corev1.ConfigMap) { c.Data = want })(t, i.operator)).To(Succeed())
	})
	t.Run("an administrator may allow the system's priority classes", func(t *testing.T) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: account}}
		g := NewWithT(t)
		g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(account), account)).To(Succeed())
		account.Annotations = map[string]string{"cache.example.com/allow-system-priority-classes": "true"}
		g.Expect(i.admin.Update(t.Context(), account)).To(Succeed())
		attempt := updateDeployment(ofPod(func(p *corev1.PodSpec) { p.PriorityClassName = "system-cluster-critical" }))
		g.Eventually(t.Context(), func() error { return attempt(t, i.operator) }, timeout).Should(Succeed())
	})
	for _, pod := range podEscalations() {
		if i.minor < escalationsSince[pod.name] {
			t.Run("dropped by the API server/"+pod.name, func(t *testing.T) {
				unchanged := i.stored(t, func(*appsv1.Deployment) {})
				NewWithT(t).Expect(i.stored(t, pod.change)).To(Equal(unchanged))
			})
		}
	}
	all := harmless()
	maps.Copy(all, harmlessForProxies())
	maps.Copy(all, launches())
	maps.Copy(all, podChanges())
	if i.minor >= testenv.ResizeSince {
		all["resize a living pod"] = resized(0, "200Mi")
	}
	for name, attempt := range all {
		t.Run("harmless/"+name, func(t *testing.T) {
			if err := attempt(t, i.operator); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("%d attempts", len(corpus))
}

// Each rule with a fixed message must refuse an escalation. Otherwise, nobody would notice a wrong rule.
func TestEveryRuleHasAnEscalation(t *testing.T) {
	corpus, rules := escalations(math.MaxInt), 0
	for name := range escalationsSince {
		if !slices.ContainsFunc(podEscalations(), func(p podEscalation) bool { return p.name == name }) {
			t.Errorf("there is no attempt %q", name)
		}
	}
	for _, policy := range policies(t, render(t, overlay{base: "default", all: true})) {
		if policy.Name == "memcached-operator-warnings" {
			continue // this policy refuses nothing; TestSuspiciousSpecsAreWarnedAbout checks its messages
		}
		for _, rule := range policy.Spec.Validations {
			if rule.MessageExpression != "" {
				continue // the message depends on the request, so it cannot be compared here
			}
			rules++
			if !slices.ContainsFunc(corpus, func(e escalation) bool {
				return policy.Name == "memcached-operator-"+e.policy && strings.Contains(rule.Message, e.message)
			}) {
				t.Errorf("no attempt is refused by %s with %q", policy.Name, rule.Message)
			}
		}
	}
	t.Logf("%d rules", rules)
	if rules < 45 {
		t.Errorf("only %d rules have a message", rules)
	}
}

// createForeignObjects creates objects that do not belong to the operator, and the pods that the attempts in these tests delete or
// change.
func (i *installation) createForeignObjects(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	labels := map[string]string{"app": "website"}
	g.Expect(i.admin.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: named("website"),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "website", Image: "website"}}},
			},
		},
	})).To(Succeed())
	g.Expect(i.admin.Create(t.Context(), &corev1.Service{
		ObjectMeta: named("website"),
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	})).To(Succeed())
	g.Expect(i.admin.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: named("website"),
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	})).To(Succeed())
	g.Expect(i.admin.Create(t.Context(), &networkingv1.NetworkPolicy{ObjectMeta: named("website")})).To(Succeed())
	g.Expect(i.admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("website-servers")})).To(Succeed())
	g.Expect(i.admin.Create(t.Context(), newSecret())).To(Succeed())
	g.Expect(i.admin.Create(t.Context(), newPod())).To(Succeed())
	i.createPods(t)
}

func newSecret() *corev1.Secret { return &corev1.Secret{ObjectMeta: named("credentials")} }

func newClaim() corev1.PersistentVolumeClaim {
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

func newPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: named("website"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "website", Image: "website"}}},
	}
}

// harmless are permitted requests that resemble an escalation.
func harmless() map[string]attempt {
	return map[string]attempt{
		"create the Deployment": createDeployment(func(*appsv1.Deployment) {}),
		"create the set":        createStatefulSet(func(*appsv1.StatefulSet) {}),
		"delete the empty set":  remove(&appsv1.StatefulSet{ObjectMeta: named(empty)}),
		"create the Service":    createService(func(*corev1.Service) {}),
		"create the budget":     createBudget(func(*policyv1.PodDisruptionBudget) {}),
		"create the policy":     createPolicy(func(*networkingv1.NetworkPolicy) {}),
		"create the ConfigMap":  createConfigMap(func(*corev1.ConfigMap) {}),
		"list servers":          updateConfigMap(setData("servers", strings.ReplaceAll("NAME-0.NAME.shop.svc:11211,NAME-1.NAME.shop.svc:11211", "NAME", empty))),
		"list the most servers of the longest name": createConfigMap(func(c *corev1.ConfigMap) {
			longest := strings.Repeat("a", 63)
			host := longest + "." + shop + ".svc"
			c.Name, c.Labels["app.kubernetes.io/instance"], c.OwnerReferences[0].Name = longest+"-servers", longest, longest
			var servers []string
			for i := range 1000 {
				servers = append(servers, longest+"-"+strconv.Itoa(i)+"."+host+":11211")
			}
			list := strings.Join(servers, ",")
			c.Data = map[string]string{
				"host": host, "port": "11211", "servers": list, "tlsPort": "11212", "tlsServers": strings.ReplaceAll(list, ":11211", ":11212"),
			}
		}),
		"create a Deployment with certificates": createDeployment(withCredentials(func(*corev1.PodSpec) {})),
		"list servers with TLS alone": updateConfigMap(func(c *corev1.ConfigMap) {
			c.Data["port"], c.Data["servers"] = "11212", strings.ReplaceAll("NAME-0.NAME.shop.svc:11212", "NAME", empty)
		}),
		"delete the ConfigMap": remove(&corev1.ConfigMap{ObjectMeta: named(empty + "-servers")}),
		"scale":                updateDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(5)) }),
		"change the pods":      updateDeployment(func(d *appsv1.Deployment) { d.Spec.Template.Labels["team"] = "storefront" }),
		"change the budget": updateBudget(func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		}),
		"label the Service": updateService(func(s *corev1.Service) { s.Labels["team"] = "storefront" }),
		"name the part": updateBudget(func(b *policyv1.PodDisruptionBudget) {
			b.Labels["app.kubernetes.io/part-of"] = "memcached"
		}),
		"leave the user to the cluster": updateDeployment(ofPod(func(p *corev1.PodSpec) {
			p.SecurityContext.RunAsUser, p.SecurityContext.RunAsGroup = nil, nil
		})),
		"stay near the own pods": updateDeployment(ofPod(func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "website"}}},
			}}}
		})),
		"delete the budget":                     remove(&policyv1.PodDisruptionBudget{ObjectMeta: named(existing)}),
		"delete the pod of a lost cluster node": removeNow(lostPod(), client.DryRunAll),
		"pin the image": updateDeployment(func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "memcached@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		}),
	}
}
