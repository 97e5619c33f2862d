// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Options are settings of the installation. Users of Memcacheds cannot change them.
type Options struct {
	// DefaultImage is the image of a Memcached without spec.image.
	DefaultImage string
	// AgentImage is the image of the agent.
	AgentImage string
	// OmitRunAsUser lets the cluster choose the user of the pods. OpenShift's SCC restricted-v2 gives each namespace a range of users and
	// refuses all other users.
	OmitRunAsUser bool
	// LacksMatchLabelKeys reports that the cluster is older than Kubernetes 1.31, and ignores matchLabelKeys in the affinity of pods.
	LacksMatchLabelKeys bool
	// AllowSystemPriorityClasses permits the PriorityClasses of Kubernetes' own components. Pods with such a class preempt all
	// others.
	AllowSystemPriorityClasses bool
}

// AgentImageVariable is the environment variable that sets Options.AgentImage.
const AgentImageVariable = "RELATED_IMAGE_MEMCACHED_AGENT"

// CheckAgentImage returns a problem if the image of the agent is unknown. The argument what names what needs it.
func CheckAgentImage(what string, image string) *Problem {
	if image != "" {
		return nil
	}
	return &Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: what + " needs the image of the agent, which the operator does not " +
		"know: set its environment variable " + AgentImageVariable}
}

// systemPriority is the prefix of the PriorityClasses for Kubernetes' own components. Pods with such a class preempt all other
// pods, regardless of disruption budgets.
const systemPriority = "system-"

// CheckPriority returns a problem if the PriorityClass is a system class, unless the administrator allows such classes.
func CheckPriority(scheduling cachev1alpha1.MemcachedScheduling, opts Options) *Problem {
	class := scheduling.PriorityClassName
	if opts.AllowSystemPriorityClasses || !strings.HasPrefix(class, systemPriority) {
		return nil
	}
	return &Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: "spec.scheduling.priorityClassName is " + class +
		", whose pods take the place of all others: use a class of your own, or ask the administrator to run the operator with " +
		"--allow-system-priority-classes"}
}
