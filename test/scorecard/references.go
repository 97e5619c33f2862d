// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// references finds references to objects that the bundle does not ship, such as a Secret without which a pod never starts. It also
// finds objects that name a namespace.
func references(b *bundle) []string {
	var wrong []string
	for name, pod := range b.pods() {
		for _, missing := range slices.Concat(b.missingOf(pod), unmountedFiles(pod)) {
			wrong = append(wrong, fmt.Sprintf("the Deployment %s %s", name, missing))
		}
	}
	for _, webhook := range b.csv.Spec.WebhookDefinitions {
		if _, ok := b.pods()[webhook.DeploymentName]; !ok {
			wrong = append(wrong, fmt.Sprintf("the webhook %s is served by the Deployment %s, which the bundle does not have",
				webhook.GenerateName, webhook.DeploymentName))
		}
	}
	for _, object := range b.objects {
		wrong = append(wrong, b.danglingOf(object)...)
	}
	slices.Sort(wrong)
	return wrong
}

// missingOf returns a finding for each object that a pod needs and the bundle does not ship.
func (b *bundle) missingOf(pod corev1.PodTemplateSpec) []string {
	var missing []string
	need := func(kind, name string, optional *bool) {
		if name != "" && (optional == nil || !*optional) && !b.ships(kind, name) {
			missing = append(missing, fmt.Sprintf("needs the %s %s, which the bundle does not have", kind, name))
		}
	}
	if account := pod.Spec.ServiceAccountName; !b.makesServiceAccount(account) {
		need("ServiceAccount", account, nil)
	}
	if class := pod.Spec.PriorityClassName; !strings.HasPrefix(class, "system-") {
		need("PriorityClass", class, nil)
	}
	for _, secret := range pod.Spec.ImagePullSecrets {
		need("Secret", secret.Name, nil)
	}
	for _, volume := range pod.Spec.Volumes {
		needVolume(volume, need)
	}
	for _, container := range containersOf(pod) {
		needVariables(container, need)
	}
	return missing
}

// needVariables calls the function need for each ConfigMap and Secret from which a container gets environment variables.
func needVariables(container corev1.Container, need func(kind, name string, optional *bool)) {
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef != nil {
			need("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
		if from.SecretRef != nil {
			need("Secret", from.SecretRef.Name, from.SecretRef.Optional)
		}
	}
	for _, variable := range container.Env {
		if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			need("ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		} else if from != nil && from.SecretKeyRef != nil {
			need("Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		}
	}
}

// needVolume calls the function need for each object that a volume needs.
func needVolume(volume corev1.Volume, need func(kind, name string, optional *bool)) {
	if volume.Secret != nil {
		need("Secret", volume.Secret.SecretName, volume.Secret.Optional)
	}
	if volume.ConfigMap != nil {
		need("ConfigMap", volume.ConfigMap.Name, volume.ConfigMap.Optional)
	}
	if volume.PersistentVolumeClaim != nil {
		need("PersistentVolumeClaim", volume.PersistentVolumeClaim.ClaimName, nil)
	}
	if volume.Projected == nil {
		return
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			need("Secret", source.Secret.Name, source.Secret.Optional)
		}
		if source.ConfigMap != nil {
			need("ConfigMap", source.ConfigMap.Name, source.ConfigMap.Optional)
		}
	}
}

// unmountedFiles returns a finding for each argument that names a file outside of every volume, such as a certificate that is not
// mounted. With such an argument, the operator crashes.
func unmountedFiles(pod corev1.PodTemplateSpec) []string {
	var missing []string
	for _, container := range containersOf(pod) {
		for _, arg := range container.Args {
			_, value, _ := strings.Cut(arg, "=")
			if !strings.HasPrefix(value, "/") {
				continue
			}
			if !slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool {
				return value == mount.MountPath || strings.HasPrefix(value, strings.TrimSuffix(mount.MountPath, "/")+"/")
			}) {
				missing = append(missing, "has the argument "+arg+", but mounts no volume there")
			}
		}
	}
	return missing
}

// makesServiceAccount reports whether the bundle grants permissions to this service account: OLM then creates the account.
func (b *bundle) makesServiceAccount(name string) bool {
	strategy := b.csv.Spec.InstallStrategy.StrategySpec
	for _, permissions := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		if permissions.ServiceAccountName == name {
			return true
		}
	}
	return false
}

// danglingOf returns what is wrong with the references and the namespace of an object that OLM creates in addition to the
// Deployment.
func (b *bundle) danglingOf(object *unstructured.Unstructured) []string {
	var wrong []string
	name := object.GetKind() + " " + object.GetName()
	if object.GetNamespace() != "" && object.GetKind() != "ClusterServiceVersion" {
		wrong = append(wrong, fmt.Sprintf("the %s is in the namespace %s, which is OLM's choice", name, object.GetNamespace()))
	}
	role, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
	kind, bound, _ := unstructured.NestedString(object.Object, "roleRef", "kind")
	if bound && !b.ships(kind, role) {
		wrong = append(wrong, fmt.Sprintf("the %s grants the %s %s, which the bundle does not have", name, kind, role))
	}
	if object.GetKind() != "Service" {
		return wrong
	}
	selector, _, _ := unstructured.NestedStringMap(object.Object, "spec", "selector")
	for _, pod := range b.pods() {
		if labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) && len(selector) > 0 {
			return wrong
		}
	}
	return append(wrong, fmt.Sprintf("the %s selects %v, which no pod of the bundle has", name, selector))
}
