// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a Memcached that are always present.
const (
	// ConditionReady is the summary: every node runs what the spec asks for and is ready, and nothing is Degraded.
	ConditionReady = "Ready"
	// ConditionAvailable is True while clients find enough ready nodes through a Service. At least one node must be ready, and at most
	// maxUnavailable nodes may be missing. Nodes that a larger size adds do not count as missing.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while a change is being carried out.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something prevents the desired state. Running nodes keep running.
	ConditionDegraded = "Degraded"
)

// Condition types for kstatus (sigs.k8s.io/cli-utils/pkg/kstatus). They exist only while they are True, and have the reason of
// Ready. A Memcached that is not Ready has one of them, unless spec.paused keeps it from being Ready.
const (
	// ConditionReconciling is True while the Memcached is not Ready, but not Stalled either.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True while no change proceeds because the Memcached is Degraded or its change is Stuck. Somebody may have to act.
	ConditionStalled = "Stalled"
)

// Condition types that exist only while they are True.
const (
	// ConditionNeedsAttention is True while serving nodes report a problem that somebody should solve. It changes no other
	// condition. Only nodes with spec.monitoring, spec.tls or spec.auth have an agent that reports problems.
	ConditionNeedsAttention = "NeedsAttention"
)

// Reasons of NeedsAttention, as are InvalidCertificate and InvalidCredentials if serving nodes do not use the content of a Secret.
const (
	// ReasonReloadFailed means that memcached may not have read the current content of the Secrets.
	ReasonReloadFailed = "ReloadFailed"
	// ReasonConnectionLimit means that memcached refuses clients because others use all connections.
	ReasonConnectionLimit = "ConnectionLimit"
	// ReasonCertificateExpiring means that the certificate has expired, or will within 7 days.
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
	// ReasonNodesUnavailable means that too few nodes are ready. As the reason of Ready, it means that at least one node is missing.
	ReasonNodesUnavailable = "NodesUnavailable"
	// ReasonServiceMissing means that clients have no Service to find the nodes. Degraded has the cause.
	ReasonServiceMissing = "ServiceMissing"
)

// Reasons of Progressing.
const (
	// ReasonCreating means that the nodes start for the first time. As the reason of Available, it means that the cluster has not
	// reported their state yet.
	ReasonCreating = "Creating"
	// ReasonRollingOut means that nodes are being replaced, or that memcached restarts in the existing pods.
	ReasonRollingOut = "RollingOut"
	// ReasonUpdatingInPlace means that images or resources change in running pods.
	ReasonUpdatingInPlace = "UpdatingInPlace"
	// ReasonScaling means that nodes are being added or removed.
	ReasonScaling = "Scaling"
	// ReasonWaitingForDeletion means that an object of the same name, or the Memcached itself, must disappear first.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonComplete means that no change is in progress.
	ReasonComplete = "Complete"
	// ReasonNewerDefaultsAvailable means Complete, and also that the operator has a newer default image, agent or memory limit. The
	// next rollout will adopt it.
	ReasonNewerDefaultsAvailable = "NewerDefaultsAvailable"
	// ReasonUnsupportedVersion means Complete, and also that the image's memcached is older than the oldest supported one.
	ReasonUnsupportedVersion = "UnsupportedVersion"
	// ReasonPaused means that spec.paused holds changes back.
	ReasonPaused = "Paused"
	// ReasonStuck means that a change cannot proceed. The message says why, or refers to Degraded.
	ReasonStuck = "Stuck"
)

// Reasons of Degraded.
const (
	// ReasonAsExpected means that there is no problem.
	ReasonAsExpected = "AsExpected"
	// ReasonConflict means that another owner has an object of the same name.
	ReasonConflict = "Conflict"
	// ReasonInvalidResources means that the memory limit is too small for the configuration.
	ReasonInvalidResources = "InvalidResources"
	// ReasonInvalidSpec means that the spec cannot be carried out.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonQuotaExceeded means that a ResourceQuota refuses an object or a pod.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonAdmissionDenied means that Pod Security, a policy or a webhook refuses an object or a pod.
	ReasonAdmissionDenied = "AdmissionDenied"
	// ReasonImagePullFailed means that the image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonUnschedulable means that no cluster node both matches a pod and has room for it.
	ReasonUnschedulable = "Unschedulable"
	// ReasonNodesCrashing means that memcached exits again and again, or does not start.
	ReasonNodesCrashing = "NodesCrashing"
	// ReasonNodesUnresponsive means that memcached runs but does not answer its agent.
	ReasonNodesUnresponsive = "NodesUnresponsive"
	// ReasonInvalidCertificate means that a node does not start because the Secret of spec.tls is missing or unusable.
	ReasonInvalidCertificate = "InvalidCertificate"
	// ReasonInvalidCredentials means that a node does not start because the Secret of spec.auth is missing or unusable.
	ReasonInvalidCredentials = "InvalidCredentials"
	// ReasonInPlaceForbidden means that spec.updateStrategy.podUpdatePolicy asks for changes in place, but the operator lacks the
	// permission.
	ReasonInPlaceForbidden = "InPlaceForbidden"
	// ReasonInPlaceRefused means that the cluster node cannot give a pod other resources in place. The pod keeps its old resources.
	ReasonInPlaceRefused = "InPlaceRefused"
	// ReasonConfigurationRefused means that memcached does not start with the configuration. The node keeps its former configuration.
	ReasonConfigurationRefused = "ConfigurationRefused"
	// ReasonTwinUnusable means that the Memcached of spec.fillFrom cannot fill nodes.
	ReasonTwinUnusable = "TwinUnusable"
	// ReasonNodesUnfilled means that a node serves without the items of its twin. The node tries again to get them.
	ReasonNodesUnfilled = "NodesUnfilled"
	// ReasonFieldContested means that somebody else keeps changing a field that the operator sets.
	ReasonFieldContested = "FieldContested"
	// ReasonImmutableField means that the workload was created with another value of a field that Kubernetes does not allow to
	// change.
	ReasonImmutableField = "ImmutableField"
	// ReasonNodesFailed means that the kubelet rejected or evicted a pod, which has no replacement.
	ReasonNodesFailed = "NodesFailed"
	// ReasonNodesOrphaned means that clients still use nodes without a workload. The message says how to remove them.
	ReasonNodesOrphaned = "NodesOrphaned"
	// ReasonApplyFailed means that the API server refuses to read or write an object for a reason other than those above.
	ReasonApplyFailed = "ApplyFailed"
)
