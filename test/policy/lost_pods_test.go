// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// evictedByTaint is the condition of a pod that Kubernetes evicts because its cluster node is lost.
var evictedByTaint = corev1.PodCondition{
	Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
}

// deletion is a pod that the operator must not delete, and the message with which a policy refuses the deletion.
type deletion struct {
	name, message string
	pod           *corev1.Pod
	// terminating says that the pod has been deleted, but has not ended.
	terminating bool
}

// deletions returns a pod of the user, and pods that each differ from lostPod in one way.
func deletions() []deletion {
	const labels = "metadata.labels: the operator deletes pods of Memcacheds only"
	const owner = "metadata.ownerReferences: the operator deletes pods of the StatefulSet of the Memcached only"
	const deleted = "metadata.deletionTimestamp: the operator deletes no pod that nobody else has deleted"
	const evicted = "status.conditions: the operator deletes no pod that a taint of its cluster node has not evicted"
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		pod := lostPod()
		pod.Name = name
		change(pod)
		return pod
	}
	label := func(key, value string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[key] = value } }
	return []deletion{
		{"of the user", labels, newPod(), false},
		{"without a name", labels, pod("unnamed", func(p *corev1.Pod) { delete(p.Labels, "app.kubernetes.io/name") }), true},
		{"of another operator", labels, pod("of-another", label("app.kubernetes.io/managed-by", "another")), true},
		{"of no Memcached", labels, pod("of-none", func(p *corev1.Pod) { delete(p.Labels, "app.kubernetes.io/instance") }), true},
		{"of nobody", owner, pod("of-nobody", func(p *corev1.Pod) { p.OwnerReferences = nil }), true},
		{"of the StatefulSet of another", owner, pod("of-database", label("app.kubernetes.io/instance", "database")), true},
		{"of a Deployment", owner, pod("of-deployment", func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" }), true},
		{"of a StatefulSet that does not control it", owner, pod("uncontrolled", func(p *corev1.Pod) {
			p.OwnerReferences[0].Controller = nil
		}), true},
		{"that runs", deleted, pod("running", func(*corev1.Pod) {}), false},
		{"that terminates", evicted, pod("terminating", func(p *corev1.Pod) { p.Status.Conditions = nil }), true},
		{"that a drain evicts", evicted, pod("drained", func(p *corev1.Pod) {
			p.Status.Conditions[0].Reason = "EvictionByEvictionAPI"
		}), true},
		{"that was to be evicted", evicted, pod("spared", func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		}), true},
		{"with another condition", evicted, pod("unready", func(p *corev1.Pod) { p.Status.Conditions[0].Type = corev1.PodReady }), true},
	}
}

func deletionEscalations() []escalation {
	var all []escalation
	for _, d := range deletions() {
		all = append(all, escalation{"delete a pod " + d.name, "deletions", d.message, removeNow(d.pod, client.DryRunAll)})
	}
	return all
}

// lostPod returns a pod that the operator may delete, because its cluster node is lost. A StatefulSet controls the pod.
func lostPod() *corev1.Pod {
	return lostPodOf(existing)
}

func lostPodOf(mc string) *corev1.Pod {
	pod := newPod()
	pod.Name, pod.Spec.NodeName = mc+"-0", "lost"
	pod.Labels = map[string]string{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": mc, "app.kubernetes.io/managed-by": "memcached-operator",
	}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "StatefulSet", Name: mc, UID: "statefulset", Controller: ptr.To(true),
	}}
	pod.Status.Conditions = []corev1.PodCondition{evictedByTaint}
	return pod
}

// loseClusterNode creates a Memcached with a StatefulSet, and a pod on a lost cluster node. The operator must delete this pod after
// some seconds.
func (i *installation) loseClusterNode(t *testing.T) *corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	mc := &cachev1alpha1.Memcached{ObjectMeta: named("stable")}
	mc.Spec.Size, mc.Spec.Workload = 1, cachev1alpha1.WorkloadStatefulSet
	g.Expect(i.admin.Create(t.Context(), mc)).To(Succeed())
	pod := lostPodOf(mc.Name)
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	i.createPod(t, pod, true)
	return pod
}

// removeNow returns an attempt to delete a pod with a grace period of 0. Only with this period does the API server delete a terminating
// pod and ask the policies about the deletion.
func removeNow(pod *corev1.Pod, options ...client.DeleteOption) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		return c.Delete(t.Context(), pod.DeepCopy(), append(options, client.GracePeriodSeconds(0))...)
	}
}

// createPods creates the pods that the attempts in these tests delete or change. There is no kubelet, so terminating pods do not end.
func (i *installation) createPods(t *testing.T) {
	t.Helper()
	i.createPod(t, lostPod(), true)
	i.createPod(t, livingPod(), false)
	for _, pod := range unlike() {
		i.createPod(t, pod, false)
	}
	for _, d := range deletions() {
		if d.pod.Name != newPod().Name {
			i.createPod(t, d.pod, d.terminating)
		}
	}
}

func (i *installation) createPod(t *testing.T, pod *corev1.Pod, terminating bool) {
	t.Helper()
	g := NewWithT(t)
	status := pod.Status
	pod = pod.DeepCopy()
	g.Expect(i.admin.Create(t.Context(), pod)).To(Succeed())
	pod.Status = status
	g.Expect(i.admin.Status().Update(t.Context(), pod)).To(Succeed())
	if terminating {
		g.Expect(i.admin.Delete(t.Context(), pod)).To(Succeed())
	}
}
