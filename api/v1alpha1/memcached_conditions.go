// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a Memcached that are always present.
const (
	// ConditionReady is True while every node is ready and runs what the spec asks for, and the Memcached is not Degraded.
	ConditionReady = "Ready"
	// ConditionAvailable is True while a Service leads clients to enough ready nodes: at least one, unless spec.size is 0. At most
	// spec.updateStrategy.maxUnavailable nodes may be missing. Nodes that a larger size adds do not count as missing.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while a change is being carried out.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something prevents the desired state. Nodes that run are not stopped because of it.
	ConditionDegraded = "Degraded"
)

// Condition types for kstatus (sigs.k8s.io/cli-utils/pkg/kstatus). They exist only while they are True, and have the reason of
// Ready. While Ready is False, exactly one of them exists.
const (
	// ConditionReconciling is True while Ready is False and the Memcached is not Stalled.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True while Ready and Progressing are False, and the Memcached is Degraded or a change is Stuck. Somebody may
	// have to act.
	ConditionStalled = "Stalled"
)

// Condition types that exist only while they are True.
const (
	// ConditionNeedsAttention is True while serving nodes report a problem that somebody should solve. It does not change other
	// conditions. Only the nodes of a StatefulSet have the agent that reports problems.
	ConditionNeedsAttention = "NeedsAttention"
)

// Reasons of NeedsAttention. If serving nodes keep the old content of a Secret because the new content is invalid, the reason is
// InvalidCertificate or InvalidCredentials (below).
const (
	// ReasonReloadFailed means that memcached may not have read the current content of the Secrets.
	ReasonReloadFailed = "ReloadFailed"
	// ReasonConnectionLimit means that memcached refuses new connections, because clients already use all that it allows.
	ReasonConnectionLimit = "ConnectionLimit"
	// ReasonCertificateExpiring means that the certificate has expired, or will expire within 7 days.
	ReasonCertificateExpiring = "CertificateExpiring"
	// ReasonCertificateNames means that the certificate does not cover the names by which clients reach the nodes.
	ReasonCertificateNames = "CertificateNames"
	// ReasonRestartRequired means that a certificate, CA or user that was removed from a Secret still works until memcached
	// restarts.
	ReasonRestartRequired = "RestartRequired"
)

// Reasons of Ready. If another condition is the cause, Ready has the reason of that condition.
const (
	// ReasonAllNodesReady means that every node is ready and up to date.
	ReasonAllNodesReady = "AllNodesReady"
	// ReasonWaitingForOperator means that no operator has handled the Memcached yet. The API server sets this reason by default.
	ReasonWaitingForOperator = "WaitingForOperator"
)

// Reasons of Available.
const (
	// ReasonMinimumNodesReady means that enough nodes are ready to serve.
	ReasonMinimumNodesReady = "MinimumNodesReady"
	// ReasonNodesUnavailable means that too few nodes are ready. As the reason of Ready, it means that fewer nodes are ready than
	// spec.size asks for.
	ReasonNodesUnavailable = "NodesUnavailable"
	// ReasonServiceMissing means that no Service leads clients to the nodes. Degraded has the cause.
	ReasonServiceMissing = "ServiceMissing"
)

// Reasons of Progressing.
const (
	// ReasonCreating means that the nodes start for the first time. As the reason of Available, it means that the cluster has not
	// reported the state of the nodes yet.
	ReasonCreating = "Creating"
	// ReasonRollingOut means that nodes are being replaced, or that memcached restarts in the existing pods.
	ReasonRollingOut = "RollingOut"
	// ReasonScaling means that nodes are being added or removed.
	ReasonScaling = "Scaling"
	// ReasonWaitingForDeletion means that the Memcached is being deleted, or that an old object must disappear before a new one can
	// have its name.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonComplete means that no change is in progress.
	ReasonComplete = "Complete"
	// ReasonNewerDefaultsAvailable means that no change is in progress, and that the operator would now give the nodes another default
	// image or memory limit, or another pod with newer helpers. New pods adopt it.
	ReasonNewerDefaultsAvailable = "NewerDefaultsAvailable"
	// ReasonUnsupportedVersion means that no change is in progress, and that the image's memcached is older than the oldest
	// supported version.
	ReasonUnsupportedVersion = "UnsupportedVersion"
	// ReasonPaused means that spec.paused is true, so changes are held back.
	ReasonPaused = "Paused"
	// ReasonStuck means that a change cannot proceed. The message says why, or refers to Degraded.
	ReasonStuck = "Stuck"
)

// Reasons of Degraded.
const (
	// ReasonAsExpected means that there is no problem.
	ReasonAsExpected = "AsExpected"
	// ReasonConflict means that an object of the same name belongs to another owner.
	ReasonConflict = "Conflict"
	// ReasonInvalidResources means that the memory limit is too small for the configuration.
	ReasonInvalidResources = "InvalidResources"
	// ReasonInvalidSpec means that the spec cannot be carried out: the operator or the API server refuses a value.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonQuotaExceeded means that a ResourceQuota refuses an object or a pod.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonAdmissionDenied means that Pod Security, a policy or a webhook refuses an object or a pod.
	ReasonAdmissionDenied = "AdmissionDenied"
	// ReasonImagePullFailed means that an image of a pod cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonUnschedulable means that no cluster node both matches a pod and has room for it.
	ReasonUnschedulable = "Unschedulable"
	// ReasonNodesCrashing means that a container of a node exits, or does not start.
	ReasonNodesCrashing = "NodesCrashing"
	// ReasonNodesUnresponsive means that memcached runs but does not answer its agent.
	ReasonNodesUnresponsive = "NodesUnresponsive"
	// ReasonInvalidCertificate means that a node does not start because the Secret of spec.tls is missing or unusable.
	ReasonInvalidCertificate = "InvalidCertificate"
	// ReasonInvalidCredentials means that a node does not start because the Secret of spec.auth is missing or unusable.
	ReasonInvalidCredentials = "InvalidCredentials"
	// ReasonInPlaceForbidden means that spec.updateStrategy.podUpdatePolicy is InPlaceOrRecreate, but the operator has no
	// permission to change pods.
	ReasonInPlaceForbidden = "InPlaceForbidden"
	// ReasonInPlaceRefused means that a cluster node cannot give a running pod its new resources. The pod keeps its old resources.
	ReasonInPlaceRefused = "InPlaceRefused"
	// ReasonConfigurationRefused means that memcached or its launcher does not accept a new configuration. The node keeps its old
	// configuration.
	ReasonConfigurationRefused = "ConfigurationRefused"
	// ReasonTwinUnusable means that the Memcached in spec.fillFrom.name does not exist, or cannot fill nodes because of its spec.
	ReasonTwinUnusable = "TwinUnusable"
	// ReasonNodesUnfilled means that a node serves without the items of the Memcached in spec.fillFrom.name. The node keeps trying
	// to copy them.
	ReasonNodesUnfilled = "NodesUnfilled"
	// ReasonFieldContested means that another writer keeps changing a field that the operator sets.
	ReasonFieldContested = "FieldContested"
	// ReasonImmutableField means that the workload has another value in a field that Kubernetes does not allow to change.
	ReasonImmutableField = "ImmutableField"
	// ReasonNodesFailed means that the kubelet rejected or evicted a pod, and that its replacement has not started.
	ReasonNodesFailed = "NodesFailed"
	// ReasonNodesOrphaned means that clients still use nodes of a former workload. The message says how to remove them.
	ReasonNodesOrphaned = "NodesOrphaned"
	// ReasonApplyFailed means that an object could not be read or written, for a reason other than those above.
	ReasonApplyFailed = "ApplyFailed"
)
