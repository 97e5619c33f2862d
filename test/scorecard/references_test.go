// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

var referenceMutations = map[string]mutation{
	"a volume without its Secret, and a certificate in it": {
		func(b *bundle) {
			pod(b).Spec.Volumes = []corev1.Volume{{
				Name:         "certificate",
				VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "metrics-server-cert"}},
			}}
		}, "needs the Secret metrics-server-cert",
	},
	"a volume without its ConfigMap": {
		func(b *bundle) {
			pod(b).Spec.Volumes = []corev1.Volume{{
				Name: "config", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
					}}},
				}},
			}}
		}, "needs the ConfigMap settings",
	},
	"a volume without its claim": {
		func(b *bundle) {
			pod(b).Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}}
		}, "needs the PersistentVolumeClaim data",
	},
	"the tutorial's mistake: an argument whose mount is gone": {
		func(b *bundle) {
			pod(b).Spec.Containers[0].Args = append(pod(b).Spec.Containers[0].Args, "--metrics-cert-path=/tmp/k8s-metrics-server/metrics-certs")
		}, "mounts no volume there",
	},
	"a service account that nobody makes": {
		func(b *bundle) { pod(b).Spec.ServiceAccountName = "other" }, "needs the ServiceAccount other",
	},
	"a priority class that nobody makes": {
		func(b *bundle) { pod(b).Spec.PriorityClassName = "high" }, "needs the PriorityClass high",
	},
	"a variable of a Secret that is not there": {
		func(b *bundle) {
			pod(b).Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
			}}}
		}, "needs the Secret settings",
	},
	"a Service that selects nothing": {
		func(b *bundle) { pod(b).Labels = nil }, "which no pod of the bundle has",
	},
	"an object in a namespace": {
		func(b *bundle) { object(b, "Service").SetNamespace("system") }, "which is OLM's choice",
	},
	"a webhook that nobody serves": {
		func(b *bundle) {
			b.csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{{GenerateName: "check.example.com", DeploymentName: "other"}}
		}, "is served by the Deployment other",
	},
}
