// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// mistakeRows have pods that the API server refuses. The message names the field of the Memcached that helps.
func mistakeRows(t *testing.T) []statusCase {
	const (
		pod    = `pods "cache-5d4f-x7x2k" is forbidden: `
		demand = "failed quota: compute: must specify limits.cpu for: memcached; requests.cpu for: memcached"
		higher = "maximum memory usage per Container is 128Mi, but limit is 198Mi"
	)
	const (
		quota    = "exceeded quota: pods, requested: pods=1, used: pods=3, limited: pods=3"
		memory   = "exceeded quota: memory, requested: limits.memory=198Mi, used: limits.memory=396Mi, limited: limits.memory=400Mi"
		priority = "no PriorityClass with name important was found"
	)
	mc := memcachedtest.Cache(3)
	var rows []statusCase
	for _, row := range []struct{ name, refusal, message string }{
		{
			"a quota demands what the spec does not set", demand,
			"QuotaExceeded: pods is forbidden: " + demand + ". Set spec.resources.limits.cpu and spec.resources.requests.cpu",
		},
		{
			"a quota demands CPU, in the short form", "failed quota: compute: must specify cpu for: memcached,limits.cpu",
			"QuotaExceeded: pods is forbidden: failed quota: compute: must specify cpu for: memcached,limits.cpu. Set spec.resources.requests.cpu",
		},
		{"a quota on pods", quota, "QuotaExceeded: pods is forbidden: " + quota + ". Lower spec.size, or raise the quota"},
		{
			"a quota on memory", memory, "QuotaExceeded: pods is forbidden: " + memory +
				". Lower spec.config.memory or spec.size, or raise the quota",
		},
		{
			"a PriorityClass that does not exist", priority, "AdmissionDenied: pods is forbidden: " + priority +
				". Correct spec.scheduling.priorityClassName, or create the PriorityClass",
		},
		{
			"a LimitRange is lower than the computed limit", higher, "AdmissionDenied: pods is forbidden: " + higher +
				". The memory limit follows from spec.config, unless spec.resources sets it: lower spec.config.memory",
		},
	} {
		rows = append(rows, statusCase{
			name: row.name, deployment: makeDeployment(t, mc, revision(1), counts(1, 0, 0, 0), refused(pod+row.refusal)),
			stuck: row.message, available: unavailable0,
		})
	}
	return rows
}

func TestNameSpecFields(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{
			`Deployment.apps "cache" is invalid: [spec.template.spec.tolerations[0].operator: Invalid value: "": operator must be Exists ` +
				`when key is empty, which means "match all values and all keys", spec.template.spec.nodeSelector: Invalid value: "a b"]`,
			`Deployment.apps "cache" is invalid: [spec.scheduling.tolerations[0].operator: Invalid value: "": operator must be Exists ` +
				`when key is empty, which means "match all values and all keys", spec.scheduling.nodeSelector: Invalid value: "a b"]`,
		},
		{
			`spec.template.spec.affinity.podAffinity.a: Required value, spec.template.spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0, ` +
				`spec.template.spec.priorityClassName: Invalid value: "A"`,
			`spec.scheduling.affinity.podAffinity.a: Required value, spec.scheduling.topologySpreadConstraints[0].maxSkew: Invalid value: 0, ` +
				`spec.scheduling.priorityClassName: Invalid value: "A"`,
		},
		{`spec.ingress[0].from[0]: Required value`, `spec.networkPolicy.from[0]: Required value`},
		{`spec.ingress[1].from[2].podSelector: Invalid value`, `spec.networkPolicy.metricsFrom[2].podSelector: Invalid value`},
		{`spec.template.labels: Invalid value: "a b"`, `spec.podMetadata.labels: Invalid value: "a b"`},
		{`Service "cache" is invalid: spec.ports[0].port: Invalid value: 0`, `Service "cache" is invalid: spec.ports[0].port: Invalid value: 0`},
	} {
		if got := NameSpecFields(c.message); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestPodProblemsNameTheField has messages of the kubelet and the scheduler about a pod, each with the field that helps, if one
// does.
func TestPodProblemsNameTheField(t *testing.T) {
	waiting := func(container, reason, message string) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}}
	}
	unscheduled := func(message string) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		}}}}
	}
	const nobody = "0/3 nodes are available: "
	for _, c := range []struct {
		name  string
		pod   corev1.Pod
		check func(*corev1.Pod) *memcached.Problem
		want  string
	}{
		{"a wrong tag", waiting("memcached", "ErrImagePull", "not found"), imagePullFailed, ": not found. Check spec.image, and spec.imagePullSecrets if its registry demands a login"},
		{"the agent's image", waiting("memcached-agent", "ErrImagePull", "not found"), imagePullFailed, ": not found. The operator names the image of the agent: check its registry, and spec.imagePullSecrets if its registry demands a login"},
		{"the agent's image", waiting("install-agent", "ErrImagePull", "not found"), imagePullFailed, ": not found. The operator names the image of the agent: check its registry, and spec.imagePullSecrets if its registry demands a login"},
		{"somebody's sidecar", waiting("istio-proxy", "ErrImagePull", "not found"), imagePullFailed, ": not found"},
		{"no memcached in the image", waiting("memcached", "CreateContainerError", `exec: "memcached": executable file not found in $PATH`), crashing, "not found in $PATH. The image has no memcached: correct spec.image"},
		{"another error of the runtime", waiting("memcached", "CreateContainerError", "disk is full"), crashing, ": disk is full"},
		{"a selector", unscheduled(nobody + "3 node(s) didn't match Pod's node affinity/selector."), unschedulable, "selector. Correct spec.scheduling.nodeSelector or affinity, or label cluster nodes."},
		{"taints", unscheduled(nobody + "3 node(s) had untolerated taint(s)."), unschedulable, "taint(s). Add spec.scheduling.tolerations."},
		{"spread", unscheduled(nobody + "3 node(s) didn't match pod topology spread constraints."), unschedulable, "constraints. Relax spec.scheduling.topologySpreadConstraints, or add cluster nodes."},
		{"anti-affinity", unscheduled(nobody + "3 node(s) didn't match pod anti-affinity rules."), unschedulable, "rules. Relax spec.scheduling.affinity, or add cluster nodes."},
		{"two causes", unscheduled(nobody + "1 Insufficient memory, 2 node(s) had untolerated taint(s)."), unschedulable, "taint(s). Lower spec.resources or spec.config.memory, or add cluster nodes. Add spec.scheduling.tolerations."},
		{"another cause", unscheduled(nobody + "3 node(s) were unschedulable."), unschedulable, "3 node(s) were unschedulable."},
	} {
		problem := c.check(&c.pod)
		if problem == nil || !strings.HasSuffix(problem.Message, c.want) {
			t.Errorf("%s: got %+v, want ... %s", c.name, problem, c.want)
		}
	}
}

// The link to the runbook stays when a long message is cut.
func TestRunbookOfALongMessage(t *testing.T) {
	got := withRunbook(memcached.Problem{Reason: "QuotaExceeded", Message: strings.Repeat("x", 2000)})
	if len(got) > 1024 || !strings.HasSuffix(got, "… "+runbookOf("QuotaExceeded")) || SanitizeMessage(got) != got {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}
