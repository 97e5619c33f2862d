// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("A failure is told in words, takes nothing away that serves, and is over when its cause is mended:", Ordered, ContinueOnFailure, func() {
	var incidents []*incident
	begin := func(i *incident) *incident {
		incidents = append(incidents, i)
		return i
	}
	AfterAll(func() {
		rows := [][]string{{"failure", "Degraded after", "Ready after the fix", "fewest ready", "reason", "message"}}
		for _, i := range incidents {
			rows = append(rows, i.row())
		}
		clustertest.AddTable("Failures", rows)
	})

	for _, workload := range workloads {
		It("an image that does not exist, with a "+string(workload), SpecTimeout(3*time.Minute), func(ctx SpecContext) {
			i := begin(newIncidentInCache(ctx, clustertest.RunBy(workload)))
			good := i.cache.Status.Image
			i.passes(ctx, incidentNodes-1, i.edit(ctx, func() { i.cache.Spec.Image = good + "-missing" }),
				i.edit(ctx, func() { i.cache.Spec.Image = good }),
				cachev1alpha1.ReasonImagePullFailed, "The image of pod cache-", "cannot be pulled", good+"-missing", "not found")
		})
	}

	It("an image without memcached", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := begin(newIncidentInCache(ctx))
		i.passes(ctx, incidentNodes-1, i.edit(ctx, func() { i.cache.Spec.Image = operatorImage }),
			i.edit(ctx, func() { i.cache.Spec.Image = "" }),
			cachev1alpha1.ReasonNodesCrashing, "od cache-", "executable file not found in $PATH")
	})

	It("a request that no node of the cluster has room for", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := begin(newIncidentInCache(ctx))
		i.passes(ctx, incidentNodes-1, i.edit(ctx, func() {
			i.cache.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
		}), i.edit(ctx, func() { i.cache.Spec.Resources.Requests = nil }),
			cachev1alpha1.ReasonUnschedulable, "Pod cache-", "cannot be scheduled", "Insufficient cpu")
	})

	It("a quota that is used up", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := begin(newIncidentInCache(ctx))
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "team"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}},
		}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		i.untilRefused(ctx, i.pod(ctx), "exceeded quota")
		i.passes(ctx, incidentNodes, i.edit(ctx, func() { i.cache.Spec.Size++ }), func() {
			k8s.Change(ctx, quota, func() { quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("5") })
		}, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4")
	})

	It("a limit of the namespace that is lower than the memory of a node", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := begin(newIncidentInCache(ctx))
		limits := &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "team"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")},
			}}},
		}
		Expect(k8s.Create(ctx, limits)).To(Succeed())
		i.untilRefused(ctx, i.pod(ctx), "maximum memory usage")
		i.passes(ctx, incidentNodes, i.edit(ctx, func() { i.cache.Spec.Size++ }), func() { Expect(k8s.Delete(ctx, limits)).To(Succeed()) },
			cachev1alpha1.ReasonAdmissionDenied, "forbidden", "maximum memory usage per Container is 100Mi, but limit is 198Mi")
	})

	It("a policy that refuses an object", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		i := begin(newIncidentInCache(ctx))
		policy := newPolicy(ctx, i.namespace, "object.spec.replicas <= 3", "ask the platform team for more than three nodes")
		i.untilRefused(ctx, i.deployment(ctx, incidentNodes+1), "ask the platform team")
		i.passes(ctx, incidentNodes, i.edit(ctx, func() { i.cache.Spec.Size++ }), func() { Expect(k8s.Delete(ctx, policy)).To(Succeed()) },
			cachev1alpha1.ReasonAdmissionDenied, policy.Name, "denied request: ask the platform team for more than three nodes")
	})
})

func (i *incident) edit(ctx context.Context, edit func()) func() {
	return func() {
		GinkgoHelper()
		k8s.Change(ctx, i.cache, edit)
	}
}

func (i *incident) pod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	return &corev1.Pod{Spec: k8s.Pods(ctx, i.neighbor.mc)[0].Spec}
}

func (i *incident) deployment(ctx context.Context, replicas int32) *appsv1.Deployment {
	GinkgoHelper()
	var like appsv1.Deployment
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(i.neighbor.mc), &like)).To(Succeed())
	like.Spec.Replicas = &replicas
	return &appsv1.Deployment{Spec: like.Spec}
}

// newPolicy creates an admission policy: every Deployment of a namespace must satisfy the expression. The policy
// takes effect after a while. It is deleted when the spec ends.
func newPolicy(ctx context.Context, namespace, expression, message string) *admissionregistrationv1.ValidatingAdmissionPolicy {
	GinkgoHelper()
	metadata := metav1.ObjectMeta{Name: namespace}
	rule := admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
	}}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metadata,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{rule},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: expression, Message: message}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metadata,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		Expect(k8s.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, object))).To(Succeed()) })
	}
	return policy
}
