// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

// Options are decided when the operator is installed, not by the users of Memcached.
type Options struct {
	// DefaultImage is the image of a Memcached without spec.image.
	DefaultImage string
	// AgentImage is the image of the agents.
	AgentImage string
	// OmitRunAsUser leaves the user of the pods to the cluster. OpenShift's restricted-v2 gives each namespace a range of
	// users and refuses any other.
	OmitRunAsUser bool
	// AllowSystemPriorityClasses permits Memcacheds to use the PriorityClasses of Kubernetes' own components, whose pods preempt
	// all others.
	AllowSystemPriorityClasses bool
}

// AgentImageVariable is the environment variable of the operator that holds AgentImage.
const AgentImageVariable = "RELATED_IMAGE_MEMCACHED_AGENT"
