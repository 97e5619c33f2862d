// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a Memcached that are always present.
const (
	// ConditionReady sums up the others: every node runs what the spec says and is ready, and nothing is Degraded.
	ConditionReady = "Ready"
	// ConditionAvailable is True while a Service leads to enough nodes that are ready: at least one, and the size that the cluster has
	// accepted less maxUnavailable. A new size does not end it: nodes that were never there are not lost.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while a change is being carried out.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something prevents the desired state. What runs keeps running.
	ConditionDegraded = "Degraded"
)

// Condition types that kstatus (sigs.k8s.io/cli-utils/pkg/kstatus) knows. They are present only while they are True, and have the
// reason of Ready. A Memcached that is not Ready has one of them, unless spec.paused is what keeps it from being Ready.
const (
	// ConditionReconciling is True while the Memcached is not Ready and nobody has to do anything about it.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True while the Memcached is Degraded or its change is Stuck, so that somebody may have to act.
	ConditionStalled = "Stalled"
)

// Condition types that are present only while there is something to say.
const (
	// ConditionNeedsAttention is True while nodes that serve report something that somebody should see to. It changes no other
	// condition. Only nodes with spec.monitoring, spec.tls or spec.auth have an agent to ask.
	ConditionNeedsAttention = "NeedsAttention"
)

// Reasons of NeedsAttention, beside InvalidCertificate and InvalidCredentials: what a Secret holds is not used.
const (
	// ReasonReloadFailed says that memcached is not known to have read what the Secrets hold.
	ReasonReloadFailed = "ReloadFailed"
	// ReasonConnectionLimit says that clients have all connections, so that memcached refuses others.
	ReasonConnectionLimit = "ConnectionLimit"
	// ReasonCertificateExpiring says that the certificate has expired, or will within 7 days.
	ReasonCertificateExpiring = "CertificateExpiring"
	// ReasonCertificateNames says that the certificate is not for the names at which clients find the nodes.
	ReasonCertificateNames = "CertificateNames"
	// ReasonRestartRequired says that a CA or user that was removed from a Secret has effect until memcached restarts.
	ReasonRestartRequired = "RestartRequired"
)

// Reasons of Ready. When it is False for another cause, it has the reason of that cause.
const (
	// ReasonAllNodesReady says that every node is ready and up to date.
	ReasonAllNodesReady = "AllNodesReady"
	// ReasonWaitingForOperator says that no operator has seen the Memcached yet. The API server writes it as a default.
	ReasonWaitingForOperator = "WaitingForOperator"
)

// Reasons of Available.
const (
	// ReasonMinimumNodesReady says that enough nodes are ready to serve.
	ReasonMinimumNodesReady = "MinimumNodesReady"
	// ReasonNodesUnavailable says that too few nodes are ready; as the reason of Ready, that at least one is missing.
	ReasonNodesUnavailable = "NodesUnavailable"
	// ReasonServiceMissing says that no Service leads clients to the nodes; Degraded says why.
	ReasonServiceMissing = "ServiceMissing"
)

// Reasons of Progressing.
const (
	// ReasonCreating says that the nodes are being started for the first time. As the reason of Available it says that the
	// cluster has not reported on them yet.
	ReasonCreating = "Creating"
	// ReasonRollingOut says that nodes are being replaced by updated ones, or that memcached restarts in its pods.
	ReasonRollingOut = "RollingOut"
	// ReasonUpdatingInPlace says that the images or the resources of nodes change in their pods, which stay.
	ReasonUpdatingInPlace = "UpdatingInPlace"
	// ReasonScaling says that nodes are being added or removed.
	ReasonScaling = "Scaling"
	// ReasonWaitingForDeletion says that an object of the same name, or the Memcached itself, must be gone first.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonComplete says that no change is under way.
	ReasonComplete = "Complete"
	// ReasonNewerDefaultsAvailable says the same as Complete, and that the operator has a newer default image, agent or memory
	// limit, which the next rollout will adopt.
	ReasonNewerDefaultsAvailable = "NewerDefaultsAvailable"
	// ReasonUnsupportedVersion says the same as Complete, and that the image has a memcached older than the oldest supported one.
	ReasonUnsupportedVersion = "UnsupportedVersion"
	// ReasonPaused says that spec.paused holds changes back.
	ReasonPaused = "Paused"
	// ReasonStuck says that a change cannot go on; the message says why, or that Degraded does.
	ReasonStuck = "Stuck"
)

// Reasons of Degraded.
const (
	// ReasonAsExpected says that nothing is wrong.
	ReasonAsExpected = "AsExpected"
	// ReasonConflict says that an object of the same name exists and does not belong to the Memcached.
	ReasonConflict = "Conflict"
	// ReasonInvalidResources says that the memory limit is too small for the configuration.
	ReasonInvalidResources = "InvalidResources"
	// ReasonInvalidSpec says that the spec cannot be carried out.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonQuotaExceeded says that a ResourceQuota refuses an object or a pod.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonAdmissionDenied says that Pod Security, a policy or a webhook refuses an object or a pod.
	ReasonAdmissionDenied = "AdmissionDenied"
	// ReasonImagePullFailed says that the image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonUnschedulable says that no cluster node has room for a pod or matches it.
	ReasonUnschedulable = "Unschedulable"
	// ReasonNodesCrashing says that memcached does not start or exits again and again.
	ReasonNodesCrashing = "NodesCrashing"
	// ReasonNodesUnresponsive says that memcached runs and does not answer its agent. Only an agent notices that.
	ReasonNodesUnresponsive = "NodesUnresponsive"
	// ReasonInvalidCertificate says that a node does not start because the Secret of spec.tls is missing or cannot be used.
	ReasonInvalidCertificate = "InvalidCertificate"
	// ReasonInvalidCredentials says that a node does not start because the Secret of spec.auth is missing or cannot be used.
	ReasonInvalidCredentials = "InvalidCredentials"
	// ReasonInPlaceForbidden says that spec.updateStrategy.podUpdatePolicy wants pods to be changed in place, which the operator may not do.
	ReasonInPlaceForbidden = "InPlaceForbidden"
	// ReasonInPlaceRefused says that the cluster node cannot give a pod other resources in place. The pod has its former ones.
	ReasonInPlaceRefused = "InPlaceRefused"
	// ReasonConfigurationRefused says that memcached does not run with the configuration, so that a node keeps its former one.
	ReasonConfigurationRefused = "ConfigurationRefused"
	// ReasonTwinUnusable says that the Memcached of spec.fillFrom cannot fill nodes.
	ReasonTwinUnusable = "TwinUnusable"
	// ReasonNodesUnfilled says that a node serves without the items of its twin. It tries again by itself.
	ReasonNodesUnfilled = "NodesUnfilled"
	// ReasonFieldContested says that somebody else keeps changing a field that follows from the Memcached.
	ReasonFieldContested = "FieldContested"
	// ReasonImmutableField says that the workload was made with another value of a field that Kubernetes does not let anybody change.
	ReasonImmutableField = "ImmutableField"
	// ReasonNodesFailed says that the kubelet rejected or evicted a pod, and nothing has come in its place.
	ReasonNodesFailed = "NodesFailed"
	// ReasonNodesOrphaned says that clients still use nodes that no workload controls; the message says how to remove them.
	ReasonNodesOrphaned = "NodesOrphaned"
	// ReasonApplyFailed says that the API server refuses to read or write an object for another cause.
	ReasonApplyFailed = "ApplyFailed"
)
