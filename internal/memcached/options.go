// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

// Options are settings of the installation. Users of Memcacheds cannot change them.
type Options struct {
	// DefaultImage is the image of a Memcached without spec.image.
	DefaultImage string
	// AgentImage is the image of the agents and launchers.
	AgentImage string
	// OmitRunAsUser lets the cluster choose the user of the pods. OpenShift's SCC restricted-v2 gives each namespace a range of users and
	// refuses all other users.
	OmitRunAsUser bool
	// AllowSystemPriorityClasses permits the PriorityClasses of Kubernetes' own components. Pods with such a class preempt all
	// others.
	AllowSystemPriorityClasses bool
}

// AgentImageVariable is the environment variable that sets Options.AgentImage.
const AgentImageVariable = "RELATED_IMAGE_MEMCACHED_AGENT"
