// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

// row is one thing that the status can say.
type row struct {
	condition string
	status    metav1.ConditionStatus
	reason    string
	// look returns the message, or "" if the row has nothing to say. A row of Degraded also says what the plan or the write reports with
	// its reason. So it needs no look if nothing else finds such a problem.
	look func(*facts) string
	// remedies are added to the message: see remedy.
	remedies []remedy
	// anchor is the section of the runbook to which the message leads. It is empty if the message itself names all that helps.
	anchor string
}

// remedy has words of advice for messages that match.
type remedy struct {
	when  *regexp.Regexp
	words string
}

const (
	ready, available         = cachev1alpha1.ConditionReady, cachev1alpha1.ConditionAvailable
	progressing, degraded    = cachev1alpha1.ConditionProgressing, cachev1alpha1.ConditionDegraded
	attention                = cachev1alpha1.ConditionNeedsAttention
	is, isNot, nobodyCanTell = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
)

// table has the rows of each condition in order of precedence. The first row that speaks decides about the reason. What other rows of
// Degraded and NeedsAttention say follows in the message. Ready repeats Degraded and Progressing first: see readyCondition. Rows without
// a look that are not of Degraded are the words of the schema.
var table = []row{
	{degraded, is, cachev1alpha1.ReasonConflict, refusedAs(cachev1alpha1.ReasonConflict), nil, ""},
	{degraded, is, cachev1alpha1.ReasonInvalidSpec, nil, forObjects, ""},
	{degraded, is, cachev1alpha1.ReasonFieldContested, eachNode(lowered), nil, ""},
	{degraded, is, cachev1alpha1.ReasonQuotaExceeded, refusedAs(cachev1alpha1.ReasonQuotaExceeded), forQuotas, "quotaexceeded"},
	{degraded, is, cachev1alpha1.ReasonAdmissionDenied, refusedAs(cachev1alpha1.ReasonAdmissionDenied), forPolicies, "admissiondenied"},
	{degraded, is, cachev1alpha1.ReasonApplyFailed, refusedAs(cachev1alpha1.ReasonApplyFailed), nil, ""},
	{degraded, is, cachev1alpha1.ReasonChangeRefused, nil, nil, ""},
	{degraded, is, cachev1alpha1.ReasonImagePullFailed, eachNode(imagePullFailed), forPulls, "imagepullfailed"},
	{degraded, is, cachev1alpha1.ReasonInvalidSecret, eachNode(secretRefused), nil, ""},
	{degraded, is, cachev1alpha1.ReasonUnschedulable, displaced, forScheduling, "unschedulable"},
	{degraded, is, cachev1alpha1.ReasonNodesFailing, failing, forExits, "nodesfailing"},
	{degraded, is, cachev1alpha1.ReasonNodesUnresponsive, eachNode(unresponsive), nil, ""},
	{degraded, is, cachev1alpha1.ReasonNodesOrphaned, orphaned, nil, ""},
	{degraded, is, cachev1alpha1.ReasonNodesUnfilled, nil, forFills, ""},
	{degraded, isNot, cachev1alpha1.ReasonAsExpected, always("Nothing prevents the desired state"), nil, ""},

	{progressing, is, cachev1alpha1.ReasonWaitingForDeletion, beingDeleted, nil, ""},
	{progressing, isNot, cachev1alpha1.ReasonPaused, paused, nil, ""},
	{progressing, is, cachev1alpha1.ReasonWaitingForDeletion, func(f *facts) string { return f.Waiting }, nil, ""},
	{progressing, isNot, cachev1alpha1.ReasonStuck, stuck, nil, ""},
	{progressing, is, cachev1alpha1.ReasonCreating, changes(cachev1alpha1.ReasonCreating), nil, ""},
	{progressing, is, cachev1alpha1.ReasonRollingOut, changes(cachev1alpha1.ReasonRollingOut), nil, ""},
	{progressing, is, cachev1alpha1.ReasonScaling, changes(cachev1alpha1.ReasonScaling), nil, ""},
	{progressing, isNot, cachev1alpha1.ReasonOutdated, outdated, nil, ""},
	{progressing, isNot, cachev1alpha1.ReasonAsExpected, always("No change is under way"), nil, ""},

	{available, is, cachev1alpha1.ReasonAsExpected, serving, nil, ""},
	{available, nobodyCanTell, cachev1alpha1.ReasonCreating, unreported, nil, ""},
	{available, isNot, cachev1alpha1.ReasonNotReady, unavailable, nil, ""},

	{ready, nobodyCanTell, cachev1alpha1.ReasonWaitingForOperator, nil, nil, ""},
	{ready, nobodyCanTell, cachev1alpha1.ReasonPaused, held, nil, ""},
	{ready, isNot, cachev1alpha1.ReasonCreating, changes(cachev1alpha1.ReasonCreating), nil, ""},
	{ready, isNot, cachev1alpha1.ReasonRollingOut, changes(cachev1alpha1.ReasonRollingOut), nil, ""},
	{ready, isNot, cachev1alpha1.ReasonScaling, changes(cachev1alpha1.ReasonScaling), nil, ""},
	{ready, isNot, cachev1alpha1.ReasonScaling, surplus, nil, ""},
	{ready, isNot, cachev1alpha1.ReasonFilling, filling, nil, ""},
	{ready, isNot, cachev1alpha1.ReasonNotReady, missing, nil, ""},
	{ready, is, cachev1alpha1.ReasonAllNodesReady, (*facts).readyOf, nil, ""},

	{attention, is, cachev1alpha1.ReasonInvalidSecret, agentsSay(protocol.ReasonInvalidCertificate, protocol.ReasonInvalidCredentials,
		protocol.ReasonCertificateNames), nil, ""},
	{attention, is, cachev1alpha1.ReasonRestartRequired, restartRequired, nil, ""},
	{attention, is, cachev1alpha1.ReasonConnectionLimit, agentsSay(protocol.ReasonConnectionLimit), nil, ""},
	{attention, is, cachev1alpha1.ReasonCertificateExpiring, agentsSay(protocol.ReasonCertificateExpiring), nil, ""},
}

// A missing Secret for a registry is no error to a kubelet that has the image, or that gets it without a login.
const forLogins = "if a login is needed, that each Secret in spec.imagePullSecrets exists and can log in"

// The messages are those of the plugins resourcequota, limitranger and priority, of the scheduler and of the kubelet.
var (
	forQuotas = advice(
		`must specify `, "Set these in spec.resources, and for memcached-agent in spec.agent.resources",
		`requested: [^:]*pods=`, "Lower spec.size, or raise the quota",
		`requested: [^:]*(memory|cpu)=`, "Lower spec.config.memory, spec.resources, spec.size or, in a StatefulSet, "+
			"spec.agent.resources; or raise the quota",
	)
	forPolicies = advice(
		`minimum \S+ usage per `, "Raise spec.resources and, in a StatefulSet, spec.agent.resources; or lower the minimum of the "+
			"LimitRange",
		`maximum memory usage per `, "The memory limit follows from spec.config, unless spec.resources sets it, and must be 129Mi at least: "+
			"lower spec.config.memory, maxConnections or threads; or raise the maximum of the LimitRange",
		`maximum cpu usage per `, "Set limits in spec.resources and, in a StatefulSet, spec.agent.resources",
		`max limit to request ratio per `, "Set requests and limits that differ less in spec.resources and, in a StatefulSet, "+
			"spec.agent.resources",
		`no PriorityClass with name`, "Correct spec.scheduling.priorityClassName, or create the PriorityClass",
	)
	forPulls = advice(
		`The image of memcached in pod `, "Check spec.image and, "+forLogins,
		`The image of (memcached-agent|install-agent) in pod `, "The operator names the image of the agent: check its registry and, "+
			forLogins,
	)
	forScheduling = advice(
		`Insufficient `, "Lower spec.resources or spec.config.memory, or add cluster nodes",
		`didn't match Pod's node affinity/selector`, "Correct spec.scheduling.nodeSelector or affinity, or label cluster nodes",
		`untolerated taint`, "Add spec.scheduling.tolerations",
		`didn't match pod topology spread constraints`, "Relax spec.scheduling.topologySpreadConstraints, or add cluster nodes",
		`didn't match pod anti-affinity rules`, "Add cluster nodes, or set spec.scheduling.affinity, to {} if copies may share one",
	)
	// 71 is the exit code of a memcached that cannot raise its limit of open files (EX_OSERR, memcached.c).
	forExits = advice(
		`^memcached in pod \S+ exited with code \d+ \(OOMKilled\)`, "It needs more memory than its limit: raise spec.resources.limits.memory",
		`^memcached in pod \S+ exited with code 71 `, "The container may open fewer files than spec.config.maxConnections needs: lower it, "+
			"or allow more on the cluster node",
		`exec: .memcached.: executable file not found`, "The image has no memcached: correct spec.image",
		`/run/parent/parent.?: permission denied`, "The cluster node runs no programs from volumes (noexec): change that, or keep the pods "+
			"away with spec.scheduling. Only the nodes of a Deployment need no volume",
	)
	forObjects = advice(
		`field is immutable when .immutable. is set`, "Delete the ConfigMap: the operator creates it again",
		`spec.clusterIPs\[0\]`, "Delete the Service: the operator creates it again",
	)
	forFills = advice(`\bdial tcp\b.* (timeout|refused)`, "Let NetworkPolicies that limit the egress of nodes allow the DNS (port 53) and "+
		"the other nodes (port 11211)")
)

// advice returns remedies from pairs of a pattern and the words for messages that match it.
func advice(pairs ...string) []remedy {
	var remedies []remedy
	for i := 0; i < len(pairs); i += 2 {
		remedies = append(remedies, remedy{regexp.MustCompile(pairs[i]), pairs[i+1]})
	}
	return remedies
}

// ofProxies maps fields that concern nodes to those that concern proxies.
var ofProxies = strings.NewReplacer("spec.resources", "spec.proxy.resources", "spec.config.memory", "spec.config.maxConnections",
	"spec.size", "spec.proxy.size", "The node serves", "It serves")

// says returns what the row has to say about nodes and proxies, with the remedies, or "".
func (r *row) says(f *facts) string {
	message := r.saysOf(f)
	if f.front == nil || r.condition != degraded || r.status != is {
		return message
	}
	return strings.TrimPrefix(strings.TrimSuffix(message+"; "+ofProxies.Replace(r.saysOf(f.front)), "; "), "; ")
}

func (r *row) saysOf(f *facts) string {
	var words []string
	if r.condition == degraded {
		words = f.reported(r.reason)
	}
	if r.look != nil {
		words = append(words, r.look(f))
	}
	message := strings.TrimPrefix(strings.TrimSuffix(strings.Join(words, "; "), "; "), "; ")
	for _, remedy := range r.remedies {
		if remedy.when.MatchString(message) {
			message = strings.TrimSuffix(message, ".") + ". " + remedy.words
		}
	}
	return message
}

// first returns the condition as the first row says it that speaks.
func (f *facts) first(condition string) metav1.Condition {
	for i := range table {
		if r := &table[i]; r.condition == condition {
			if message := r.says(f); message != "" {
				return metav1.Condition{Type: condition, Status: r.status, Reason: r.reason, Message: message}
			}
		}
	}
	return metav1.Condition{Type: condition}
}

// all is as first, and what other rows with this status say follows. A link to the runbook ends the message.
func (f *facts) all(condition string) metav1.Condition {
	var result metav1.Condition
	anchor := ""
	for i := range table {
		r := &table[i]
		if r.condition != condition {
			continue
		}
		switch message := SanitizeMessage(r.says(f)); {
		case message == "":
		case result.Type == "":
			result, anchor = metav1.Condition{Type: condition, Status: r.status, Reason: r.reason, Message: message}, r.anchor
		case result.Status == r.status:
			result.Message = strings.TrimSuffix(result.Message, ".") + ". Also " + r.reason + ": " + message
		}
	}
	if anchor != "" {
		result.Message = withRunbook(result.Message, anchor)
	}
	return result
}

func always(message string) func(*facts) string {
	return func(*facts) string { return message }
}
