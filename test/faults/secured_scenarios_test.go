// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// securedScenarios are the scenarios of nodes with TLS certificates and user names. The operator does not read Secrets. Instead, an
// agent in each pod reports if the content of a Secret is not usable.
var securedScenarios = []scenario{
	{name: "secured", faults: unknownFaults, act: func(r *scenarioRun) {
		r.createCache(2, secured("first"))
		r.await("nodes with the first Secrets", mounting("first-tls", "first-users"))
		r.changeSpec(secured("second"))
		r.await("nodes with the second Secrets", mounting("second-tls", "second-users"))
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.TLS, spec.Auth = nil, nil })
		r.await("nodes without Secrets", mounting())
	}, done: rolledOut(3, 0)},
	{name: "certificate-refused-and-repaired", faults: distinctFaults, setup: func(r *scenarioRun) {
		running(0, statefulSetNodes, secured("first"))(r)
		r.setStartable("0")
	}, act: func(r *scenarioRun) {
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = 2 })
		pod := r.awaitStarting(cacheName+"-0", "")
		const refusal = "InvalidCertificate: tls.key does not fit tls.crt"
		r.report(pod, refusing(refusal))
		r.awaitRefusal(cachev1alpha1.ReasonInvalidCertificate,
			"Pod cache-0 cannot start: the Secret in spec.tls.secretName is not usable: tls.key does not fit tls.crt")
		r.report(pod, repaired(refusal))
		r.setStartable("")
	}, done: mounting("first-tls", "first-users")},
	{name: "users-refused-and-removed", faults: distinctFaults, setup: running(2, statefulSetNodes), act: func(r *scenarioRun) {
		before := latest(history.of(r.namespace))["pods/"+cacheName+"-1"]
		r.setStartable("1")
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "users"} })
		r.report(r.awaitStarting(cacheName+"-1", string(before.GetUID())), refusing("InvalidCredentials: web has no password"))
		r.awaitRefusal(cachev1alpha1.ReasonInvalidCredentials,
			"Pod cache-1 cannot start: the Secret in spec.auth.secretName is not usable: web has no password")
		r.setStartable("")
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Auth = nil })
	}, done: mounting()},
}

// secured sets the Secrets of spec.tls and spec.auth. Their names begin with this prefix.
func secured(secrets string) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) {
		spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: secrets + "-tls"}
		spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: secrets + "-users"}
	}
}

// mounting checks that all nodes are ready and mount exactly these Secrets. The names must be in alphabetical order.
func mounting(secrets ...string) func(objects) string {
	return func(now objects) string {
		if missing := settled(now); missing != "" {
			return missing
		}
		workload, _ := now.workloads(get[*cachev1alpha1.Memcached](now, "memcacheds"))
		var found []string
		for _, volume := range workload.template.Spec.Volumes {
			if volume.Projected != nil {
				found = append(found, volume.Projected.Sources[0].Secret.Name)
			}
		}
		slices.Sort(found)
		if !slices.Equal(secrets, found) {
			return fmt.Sprintf("the nodes mount %v, want %v", found, secrets)
		}
		return ""
	}
}

// awaitStarting waits for a pod with this name that is not ready yet. The pod with this UID does not count: it is an earlier one.
func (r *scenarioRun) awaitStarting(name, uid string) *corev1.Pod {
	r.Helper()
	var pod *corev1.Pod
	r.await(name+" starts", func(now objects) string {
		var ok bool
		pod, ok = now["pods/"+name].(*corev1.Pod)
		if !ok || string(pod.UID) == uid || pod.DeletionTimestamp != nil || podReady(pod) {
			return fmt.Sprintf("it is %+v", pod)
		}
		return ""
	})
	return pod
}

// awaitRefusal waits until the Degraded condition has this reason and this message. The message contains what an agent said about a
// Secret.
func (r *scenarioRun) awaitRefusal(reason, message string) {
	r.Helper()
	r.awaitReason(cachev1alpha1.ConditionDegraded, reason)
	r.await("the words of the agent", func(now objects) string {
		mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
		if c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded); c == nil || c.Message != message {
			return fmt.Sprintf("Degraded is %+v", c)
		}
		return ""
	})
}

// refusing returns the status of a pod whose agent has exited with a message about a Secret. The kubelet restarts the agent, and
// memcached waits for it.
func refusing(message string) corev1.PodStatus {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	return corev1.PodStatus{
		Phase:      corev1.PodPending,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: memcached.AgentContainerName, State: waiting, LastTerminationState: endedWith(message), Started: ptr.To(false)},
		},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: memcached.ContainerName, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
		}},
	}
}

// repaired returns the status of a pod whose agent has first exited with this message, and then accepted the corrected Secret.
func repaired(message string) corev1.PodStatus {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(2, 0)}}
	return corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		InitContainerStatuses: []corev1.ContainerStatus{{
			Name: memcached.AgentContainerName, State: running, LastTerminationState: endedWith(message), Started: ptr.To(true), Ready: true,
		}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: memcached.ContainerName, State: running, Started: ptr.To(true), Ready: true}},
	}
}

func endedWith(message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", Message: message, FinishedAt: metav1.Unix(1, 0),
	}}
}
