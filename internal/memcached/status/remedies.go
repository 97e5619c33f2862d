// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"
	"slices"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// remedy pairs a text that messages may contain with words of advice.
type remedy struct{ text, words string }

// scheduling has the remedies for messages of the scheduler's plugins.
var scheduling = []remedy{
	{"Insufficient ", "Lower spec.resources or spec.config.memory, or add cluster nodes."},
	{"didn't match Pod's node affinity/selector", "Correct spec.scheduling.nodeSelector or affinity, or label cluster nodes."},
	{"untolerated taint", "Add spec.scheduling.tolerations."},
	{"didn't match pod topology spread constraints", "Relax spec.scheduling.topologySpreadConstraints, or add cluster nodes."},
	{"didn't match pod anti-affinity rules", "Relax spec.scheduling.affinity, or add cluster nodes."},
}

// refusals has the remedies for refusals of pods. The first one that matches applies.
var refusals = []remedy{
	// k8s.io/kubernetes/plugin/pkg/admission/limitranger
	{
		"maximum memory usage per ",
		"The memory limit follows from spec.config, unless spec.resources sets it: lower spec.config.memory",
	},
	{"no PriorityClass with name", "Correct spec.scheduling.priorityClassName, or create the PriorityClass"},
	// k8s.io/apiserver/pkg/admission/plugin/resourcequota
	{"requested: pods=", "Lower spec.size, or raise the quota"},
	{"memory=", "Lower spec.config.memory or spec.size, or raise the quota"},
	{"cpu=", "Lower spec.resources or spec.size, or raise the quota"},
}

// demanded matches a resource that each container must set because of a ResourceQuota, followed by the names of containers.
var demanded = regexp.MustCompile(`\b((?:limits\.|requests\.)?(?:cpu|memory))\b[^;]* for: `)

// refusalRemedy names the fields of the spec that help if pods are refused. It is empty if no field is known to help.
func refusalRemedy(refusal string) string {
	_, quota, _ := strings.Cut(refusal, "must specify ") // k8s.io/apiserver/pkg/admission/plugin/resourcequota
	var fields []string
	for _, match := range demanded.FindAllStringSubmatch(quota, -1) {
		resource := match[1]
		if !strings.Contains(resource, ".") {
			resource = "requests." + resource // cpu in a quota means requests.cpu
		}
		fields = append(fields, "spec.resources."+resource)
	}
	if len(fields) > 0 {
		slices.Sort(fields)
		return ". Set " + strings.Join(slices.Compact(fields), " and ")
	}
	for _, r := range refusals {
		if strings.Contains(refusal, r.text) {
			return ". " + r.words
		}
	}
	return ""
}

// schedulingRemedies returns all remedies that match a message of the scheduler.
func schedulingRemedies(message string) string {
	var words strings.Builder
	for _, r := range scheduling {
		if strings.Contains(message, r.text) {
			words.WriteString(" " + r.words)
		}
	}
	return words.String()
}

// pullRemedy names the field that helps if an image cannot be pulled. It is empty for containers that the operator does not create.
func pullRemedy(container string) string {
	const login = "spec.imagePullSecrets if its registry demands a login"
	switch container {
	case memcached.ContainerName:
		return ". Check spec.image, and " + login
	case memcached.AgentContainerName, memcached.InstallContainerName:
		return ". The operator names the image of the agent: check its registry, and " + login
	}
	return ""
}

// startRemedy names the field that helps if a container cannot be started. It is empty if no field is known to help.
func startRemedy(container, message string) string {
	if container == memcached.ContainerName && strings.Contains(message, "executable file not found") {
		return ". The image has no memcached: correct spec.image"
	}
	return ""
}

// explained lists reasons whose messages contain text that Kubernetes wrote. In the condition Degraded of a Memcached, these messages end
// with a link to the runbook.
var explained = []string{
	cachev1alpha1.ReasonImagePullFailed, cachev1alpha1.ReasonNodesCrashing, cachev1alpha1.ReasonUnschedulable,
	cachev1alpha1.ReasonAdmissionDenied, cachev1alpha1.ReasonQuotaExceeded,
}

// withRunbook returns the message of a problem, with a link to the runbook if its reason is in explained. It shortens a long
// message so that the link fits.
func withRunbook(problem memcached.Problem) string {
	message := SanitizeMessage(problem.Message)
	if !slices.Contains(explained, problem.Reason) {
		return message
	}
	section := runbookOf(problem.Reason)
	message = shorten(message, longestMessage-len(". "+section))
	if !strings.HasSuffix(message, ".") && !strings.HasSuffix(message, "…") {
		message += "."
	}
	return message + " " + section
}

// runbookOf returns the link to the runbook's section about a reason.
func runbookOf(reason string) string {
	return "See docs/operations/runbook.md#" + strings.ToLower(reason)
}
