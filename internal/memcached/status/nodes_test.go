// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

const (
	checkImage      = ". Check spec.image and, " + forLogins
	moreMemory      = ". It needs more memory than its limit: raise spec.resources.limits.memory"
	noRoom          = "0/3 nodes are available: 3 Insufficient memory."
	unschedulable02 = "Pod cache-5d4f-02 cannot be scheduled: " + noRoom + " Lower spec.resources or spec.config.memory, or add cluster nodes"
	twoOfThree      = "False NotReady: 2 of 3 nodes are ready"
)

// nodeRows have three nodes and no change in progress. One of them has a problem, or only seems to have one.
func nodeRows() []statusCase {
	const (
		exits    = "NodesFailing: memcached in pod cache-5d4f-02 exited with code "
		starts   = "NodesFailing: Pod cache-5d4f-02 cannot start: "
		killed   = exits + "137 (OOMKilled)" + moreMemory
		tooLarge = "Cannot set item size limit higher than 1/2 of memory max."
		silence  = "NodesUnresponsive: The agent of pod cache-5d4f-02 gets no answer from memcached. The node serves again when memcached " +
			"answers; to replace it by an empty one: kubectl delete pod cache-5d4f-02 -n shop"
		tls   = "InvalidSecret: Pod cache-5d4f-02 cannot start: the Secret cache-tls (spec.tls.secretName) is not usable: "
		users = "InvalidSecret: Pod cache-5d4f-02 cannot start: the Secret cache-users (spec.auth.secretName) is not usable: "
	)
	unreadySince := func(seconds int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			notReady(pod)
			memcached.PodCondition(pod, corev1.PodReady).LastTransitionTime = at(seconds)
		}
	}
	var rows []statusCase
	for _, row := range []struct {
		name    string
		change  func(*corev1.Pod)
		trouble string
	}{
		{"the image cannot be pulled", waiting("ErrImagePull", "not found"), "ImagePullFailed: The image of memcached in pod cache-5d4f-02 cannot be pulled: not found" + checkImage},
		{
			"the image cannot be pulled, the kubelet waits", waiting("ImagePullBackOff", `Back-off pulling image "memcached:9": ErrImagePull: not found`),
			"ImagePullFailed: The image of memcached in pod cache-5d4f-02 cannot be pulled: not found" + checkImage,
		},
		{"memcached does not answer any more", silent(-60, -60, -10), silence},
		{"memcached has never answered", silent(-60, -61, -61), silence},
		{"the agent exited, and waits", then(silent(-60, -1, -3), agentExited(2, "Error"), agentWaits), "NodesFailing: memcached-agent in pod cache-5d4f-02 exited with code 2 (Error)"},
		{"there is no room", noRoomFor, "Unschedulable: " + unschedulable02},
		{
			"memcached is not in the image", waiting("RunContainerError", `exec: "memcached": executable file not found in $PATH`),
			starts + `RunContainerError: exec: "memcached": executable file not found in $PATH. The image has no memcached: correct spec.image`,
		},
		{
			"memcached is not in the image, and each try says so twice", then(waiting("RunContainerError", "no"), exited(128, "StartError", "no such file")),
			exits + "128 (StartError), with the message \"no such file\"",
		},
		{"the container cannot be created", waiting("CreateContainerConfigError", "image will run as root"), starts + "CreateContainerConfigError: image will run as root"},
		{"memcached was killed and waits", then(waiting("CrashLoopBackOff", "back-off 10s"), exited(137, "OOMKilled", "")), killed},
		{"memcached was killed and runs again, not ready", then(notReady, exited(137, "OOMKilled", "")), killed},
		{"memcached refuses its arguments", then(notReady, stopped(64, "Error", tooLarge)), exits + "64 (Error), with the message \"" + tooLarge + "\""},
		{
			"a container says what the operator would say, and more than fits",
			then(notReady, stopped(64, "Error", "no\" (Error): all nodes are healthy\n"+strings.Repeat("x", 4096))),
			exits + "64 (Error), with the message \"no' (Error): all nodes are healthy " + strings.Repeat("x", 512-len("no' (Error): all nodes are healthy …")) + "…\"",
		},
		{"another container is killed", then(notReady, injected("proxy"), stoppedAs(1, 137, "OOMKilled")), "NodesFailing: proxy in pod cache-5d4f-02 exited with code 137 (OOMKilled)"},
		{"an exit: not ready since it was started again", then(unreadySince(0), killedBefore(1)), killed},
		{"an exit: it has been ready since", then(unreadySince(3600), killedBefore(1)), ""},
		{"an exit: the container is ready, the pod is not", then(unreadySince(0), killedBefore(1), containerReady), ""},
		{"an exit: ready since, and it waits after another", then(killedBefore(1), waiting("CrashLoopBackOff", "back-off"), unreadySince(3600)), killed},
		{"the key is another's", refusingSecret("InvalidCertificate: tls.key does not fit tls.crt", exitedNow), tls + "tls.key does not fit tls.crt"},
		{"a user without a password", refusingSecret("InvalidCredentials: web has no password", exitedBefore), users + "web has no password"},
		{"a Secret of TLS that is missing, and the agent waits", refusingSecret("InvalidCertificate: it does not exist", waitsAgain), tls + "it does not exist"},
		{"a Secret of users that is missing", refusingSecret("InvalidCredentials: it does not exist", exitedBefore), users + "it does not exist"},
		{
			"an agent that ended for another cause", refusingSecret("InvalidSomething: else", exitedNow),
			"NodesFailing: memcached-agent in pod cache-5d4f-02 exited with code 1 (Error), with the message \"InvalidSomething: else\"",
		},
		{"a Secret that has been repaired is no trouble", refusingSecret("InvalidCertificate: no tls.crt", startedAgain), ""},
		{"memcached exits, it is not known how", waiting("CrashLoopBackOff", "back-off"), "NodesFailing: memcached in pod cache-5d4f-02 exits again and again"},
		{"memcached is ended by somebody else", then(notReady, stopped(0, "Completed", "")), exits + "0 (Completed)"},
		{"a container that runs first exits", first(exit(1, "Error")), "NodesFailing: istio-init in pod cache-5d4f-02 exited with code 1 (Error)"},
		{
			"a container that runs first has no image", first(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "gone"}}),
			"ImagePullFailed: The image of istio-init in pod cache-5d4f-02 cannot be pulled: gone",
		},
		{"starting is no trouble", waiting("ContainerCreating", ""), ""},
		{"a container that ran first is no trouble", first(exit(0, "Completed")), ""},
		{"a gate of the scheduler is no trouble", then(notReady, scheduled(corev1.ConditionFalse, "SchedulingGated", "")), ""},
	} {
		c := statusCase{name: row.name, mc: memcachedtest.Cache(3, withSecrets), trouble: row.trouble, available: available2}
		c.pods = append(makePods(2), makePod("cache-5d4f-02", row.change))
		if row.trouble == "" {
			c.ready = twoOfThree
		}
		rows = append(rows, c)
	}
	return append(rows, statusCase{
		name: "a node gives way to another", available: available2,
		pods: append(makePods(2), makePod("cache-5d4f-02", terminating, podSays(corev1.DisruptionTarget, corev1.ConditionTrue,
			corev1.PodReasonPreemptionByScheduler, "preempting to accommodate a higher priority pod"))),
		trouble: "Unschedulable: A pod gives way to another: preempting to accommodate a higher priority pod. Set a higher " +
			"spec.scheduling.priorityClassName, or add cluster nodes",
	}, statusCase{
		name: "a node that was killed once and is ready again is no trouble", pods: append(makePods(2), makePod("cache-5d4f-02", exited(137, "OOMKilled", ""))),
	})
}

// Each of the priorityRows has several problems. The first in the table decides about the reason, and the others follow.
func priorityRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	conflict := memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "not ours"}}
	refusedPods := refused(`pods "cache-5d4f-x7x2k" is forbidden: exceeded quota: pods`)
	past := makeDeployment(t, mc, settled, refused("exceeded quota"))
	past.Status.Conditions[len(past.Status.Conditions)-1].Status = corev1.ConditionFalse
	alsoNoRoom := ". Also Unschedulable: " + unschedulable02
	return []statusCase{{
		name: "a refusal that is over is no trouble", deployment: past, pods: makePods(3),
	}, {
		name: "somebody else's Service has the name: no client finds the nodes", deployment: makeDeployment(t, mc, settled), pods: makePods(3),
		others:  []client.Object{&corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "website"}}}},
		written: conflict, stuck: "Conflict: not ours",
		available: "False NotReady: 3 of 3 nodes are ready, but no Service leads clients to them",
	}, {
		name: "what was refused comes before what is wrong with the pods", pods: append(makePods(2), makePod("cache-5d4f-02", noRoomFor)),
		written: conflict, stuck: "Conflict: not ours" + alsoNoRoom, available: available2,
	}, {
		name: "pods that are refused come before pods in trouble", deployment: makeDeployment(t, mc, settled, refusedPods),
		pods:    append(makePods(1), makePod("cache-5d4f-02", noRoomFor)),
		trouble: "QuotaExceeded: pods is forbidden: exceeded quota: pods" + alsoNoRoom, available: unavailable1,
	}, {
		name: "an image comes before no room, and that before a crash, whatever the names",
		pods: []corev1.Pod{
			makePod("cache-5d4f-00", waiting("CrashLoopBackOff", "")), makePod("cache-5d4f-01", waiting("ErrImagePull", "gone")),
			makePod("cache-5d4f-02", noRoomFor),
		},
		trouble: "ImagePullFailed: The image of memcached in pod cache-5d4f-01 cannot be pulled: gone" + checkImage + alsoNoRoom +
			". Also NodesFailing: memcached in pod cache-5d4f-00 exits again and again",
		available: unavailable0,
	}, {
		name: "degraded comes before paused", mc: memcachedtest.Cache(3, memcachedtest.Paused), deployment: makeDeployment(t, mc, settled),
		pods: append(makePods(2), makePod("cache-5d4f-02", noRoomFor)), written: memcached.Written{Pending: []string{"Service"}},
		trouble: "Unschedulable: " + unschedulable02, available: available2,
		progressing: "False Paused: spec.paused holds back: the Service" + resume,
	}}
}

// failedPodRows have pods that the kubelet rejected or evicted. Such pods are not nodes.
func failedPodRows() []statusCase {
	const (
		evictedText  = "NodesFailing: A pod failed: Evicted: The node was low on resource: memory."
		rejectedText = "NodesFailing: A pod failed: UnexpectedAdmissionError: Pod was rejected: no devices"
	)
	unexpected := rejected("UnexpectedAdmissionError", "Pod was rejected: no devices")
	degradedBy := func(name, text, available string, pods ...corev1.Pod) statusCase {
		return statusCase{name: name, pods: pods, trouble: text, available: available}
	}
	notBlamed := func(name string, pods ...corev1.Pod) statusCase {
		return statusCase{name: name, pods: pods, ready: twoOfThree, available: available2}
	}
	with := func(pods ...corev1.Pod) []corev1.Pod { return append(makePods(2), pods...) }
	lost := makePod("cache-5d4f-09", created(-60), evicted(0))
	old := makePod("cache-5d4f-99", created(-7*24*3600), evicted(-6*24*3600))
	return []statusCase{
		degradedBy("an evicted pod has no replacement", evictedText, available2, with(lost)...),
		degradedBy("its replacement has not started", evictedText, available2, with(lost, makePod("cache-5d4f-10", created(1), pending))...),
		degradedBy("the kubelet rejects each pod", rejectedText, unavailable0,
			makePod("cache-5d4f-08", created(0), unexpected), makePod("cache-5d4f-09", created(1), unexpected),
			makePod("cache-5d4f-10", created(2), pending)),
		degradedBy("pods are rejected in the second in which others are created", rejectedText, available2,
			makePod("cache-5d4f-00", created(0)), makePod("cache-5d4f-01", created(0)), makePod("cache-5d4f-09", created(0), unexpected)),
		degradedBy("a failed pod says nothing", "NodesFailing: A pod failed", available2, with(makePod("cache-5d4f-09", rejected("", "")))...),
		degradedBy("the last of several is reported", "NodesFailing: A pod failed: NodeAffinity: no", available2,
			with(makePod("cache-5d4f-08", created(0), unexpected), makePod("cache-5d4f-09", created(1), rejected("NodeAffinity", "no")))...),
		notBlamed("its replacement runs", with(lost, makePod("cache-5d4f-10", created(1), notReady))...),
		notBlamed("its replacement is deleted before it runs", with(lost, makePod("cache-5d4f-10", created(1), pending, terminating))...),
		notBlamed("a pod of another day failed", with(old, makePod("cache-5d4f-10", created(0), pending))...),
		notBlamed("a pod failed long ago, and the one after it is gone", with(old, makePod("cache-5d4f-10", created(-3600)))[1:]...),
		notBlamed("a pod of another ReplicaSet failed", with(
			makePod("cache-0000-09", ofReplicaSet("cache", "0000"), created(0), evicted(0)), makePod("cache-5d4f-10", created(1), pending))...),
		notBlamed("somebody else's pod failed", with(makePod("other-5d4f-09", ofReplicaSet("other", "5d4f"), evicted(0)))...),
		{
			name: "pods failed and all nodes are ready",
			pods: append(makePods(3), makePod("cache-5d4f-09", evicted(0)), makePod("cache-5d4f-10", unexpected)),
		},
		{
			name: "a pod failed, all nodes are ready and one more starts", ready: "False Scaling: 4 nodes exist, 3 are wanted",
			pods: append(makePods(3), makePod("cache-5d4f-09", evicted(0)), makePod("cache-5d4f-10", created(1), pending)),
		},
	}
}

// orphanRows have nodes whose workload somebody has deleted with --cascade=orphan.
func orphanRows(t *testing.T) []statusCase {
	const (
		clients       = "NodesOrphaned: Clients still use nodes of a former workload: "
		ofReplicaSets = clients + "cache-5d4f-00, cache-5d4f-01, cache-5d4f-02. To remove them with what they hold: kubectl delete -n shop "
		six           = "True AsExpected: 6 of 3 nodes are ready"
	)
	orphans := setPods(7)
	for i := range orphans {
		withoutOwner(&orphans[i])
	}
	mc, named := memcachedtest.Cache(3), memcachedtest.Cache(3, inStatefulSet)
	left := makeDeployment(t, mc, settled)
	left.OwnerReferences = nil
	set := []client.Object{makeStatefulSet(t, named, setCounts(3, 3))}
	other := makeStatefulSet(t, named, func(set *appsv1.StatefulSet) {
		set.Name, set.UID, set.OwnerReferences, set.Annotations = "cache-b", "b", nil, left.Annotations
	})
	return []statusCase{{
		name: "a copy that was left", mc: named, others: append(set, other), available: "True AsExpected: 4 of 3 nodes are ready",
		pods: append(setPods(3), setPod(0, func(pod *corev1.Pod) {
			pod.Name, pod.UID, pod.OwnerReferences[0] = "cache-b-0", "b-0", memcachedtest.Controller("StatefulSet", "cache-b", "b")
		})),
		trouble: clients + "cache-b-0. To remove them with what they hold: kubectl delete -n shop statefulset/cache-b",
	}, {
		name: "orphans of a former StatefulSet", pods: slices.Concat(makePods(3), orphans), available: "True AsExpected: 10 of 3 nodes are ready",
		trouble: clients + "cache-0, cache-1, cache-2, cache-3, cache-4 and 2 more. To remove them with what they hold: " +
			"kubectl delete -n shop pod/cache-0 pod/cache-1 pod/cache-2 pod/cache-3 pod/cache-4",
	}, {
		name: "orphans of a former Deployment", mc: named, others: set, pods: slices.Concat(setPods(3), makePods(3)), available: six,
		trouble: ofReplicaSets + "replicaset/cache-5d4f",
	}, {
		name: "a Deployment that was left", mc: named, deployment: left, others: set, pods: slices.Concat(setPods(3), makePods(3)), available: six,
		trouble: ofReplicaSets + "deployment/cache",
	}, {
		name: "orphans serve until their workload is there again", mc: named, others: []client.Object{makeStatefulSet(t, named)},
		pods: orphans[:3], changing: "Creating: Starting 3 nodes",
	}, {
		name: "a pause holds back the workload of orphans", mc: memcachedtest.Cache(3, inStatefulSet, memcachedtest.Paused),
		others: []client.Object{}, pods: orphans[:3], written: memcached.Written{Pending: []string{"StatefulSet"}},
		ready:       "Unknown Paused: spec.paused holds back: the StatefulSet",
		progressing: "False Paused: spec.paused holds back: the StatefulSet" + resume,
	}}
}

// TestUnresponsive has pods whose agents get no answer from memcached, or seem to get none. nodeRows covers the message.
func TestUnresponsive(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*corev1.Pod)
		reported bool
	}{
		"silent for ten seconds":                     {silent(-60, -60, -10), true},
		"silent for a moment":                        {silent(-60, -60, -9), false},
		"never answered in a minute":                 {silent(-60, -61, -61), true},
		"memcached has just been started":            {silent(-59, -61, -61), false},
		"memcached was restarted a minute ago":       {silent(-60, -600, -61), true},
		"the agent has just been started":            {silent(-600, -59, -60), false},
		"ready":                                      {then(silent(-60, -60, -30), readiness(corev1.ConditionTrue)), false},
		"the agent has an answer":                    {then(silent(-60, -60, -30), agentReady), false},
		"the agent does not run":                     {then(silent(-60, -60, -30), agentWaits), false},
		"memcached does not run":                     {then(silent(-60, -60, -30), stoppedAs(0, 1, "Error")), false},
		"no agent":                                   {then(silent(-60, -60, -30), withoutAgent), false},
		"a container of somebody else has no answer": {then(silent(-60, -60, -30), agentOfOthers), false},
	} {
		pod, f := makePod("cache-5d4f-02", c.change), &facts{}
		f.Now = noon
		if words := unresponsive(f, &pod); (words != "") != c.reported {
			t.Errorf("%s: %q", name, words)
		}
	}
}

// withSecrets has the Secrets that problems with certificates and users name.
func withSecrets(mc *cachev1alpha1.Memcached) {
	mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "cache-tls"}
	mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "cache-users"}
}

func at(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}

func created(seconds int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = at(seconds) }
}

func noRoomFor(pod *corev1.Pod) {
	notReady(pod)
	scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable, noRoom)(pod)
	pod.Status.ContainerStatuses = nil
}

func withoutOwner(pod *corev1.Pod) { pod.OwnerReferences = nil }

func containerReady(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].Ready = true }

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

// killedBefore has a memcached that was killed, and started again this many seconds after noon.
func killedBefore(seconds int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		exited(137, "OOMKilled", "")(pod)
		status := &pod.Status.ContainerStatuses[0]
		status.LastTerminationState.Terminated.FinishedAt, status.State.Running.StartedAt = at(seconds-1), at(seconds)
	}
}

func then(changes ...func(*corev1.Pod)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for _, change := range changes {
			change(pod)
		}
	}
}

// stopped lets memcached's container exit without a restart.
func stopped(code int32, reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		stoppedAs(0, code, reason)(pod)
		pod.Status.ContainerStatuses[0].State.Terminated.Message = message
	}
}

func stoppedAs(container int, code int32, reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.ContainerStatuses[container].State = exit(code, reason) }
}

func exit(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

// first adds an init container of somebody else in this state. The memcached container waits for it.
func first(state corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		waiting("PodInitializing", "")(pod)
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "istio-init", State: state}}
	}
}

func injected(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name})
	}
}

// refusingSecret returns a change that turns a pod into one whose agent has exited with this message. The function state puts this
// exit into the agent's status.
func refusingSecret(message string, state func(*corev1.ContainerStatus, corev1.ContainerState)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		waiting("PodInitializing", "")(pod)
		refusal := exit(1, "Error")
		refusal.Terminated.Message = message
		agent := corev1.ContainerStatus{Name: memcached.AgentContainerName, Started: ptr.To(false)}
		state(&agent, refusal)
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{agent}
	}
}

func exitedNow(agent *corev1.ContainerStatus, refusal corev1.ContainerState) { agent.State = refusal }

func exitedBefore(agent *corev1.ContainerStatus, refusal corev1.ContainerState) {
	agent.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	agent.LastTerminationState = refusal
}

func waitsAgain(agent *corev1.ContainerStatus, refusal corev1.ContainerState) {
	agent.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(-5)}}
	agent.LastTerminationState = refusal
}

func startedAgain(agent *corev1.ContainerStatus, refusal corev1.ContainerState) {
	waitsAgain(agent, refusal)
	agent.Started = ptr.To(true)
}

func agentReady(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].Ready = true }

func agentWaits(pod *corev1.Pod) {
	pod.Status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
}

func withoutAgent(pod *corev1.Pod) { pod.Status.InitContainerStatuses = nil }

func agentOfOthers(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].Name = "agent" }

// silent returns a change that turns a pod into one whose agent gets no answer from memcached. The arguments are seconds after
// noon: when the two containers started, and when the pod became unready or was created.
func silent(server, agent, unready int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		notReady(pod)
		memcached.PodCondition(pod, corev1.PodReady).LastTransitionTime = at(unready)
		running := func(seconds int) corev1.ContainerState {
			return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(seconds)}}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: memcached.ContainerName, Ready: true, State: running(server)}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: memcached.AgentContainerName, State: running(agent)}}
	}
}

func agentExited(code int32, reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].LastTerminationState = exit(code, reason) }
}
