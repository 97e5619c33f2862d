// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func at(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}

func created(seconds int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = at(seconds) }
}

func pending(pod *corev1.Pod) {
	notReady(pod)
	pod.Status.Phase, pod.Status.ContainerStatuses = corev1.PodPending, nil
}

// rejected returns a change that turns a pod into one that the kubelet did not admit: it never had a container.
func rejected(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message}
	}
}

// evicted returns a change that turns a pod into one that the kubelet evicted this many seconds after noon.
func evicted(seconds int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		notReady(pod)
		memcached.PodCondition(pod, corev1.PodReady).LastTransitionTime = at(seconds)
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory. "
		stoppedAs(0, 137, "Error")(pod)
	}
}

// failedPodRows have pods that the kubelet rejected or evicted. Such pods are not nodes.
func failedPodRows() []statusCase {
	const (
		evictedText  = "NodesFailed: A pod failed: Evicted: The node was low on resource: memory."
		rejectedText = "NodesFailed: A pod failed: UnexpectedAdmissionError: Pod was rejected: no devices"
	)
	unexpected := rejected("UnexpectedAdmissionError", "Pod was rejected: no devices")
	degradedBy := func(name, text, available string, pods ...corev1.Pod) statusCase {
		return statusCase{name: name, pods: pods, trouble: text, available: available}
	}
	notBlamed := func(name string, pods ...corev1.Pod) statusCase {
		return statusCase{name: name, pods: pods, ready: "False NodesUnavailable: 2 of 3 nodes are ready", available: available2}
	}
	two := makePods(2)
	with := func(pods ...corev1.Pod) []corev1.Pod { return append(append([]corev1.Pod(nil), two...), pods...) }
	old := makePod("cache-5d4f-99", created(-7*24*3600), evicted(-6*24*3600))
	return []statusCase{
		degradedBy("an evicted pod has no replacement", evictedText, available2,
			with(makePod("cache-5d4f-09", created(-60), evicted(0)))...),
		degradedBy("its replacement has not started", evictedText, available2,
			with(makePod("cache-5d4f-09", created(-60), evicted(0)), makePod("cache-5d4f-10", created(1), pending))...),
		degradedBy("the kubelet rejects each pod", rejectedText, unavailable0,
			makePod("cache-5d4f-08", created(0), unexpected), makePod("cache-5d4f-09", created(1), unexpected),
			makePod("cache-5d4f-10", created(2), pending)),
		degradedBy("pods are rejected in the second in which others are created", rejectedText, available2,
			makePod("cache-5d4f-00", created(0)), makePod("cache-5d4f-01", created(0)), makePod("cache-5d4f-09", created(0), unexpected)),
		degradedBy("a failed pod says nothing", "NodesFailed: A pod failed", available2,
			with(makePod("cache-5d4f-09", rejected("", "")))...),
		degradedBy("the last of several is reported", "NodesFailed: A pod failed: NodeAffinity: no", available2,
			with(makePod("cache-5d4f-08", created(0), unexpected), makePod("cache-5d4f-09", created(1), rejected("NodeAffinity", "no")))...),
		degradedBy("what is wrong with a node comes first", "Unschedulable: "+unschedulable02, available2,
			with(makePod("cache-5d4f-09", evicted(0)), makePod("cache-5d4f-02", created(1), pending, noRoomFor))...),
		notBlamed("its replacement runs",
			with(makePod("cache-5d4f-09", created(-60), evicted(0)), makePod("cache-5d4f-10", created(1), notReady))...),
		notBlamed("its replacement is deleted before it runs",
			with(makePod("cache-5d4f-09", created(-60), evicted(0)), makePod("cache-5d4f-10", created(1), pending, terminating))...),
		notBlamed("a pod of another day failed", with(old, makePod("cache-5d4f-10", created(0), pending))...),
		notBlamed("a pod failed long ago, and the one after it is gone", with(old, makePod("cache-5d4f-10", created(-3600)))[1:]...),
		notBlamed("a pod of another ReplicaSet failed", with(
			makePod("cache-0000-09", ofReplicaSet("cache", "0000"), created(0), evicted(0)),
			makePod("cache-5d4f-10", created(1), pending))...),
		notBlamed("somebody else's pod failed", with(makePod("other-5d4f-09", ofReplicaSet("other", "5d4f"), evicted(0)))...),
		{
			name: "pods failed and all nodes are ready",
			pods: append(makePods(3), makePod("cache-5d4f-09", evicted(0)), makePod("cache-5d4f-10", unexpected)),
		},
		{
			name:  "a pod failed, all nodes are ready and one more starts",
			pods:  append(makePods(3), makePod("cache-5d4f-09", evicted(0)), makePod("cache-5d4f-10", created(1), pending)),
			ready: "False Scaling: 4 nodes exist, 3 are wanted",
		},
	}
}

// exitRows have a pod that is not ready, and whose container has exited before. They show when the exit is the cause.
func exitRows() []statusCase {
	const killed = "NodesCrashing: memcached in pod cache-5d4f-02 exited with code 137 (OOMKilled)" + moreMemory
	unreadySince := func(seconds int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			notReady(pod)
			memcached.PodCondition(pod, corev1.PodReady).LastTransitionTime = at(seconds)
		}
	}
	startedAgain := func(seconds int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			exited(137, "OOMKilled", "")(pod)
			status := &pod.Status.ContainerStatuses[0]
			status.LastTerminationState.Terminated.FinishedAt = at(seconds - 1)
			status.State.Running.StartedAt = at(seconds)
		}
	}
	var rows []statusCase
	for _, row := range []struct {
		name    string
		changes []func(*corev1.Pod)
		blamed  bool
	}{
		{"it has not been ready since it was started again", []func(*corev1.Pod){unreadySince(0), startedAgain(1)}, true},
		{"it was never ready", []func(*corev1.Pod){unreadySince(-60), startedAgain(1)}, true},
		{"it has been ready since", []func(*corev1.Pod){unreadySince(3600), startedAgain(1)}, false},
		{"the container is ready, the pod is not", []func(*corev1.Pod){unreadySince(0), startedAgain(1), func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].Ready = true
		}}, false},
		{"it has been ready since, and waits after another exit", []func(*corev1.Pod){
			startedAgain(1), waiting("CrashLoopBackOff", "back-off 10s"), unreadySince(3600),
		}, true},
	} {
		c := statusCase{
			name: "an exit: " + row.name, pods: append(makePods(2), makePod("cache-5d4f-02", row.changes...)),
			ready: "False NodesUnavailable: 2 of 3 nodes are ready", available: available2,
		}
		if row.blamed {
			c.trouble = killed
		}
		rows = append(rows, c)
	}
	return rows
}

func TestStatusCountsNoFailedPods(t *testing.T) {
	mc := memcachedtest.Cache(1)
	pods := []corev1.Pod{makePod("cache-5d4f-00", evicted(0)), makePod("cache-5d4f-01")}
	status := statusOf(mc, memcached.Observed{Children: memcachedtest.Children(makeDeployment(t, mc, settled)), Pods: pods}, memcached.Written{}, noon)
	if len(status.Nodes) != 1 || status.Nodes[0] != "cache-5d4f-01" || status.Replicas != 1 || status.ReadyReplicas != 1 {
		t.Errorf("%+v", status)
	}
}
