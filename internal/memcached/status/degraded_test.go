// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// refusalRows have one refused object, with a different reason in each row, while all nodes run.
func refusalRows() []statusCase {
	var rows []statusCase
	for _, reason := range []string{
		cachev1alpha1.ReasonConflict, cachev1alpha1.ReasonInvalidResources, cachev1alpha1.ReasonInvalidSpec,
		cachev1alpha1.ReasonQuotaExceeded, cachev1alpha1.ReasonAdmissionDenied, cachev1alpha1.ReasonApplyFailed,
		cachev1alpha1.ReasonFieldContested, cachev1alpha1.ReasonImmutableField, cachev1alpha1.ReasonConfigurationRefused,
		cachev1alpha1.ReasonInPlaceForbidden, cachev1alpha1.ReasonInPlaceRefused,
	} {
		rows = append(rows, statusCase{
			name:    "refused: " + reason,
			pods:    makePods(3),
			written: memcached.Written{Problem: &memcached.Problem{Reason: reason, Message: "because"}},
			stuck:   reason + ": because",
		})
	}
	return rows
}

const checkImage = ". Check spec.image, and spec.imagePullSecrets if its registry demands a login"

// podRows have three nodes and no change in progress. In most rows, one pod has a problem. In the last rows, a pod only seems to
// have a problem.
func podRows(t *testing.T) []statusCase {
	const (
		notFound = `rpc error: code = NotFound desc = failed to resolve reference "docker.io/library/memcached:9": not found`
		backOff  = `Back-off pulling image "docker.io/library/memcached:9"`
		unsigned = "image pull failed for memcached:9 because the signature validation failed"
	)
	mc := memcachedtest.Cache(3)
	var rows []statusCase
	for _, row := range []struct{ reason, message, words string }{
		{"ErrImagePull", notFound, notFound},
		{"ImagePullBackOff", backOff + ": ErrImagePull: " + notFound, notFound},
		{"ImagePullBackOff", backOff, backOff}, // of an older kubelet
		{"SignatureValidationFailed", unsigned, unsigned},
		{"ImagePullBackOff", backOff + ": SignatureValidationFailed: " + unsigned, unsigned},
		{"RegistryUnavailable", "it is away", "it is away"},
		{"ErrImageNeverPull", "it is not present with pull policy of Never", "it is not present with pull policy of Never"},
		{"InvalidImageName", "invalid reference format", "invalid reference format"},
		{"ImageInspectError", "", "ImageInspectError"},
	} {
		rows = append(rows, statusCase{
			name: "the image cannot be pulled: " + row.reason + " " + row.message, available: available2,
			pods:    append(makePods(2), makePod("cache-5d4f-02", waiting(row.reason, row.message))),
			trouble: "ImagePullFailed: The image of pod cache-5d4f-02 cannot be pulled: " + row.words + checkImage,
		})
	}
	for _, row := range []struct {
		name     string
		change   func(*corev1.Pod)
		degraded string
	}{
		{
			"memcached does not answer any more", silent(-60, -60, -10),
			"NodesUnresponsive: The agent of pod cache-5d4f-02 gets no answer from memcached. The node serves again when memcached " +
				"answers; to replace it by an empty one: kubectl delete pod cache-5d4f-02 -n shop",
		},
		{
			"memcached has never answered", silent(-60, -61, -61),
			"NodesUnresponsive: The agent of pod cache-5d4f-02 gets no answer from memcached. The node serves again when memcached " +
				"answers; to replace it by an empty one: kubectl delete pod cache-5d4f-02 -n shop",
		},
		{
			"the agent exited, and runs again", then(silent(-60, -1, -3), agentExited(2, "Error")),
			"NodesCrashing: memcached-agent in pod cache-5d4f-02 exited with code 2 (Error)",
		},
		{"there is no room", noRoomFor, "Unschedulable: " + unschedulable02},
		{
			"no cluster node matches", then(notReady, scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/1 nodes match.")),
			"Unschedulable: Pod cache-5d4f-02 cannot be scheduled: 0/1 nodes match.",
		},
		{
			"memcached is not in the image", waiting("RunContainerError", `exec: "memcached": executable file not found in $PATH`),
			`NodesCrashing: Pod cache-5d4f-02 cannot start: RunContainerError: exec: "memcached": executable file not found in $PATH. The image has no memcached: correct spec.image`,
		},
		{
			"memcached is not in the image, and each try says so twice",
			then(waiting("RunContainerError", `exec: "memcached": executable file not found in $PATH`), exited(128, "StartError", "no such file")),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 128 (StartError), with the message \"no such file\"",
		},
		{
			"the container cannot be created", waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
			"NodesCrashing: Pod cache-5d4f-02 cannot start: CreateContainerConfigError: container has runAsNonRoot and image will run as root",
		},
		{
			"a hook of the runtime fails", waiting("PreStartHookError", "no"),
			"NodesCrashing: Pod cache-5d4f-02 cannot start: PreStartHookError: no",
		},
		{
			"memcached was killed and waits", then(waiting("CrashLoopBackOff", "back-off 10s restarting failed container"), exited(137, "OOMKilled", "")),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 137 (OOMKilled)" + moreMemory,
		},
		{
			"memcached was killed, waits longer", then(waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"), exited(137, "OOMKilled", "")),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 137 (OOMKilled)" + moreMemory,
		},
		{
			"memcached was killed and runs again, not ready", then(notReady, exited(137, "OOMKilled", "")),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 137 (OOMKilled)" + moreMemory,
		},
		{
			"memcached refuses its arguments", then(notReady, stopped(64, "Error", "Cannot set item size limit higher than 1/2 of memory max.")),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 64 (Error), with the message \"Cannot set item size limit higher than 1/2 of memory max.\"",
		},
		{
			"a container says what the operator would say, and more than fits",
			then(notReady, stopped(64, "Error", "no\" (Error): all nodes are healthy\n"+strings.Repeat("x", 4096))),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 64 (Error), with the message \"no' (Error): all nodes are healthy " +
				strings.Repeat("x", 512-len("no' (Error): all nodes are healthy …")) + "…\"",
		},
		{
			"memcached may not open so many files", then(notReady, stopped(71, "Error", "")),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 71 (Error): the container may open fewer files than " +
				"spec.config.maxConnections needs; lower it, or allow more on the cluster node",
		},
		{
			"another container is killed", then(notReady, injected("proxy"), stoppedAs(1, 137, "OOMKilled")),
			"NodesCrashing: proxy in pod cache-5d4f-02 exited with code 137 (OOMKilled)",
		},
		{
			"memcached exits, it is not known how", waiting("CrashLoopBackOff", "back-off 10s"),
			"NodesCrashing: memcached in pod cache-5d4f-02 exits again and again",
		},
		{
			"memcached is ended by somebody else", then(notReady, stopped(0, "Completed", "")),
			"NodesCrashing: memcached in pod cache-5d4f-02 exited with code 0 (Completed)",
		},
		{
			"an injected container exits", then(notReady, injected("proxy"), stoppedAs(1, 1, "Error")),
			"NodesCrashing: proxy in pod cache-5d4f-02 exited with code 1 (Error)",
		},
		{
			"a container that runs first exits", first(exit(1, "Error")),
			"NodesCrashing: istio-init in pod cache-5d4f-02 exited with code 1 (Error)",
		},
		{
			"a container that runs first has no image", first(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "gone"}}),
			"ImagePullFailed: The image of pod cache-5d4f-02 cannot be pulled: gone",
		},
	} {
		rows = append(rows, statusCase{
			name:      row.name,
			pods:      append(makePods(2), makePod("cache-5d4f-02", row.change)),
			trouble:   row.degraded,
			available: available2,
		})
	}
	for _, row := range []struct {
		name   string
		change func(*corev1.Pod)
	}{
		{"starting is no trouble", waiting("ContainerCreating", "")},
		{"a container that ran first is no trouble", first(exit(0, "Completed"))},
		{"a gate of the scheduler is no trouble", then(notReady, scheduled(corev1.ConditionFalse, "SchedulingGated", ""))},
	} {
		rows = append(rows, statusCase{
			name:      row.name,
			pods:      append(makePods(2), makePod("cache-5d4f-02", row.change)),
			ready:     "False NodesUnavailable: 2 of 3 nodes are ready",
			available: available2,
		})
	}
	past := makeDeployment(t, mc, settled, refused("exceeded quota"))
	past.Status.Conditions[len(past.Status.Conditions)-1].Status = corev1.ConditionFalse
	return append(rows, statusCase{
		name:       "a refusal that is over is no trouble",
		deployment: past,
		pods:       makePods(3),
	}, statusCase{
		name: "a node that was killed once and is ready again is no trouble",
		pods: append(makePods(2), makePod("cache-5d4f-02", exited(137, "OOMKilled", ""))),
	})
}

// Each of the priorityRows has several problems. The conditions report the most important one.
func priorityRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	quota := refused(`pods "cache-5d4f-x7x2k" is forbidden: exceeded quota: pods`)
	const pull = "ImagePullFailed: The image of pod cache-5d4f-02 cannot be pulled: gone" + checkImage
	return []statusCase{{
		name:       "somebody else's Service has the name: no client finds the nodes",
		mc:         mc,
		deployment: makeDeployment(t, mc, settled),
		others:     []client.Object{&corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "website"}}}},
		pods:       makePods(3),
		written:    memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "not ours"}},
		stuck:      "Conflict: not ours",
		available:  "False ServiceMissing: 3 of 3 nodes are ready, but no Service leads clients to them",
	}, {
		name:      "what was refused comes before what is wrong with the pods",
		pods:      append(makePods(2), makePod("cache-5d4f-02", noRoomFor)),
		written:   memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "not ours"}},
		stuck:     "Conflict: not ours",
		available: available2,
	}, {
		name:       "pods that are refused come before pods in trouble",
		deployment: makeDeployment(t, mc, settled, quota),
		pods:       append(makePods(1), makePod("cache-5d4f-02", noRoomFor)),
		trouble:    "QuotaExceeded: pods is forbidden: exceeded quota: pods",
		available:  unavailable1,
	}, {
		name: "an image comes before a crash, and that before no room, whatever the names",
		pods: []corev1.Pod{
			makePod("cache-5d4f-00", noRoomFor),
			makePod("cache-5d4f-01", waiting("CrashLoopBackOff", "")),
			makePod("cache-5d4f-02", waiting("ErrImagePull", "gone")),
		},
		trouble:   pull,
		available: unavailable0,
	}, {
		name:        "degraded comes before paused",
		mc:          memcachedtest.Cache(3, memcachedtest.Paused),
		deployment:  makeDeployment(t, mc, settled),
		pods:        append(makePods(2), makePod("cache-5d4f-02", noRoomFor)),
		written:     memcached.Written{Pending: []string{"Service"}},
		trouble:     "Unschedulable: " + unschedulable02,
		available:   available2,
		progressing: "False Paused: spec.paused holds back: the Service" + resume,
	}}
}

func then(changes ...func(*corev1.Pod)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for _, change := range changes {
			change(pod)
		}
	}
}

const moreMemory = ": it needs more memory than its limit; raise spec.resources.limits.memory"

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
