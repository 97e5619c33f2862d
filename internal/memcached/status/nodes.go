// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// eachNode returns what check says of the first node of which it says something.
func eachNode(check func(*facts, *corev1.Pod) string) func(*facts) string {
	return func(f *facts) string {
		for _, pod := range f.Nodes() {
			if words := check(f, pod); words != "" {
				return words
			}
		}
		return ""
	}
}

func imagePullFailed(_ *facts, pod *corev1.Pod) string {
	for _, container := range memcached.ContainerStatuses(pod) {
		if words := memcached.PullFailure(&container); words != "" {
			return fmt.Sprintf("The image of %s in pod %s cannot be pulled: %s", container.Name, pod.Name, words)
		}
	}
	return ""
}

func unschedulable(_ *facts, pod *corev1.Pod) string {
	scheduled := memcached.PodCondition(pod, corev1.PodScheduled)
	if scheduled == nil || scheduled.Status != corev1.ConditionFalse {
		return ""
	}
	return when(scheduled.Reason == corev1.PodReasonUnschedulable, "Pod %s cannot be scheduled: %s", pod.Name, scheduled.Message)
}

// displaced speaks if a pod has no room, or gives its room to another. The latter shows only while the pod terminates.
func displaced(f *facts) string {
	words := eachNode(unschedulable)(f)
	for i := range f.Pods {
		leaves := memcached.PodCondition(&f.Pods[i], corev1.DisruptionTarget)
		if words == "" && leaves != nil && leaves.Reason == corev1.PodReasonPreemptionByScheduler && f.Owns(&f.Pods[i]) {
			words = "A pod gives way to another: " + leaves.Message + ". Set a higher spec.scheduling.priorityClassName, or add cluster nodes"
		}
	}
	return words
}

// secretRefused speaks if the pod's agent keeps memcached from starting because a Secret is missing or unusable. The agent exits once to
// report the cause. After its restart, it waits until the Secret changes.
func secretRefused(f *facts, pod *corev1.Pod) string {
	agent := memcached.StatusOf(pod, memcached.AgentContainerName)
	if agent == nil || ptr.Deref(agent.Started, false) {
		return ""
	}
	reason, words := refusalOf(*agent)
	return when(reason != "", "Pod %s cannot start: %s is not usable: %s", pod.Name, f.secretOf(reason), words)
}

// refusalOf returns the reason and the message with which an agent refused a Secret, or empty texts.
func refusalOf(container corev1.ContainerStatus) (reason, words string) {
	exit := memcached.LastExit(container)
	if exit == nil || container.Name != memcached.AgentContainerName {
		return "", ""
	}
	reason, words, found := strings.Cut(exit.Message, ": ")
	if !found || reason != protocol.ReasonInvalidCertificate && reason != protocol.ReasonInvalidCredentials {
		return "", ""
	}
	return reason, words
}

// secretOf names the Secret that causes a problem which agents report with this reason. It is empty if no Secret is the cause, or if it is
// unclear which one is.
func (f *facts) secretOf(reason string) string {
	switch spec := f.Memcached.Spec; reason {
	case protocol.ReasonInvalidCertificate, protocol.ReasonCertificateExpiring, protocol.ReasonCertificateNames:
		if spec.TLS != nil {
			return "the Secret " + spec.TLS.SecretName + " (spec.tls.secretName)"
		}
	case protocol.ReasonInvalidCredentials:
		if spec.Auth != nil {
			return "the Secret " + spec.Auth.SecretName + " (spec.auth.secretName)"
		}
	}
	return ""
}

// agentsSay says for each reason which pod reports it, how many others do, and the message of the first in quotation marks.
func agentsSay(reasons ...string) func(*facts) string {
	return func(f *facts) string {
		var words []string
		for _, reason := range reasons {
			words = append(words, f.agentsSay(reason)...)
		}
		return strings.Join(words, "; ")
	}
}

// restartRequired says which nodes and proxies must restart. The operator restarts nodes, but not proxies.
func restartRequired(f *facts) string {
	message := agentsSay(protocol.ReasonReloadFailed, protocol.ReasonRestartRequired)(f)
	if message != "" && slices.ContainsFunc(f.Agents.Nodes, func(report memcached.AgentReport) bool { return report.Proxy }) {
		message += fmt.Sprintf(". To replace the proxies: kubectl rollout restart deployment %s -n %s", f.Memcached.Name+memcached.ProxySuffix,
			f.Memcached.Namespace)
	}
	return message
}

func (f *facts) agentsSay(reason string) []string {
	var pods, messages []string
	for _, report := range f.Agents.Nodes {
		for _, problem := range report.Problems {
			if problem.Reason == reason {
				pods, messages = append(pods, report.Pod), append(messages, problem.Message)
			}
		}
	}
	if pods == nil {
		return nil
	}
	says := " says"
	if others := len(pods) - 1; others > 0 {
		says = fmt.Sprintf(" and %d more say", others)
	}
	if secret := f.secretOf(reason); secret != "" {
		says += " of " + secret
	}
	return []string{"Pod " + pods[0] + says + ": " + quoted(messages[0])}
}

// failing speaks if a container of a node does not start, or has exited and is not ready again. Otherwise, if nodes are missing, it says
// why the kubelet rejected or ended a pod.
func failing(f *facts) string {
	words := eachNode(crashing)(f)
	for _, w := range f.Workloads {
		if nodes := w.Nodes(f.Pods); words == "" && w != nil && readyNodes(nodes) < w.Size {
			words = podFailed(w, f.Pods, w.Size-int32(len(nodes))) //nolint:gosec // see For
		}
	}
	return words
}

func crashing(_ *facts, pod *corev1.Pod) string {
	for _, container := range memcached.ContainerStatuses(pod) {
		if words := crashOf(pod, container); words != "" {
			return words
		}
	}
	return ""
}

func crashOf(pod *corev1.Pod, container corev1.ContainerStatus) string {
	if reason, _ := refusalOf(container); reason != "" { // the agent refuses a Secret: see secretRefused
		return ""
	}
	waiting, exit := container.State.Waiting, exitOf(pod, container)
	switch {
	// CreateContainerConfigError is one of the reasons that end with Error. RunContainerError alternates with the exit at each retry,
	// so if there was an exit, only the exit is reported.
	case waiting != nil && strings.HasSuffix(waiting.Reason, "Error") && (exit == nil || waiting.Reason != "RunContainerError"):
		return fmt.Sprintf("Pod %s cannot start: %s: %s", pod.Name, waiting.Reason, waiting.Message)
	case exit != nil:
		words := fmt.Sprintf("%s in pod %s exited with code %d (%s)", container.Name, pod.Name, exit.ExitCode, exit.Reason)
		if exit.Message != "" {
			words += ", with the message " + quoted(exit.Message)
		}
		return words
	case waiting != nil && waiting.Reason == "CrashLoopBackOff":
		return fmt.Sprintf("%s in pod %s exits again and again", container.Name, pod.Name)
	default:
		return ""
	}
}

// exitOf returns the exit that keeps a pod from being ready, or nil. If the container runs again, its last exit counts until the
// pod becomes ready. If the pod stops being ready after that, the old exit is not the cause. While a pod changes in place, an exit with
// code 0 is none either: the kubelet then restarts containers with a new image.
func exitOf(pod *corev1.Pod, container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	exit, running := memcached.LastExit(container), container.State.Running
	ready := memcached.PodCondition(pod, corev1.PodReady)
	asked, _ := memcached.AskedOf(pod.Annotations)
	switch {
	case exit == nil, memcached.PodReady(pod), container.Ready:
		return nil
	case running != nil && ready != nil && ready.LastTransitionTime.After(running.StartedAt.Time):
		return nil
	case asked.Former != nil && exit.ExitCode == 0:
		return nil
	}
	return exit
}

// replacedWithin is how long the controller of a ReplicaSet or StatefulSet may take to replace a failed pod. A pod that is created
// later is not the replacement.
const replacedWithin = time.Minute

// podFailed returns why the kubelet rejected or ended a pod, the latest first, or "". A failed pod counts only while its replacement is
// missing or has not started, because Kubernetes keeps failed pods for days. The message has no pod name: it would change with each pod
// that fails.
func podFailed(w *memcached.Workload, pods []corev1.Pod, missing int32) string {
	var failed *corev1.Pod
	for i := range pods {
		if pod := &pods[i]; pod.Status.Phase == corev1.PodFailed && w.Owns(pod) && missed(pod, pods, missing) &&
			(failed == nil || memcached.FailedAt(failed).Compare(memcached.FailedAt(pod)) < 0 ||
				memcached.FailedAt(failed).Equal(memcached.FailedAt(pod)) && failed.Name < pod.Name) {
			failed = pod
		}
	}
	if failed == nil {
		return ""
	}
	words := []string{"A pod failed", failed.Status.Reason, failed.Status.Message}
	return strings.Join(slices.DeleteFunc(words, func(text string) bool { return text == "" }), ": ")
}

// missed reports whether the replacement of a failed pod is missing or has not started. missing is how many nodes the workload
// lacks.
func missed(failed *corev1.Pod, pods []corev1.Pod, missing int32) bool {
	since, replicaSet := memcached.FailedAt(failed), metav1.GetControllerOfNoCopy(failed).Name
	for i := range pods {
		pod := &pods[i]
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.Name != replicaSet || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		later := pod.CreationTimestamp.Sub(since)
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && later >= 0 && later <= replacedWithin {
			return true
		}
		if later > 0 {
			missing = 0
		}
	}
	return missing > 0
}

// How long memcached may stay silent until the silence is reported. silencePatience applies to a pod that was ready. It is not
// zero: a restarted kubelet reports a pod as not ready until it has probed the containers again, which takes some seconds.
// startPatience applies after a start of memcached or of its agent.
const (
	silencePatience = 10 * time.Second
	startPatience   = time.Minute
)

// lowered speaks if somebody has given memcached less memory than it was asked for: it is killed when it fills. In a Deployment whose
// rollout is complete, all pods are of its template.
func lowered(f *facts, pod *corev1.Pod) string {
	asked, found := memcached.AskedOf(pod.Annotations)
	limit, wanted := memcached.LimitOf(&pod.Spec), int64(0)
	switch w, target := f.Workload, f.plan.Target; {
	case found && asked.Resources == target.Resources && asked.Former == nil && asked.Refused == nil:
		wanted = cmp.Or(asked.DefaultLimit, target.Limit)
	case !found && w != nil && w.Complete && w.Updated == w.Replicas && !w.Unobserved():
		wanted = memcached.LimitOf(&w.Template.Spec)
	}
	return when(0 < limit && limit < wanted, "Pod %s has a memory limit of %d MiB instead of %d MiB, and memcached is killed when it fills: "+
		"let no webhook, autoscaler or LimitRange lower limits of this pod, or lower spec.config.memory", pod.Name, limit>>20, wanted>>20)
}

// unresponsive speaks if memcached runs but has not answered its agent for too long.
func unresponsive(f *facts, pod *corev1.Pod) string {
	reportAt, silent := silentUntil(pod)
	if missed := missedBy(f, pod); silent && missed != "" { // memcached does not run while a proxy waits for its nodes
		return when(!f.Now.Before(reportAt), "%s", missed)
	}
	return when(silent && !f.Now.Before(reportAt), "The agent of pod %s gets no answer from memcached. The node serves again when "+
		"memcached answers; to replace it by an empty one: kubectl delete pod %s -n %s", pod.Name, pod.Name, pod.Namespace)
}

// SilentFor returns the time until the silence of the next pod becomes a problem, or 0 if there is no such pod. No event reports that this
// time has passed.
func SilentFor(pods []*corev1.Pod, now time.Time) (after time.Duration) {
	for _, pod := range pods {
		reportAt, silent := silentUntil(pod)
		if silent {
			after = memcached.Sooner(after, max(reportAt.Sub(now), 0))
		}
	}
	return after
}

// silentUntil reports whether memcached and its agent run but the agent gets no answer. reportAt is when this silence becomes a
// problem.
func silentUntil(pod *corev1.Pod) (reportAt time.Time, silent bool) {
	server, agent := memcached.StatusOf(pod, memcached.ContainerName), memcached.StatusOf(pod, memcached.AgentContainerName)
	ready := memcached.PodCondition(pod, corev1.PodReady)
	if server == nil || server.State.Running == nil || agent == nil || agent.State.Running == nil || agent.Ready ||
		ready == nil || ready.Status == corev1.ConditionTrue {
		return time.Time{}, false
	}
	started := memcached.Later(server.State.Running.StartedAt.Time, agent.State.Running.StartedAt.Time)
	if since := ready.LastTransitionTime.Time; since.After(started) { // the pod was ready after both had started
		return since.Add(silencePatience), true
	}
	return started.Add(startPatience), true
}

// orphaned names orphans, but not without a workload and while nodes change, because the workload may still adopt them. Clients use the
// items of these nodes, so only the user may remove them. If a ReplicaSet or a workload would replace removed pods, the command in the
// message deletes that object.
func orphaned(f *facts) string {
	if f.Workload == nil || f.Memcached == nil || f.change.reason != "" {
		return ""
	}
	orphans := f.Orphans()
	if len(orphans) == 0 {
		return ""
	}
	var names, objects []string
	left := f.Left()
	for _, pod := range orphans {
		object := "pod/" + pod.Name
		if left != nil && left.Owns(pod) {
			object = strings.ToLower(string(left.Kind)) + "/" + left.GetName()
		} else if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			object = "replicaset/" + owner.Name
		}
		names, objects = append(names, pod.Name), append(objects, object)
	}
	const most = 5
	list := strings.Join(names[:min(most, len(names))], ", ")
	objects = slices.Compact(objects)
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("Clients still use nodes of a former workload: %s. To remove them with what they hold: kubectl delete -n %s %s",
		list, f.Memcached.Namespace, strings.Join(objects[:min(most, len(objects))], " "))
}
