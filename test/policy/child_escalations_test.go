// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
)

// childEscalations write children that the operator would never write, or delete a workload that has nodes.
func childEscalations() []escalation {
	const label, namespace = "metadata.labels: the operator adds no label that others select by", "metadata.namespace: the operator writes nothing in"
	var all []escalation
	for _, system := range []string{"kube-system", "kube-public", "kube-node-lease"} {
		// The owner does not exist. Until the garbage collector deletes the Deployment, its pods would run.
		all = append(all, escalation{"run pods in " + system, "children", namespace, createDeployment(func(d *appsv1.Deployment) {
			d.Namespace, d.OwnerReferences[0].UID = system, "faked"
		})})
	}
	const deletes, set = "spec.replicas: the operator deletes no workload that has nodes", "spec.serviceName, volumeClaimTemplates, ordinals: must name"
	all = append(all,
		escalation{"delete a Deployment that has nodes", "children", deletes, remove(&appsv1.Deployment{ObjectMeta: named(existing)})},
		escalation{
			"run more stable pods than a Memcached may have", "children", "spec.replicas: must be at most 1000",
			createStatefulSet(func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To(int32(1001)) }),
		},
		escalation{"claim volumes", "children", set, createStatefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{newClaim()}
		})},
		escalation{"name pods by another Service", "children", set, createStatefulSet(func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "website" })},
		escalation{"number pods from 5", "children", set, createStatefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
		})},
		escalation{
			"run stable pods in the network of the host", "pods", "spec.template.spec.hostNetwork",
			createStatefulSet(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.HostNetwork = true }),
		},
		escalation{
			"run another program in stable pods", "containers", "spec.template.spec.containers[0].command, args",
			createStatefulSet(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Command = []string{"sh"} }),
		},
	)
	return append(all,
		escalation{"create a Service in kube-system", "children", namespace, createService(func(s *corev1.Service) { s.Namespace = "kube-system" })},
		escalation{"run more pods than a Memcached may have", "children", "spec.replicas: must be at most 1000", updateDeployment(func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To(int32(2147483647))
		})},
		escalation{"create a Deployment with the label of another", "children", label, createDeployment(func(d *appsv1.Deployment) { d.Labels["k8s-app"] = "kube-dns" })},
		escalation{"give a Deployment the label of another", "children", label, updateDeployment(func(d *appsv1.Deployment) { d.Labels["app"] = "payments" })},
		escalation{"give a Service the label of the DNS", "children", label, updateService(func(s *corev1.Service) { s.Labels["k8s-app"] = "kube-dns" })},
		escalation{"give a Service a label of Kubernetes", "children", label, createService(func(s *corev1.Service) {
			s.Labels["kubernetes.io/cluster-service"] = "true"
		})},
		escalation{"give a budget the label of another", "children", label, updateBudget(func(b *policyv1.PodDisruptionBudget) { b.Labels["app"] = "payments" })},
	)
}
