// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// refusingSecret returns the status of a pod whose agent refused a certificate.
func refusingSecret() corev1.PodStatus {
	return corev1.PodStatus{
		Phase:             corev1.PodPending,
		ContainerStatuses: waiting("PodInitializing", ""),
		InitContainerStatuses: []corev1.ContainerStatus{{
			Name: memcached.AgentContainerName, Started: new(false),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(2, 0)}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Reason: "Error", Message: "InvalidCertificate: tls.key does not fit tls.crt",
			}},
		}},
	}
}

func encrypted(plaintext cachev1alpha1.PlaintextMode) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "cache-tls", Plaintext: plaintext}
	}
}

var _ = Describe("A Memcached with TLS", func() {
	It("is Degraded with the words of the agent until the Secret is usable", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 1, encrypted(cachev1alpha1.PlaintextDisabled))
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
		o.events()
		pod := newPod(ctx, mc, "a", corev1.ConditionFalse)
		pod.Status = refusingSecret()
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		report(ctx, mc, func(s *appsv1.DeploymentStatus) { s.Replicas, s.UpdatedReplicas, s.UnavailableReplicas = 1, 1, 1 })
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "False/InvalidCertificate", "False/NodesUnavailable", "False/Stuck", "True/InvalidCertificate")
		const words = "Pod cache-a cannot start: the Secret in spec.tls.secretName is not usable: tls.key does not fit tls.crt"
		Expect(message(ctx, mc, "Degraded")).To(Equal(words))
		Expect(o.events()).To(ContainElement("Warning InvalidCertificate " + words))

		By("reading nothing: the agent tells that it has found a good certificate")
		pod.Status.InitContainerStatuses[0].Started = ptr.To(true)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
		report(ctx, mc, func(s *appsv1.DeploymentStatus) {
			s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = 1, 1, 0
			s.Conditions = []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
			}}
		})
		o.step(ctx, mc, writeStatus)
		expectConditions(ctx, mc, "True/AllNodesReady", "True/MinimumNodesReady", "False/Complete", "False/AsExpected")
	})

	It("gets back the volume of the credentials when somebody else puts another in its place", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 1, encrypted(cachev1alpha1.PlaintextDisabled))
		o.step(ctx, mc, writeService, writeBudget, writeDeployment, writeStatus)
		before := live(ctx, mc, &appsv1.Deployment{}).Spec.Template.Spec.Volumes
		change(ctx, live(ctx, mc, &appsv1.Deployment{}), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Volumes[1].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
			projected := d.Spec.Template.Spec.Volumes[0].Projected
			projected.Sources = append(projected.Sources, corev1.VolumeProjection{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"},
			})
		})
		for range 3 {
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
		Expect(live(ctx, mc, &appsv1.Deployment{}).Spec.Template.Spec.Volumes).To(Equal(before))
		o.step(ctx, mc)
	})

	It("tells clients which ports are open while they move", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 1, stable)
		o.step(ctx, mc, writeService, writeBudget, writeConfigMap, writeArguments, writeStatefulSet, writeStatus)
		server := "cache-0.cache." + mc.Namespace + ".svc:"
		move := func(plaintext cachev1alpha1.PlaintextMode, port string) {
			GinkgoHelper()
			change(ctx, mc, encrypted(plaintext))
			o.step(ctx, mc, writeService, writeArguments, writeStatefulSet, writeStatus)
			Expect(status(ctx, mc).Servers).To(Equal([]string{server + port}))
			o.step(ctx, mc, writeConfigMap)
			Expect(serversOf(ctx, mc).Data).To(Equal(map[string]string{
				"host": "cache." + mc.Namespace + ".svc", "port": port, "servers": server + port, "tlsPort": "11212", "tlsServers": server + "11212",
			}))
			o.step(ctx, mc)
		}
		move(cachev1alpha1.PlaintextEnabled, "11211")
		move(cachev1alpha1.PlaintextDisabled, "11212")
		By("changing nothing of a cache that is paused")
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused, mc.Spec.TLS = true, nil })
		o.step(ctx, mc, writeStatus)
		Expect(status(ctx, mc).Servers).To(Equal([]string{server + "11212"}))
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("spec.paused holds back: tls"))
	})
})
