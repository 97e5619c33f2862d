// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a Memcached that are always present.
const (
	// ConditionReady is True while every node and proxy is ready and runs what the spec asks for, and the Memcached is not Degraded.
	ConditionReady = "Ready"
	// ConditionAvailable is True while a Service leads clients to enough ready nodes: at least one, unless spec.size is 0. At most
	// spec.updateStrategy.maxUnavailable nodes may be missing. Nodes that a larger size adds do not count as missing. With spec.proxy, at
	// least one proxy must be ready as well.
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

// ConditionNeedsAttention is True while serving nodes report a problem that somebody should solve. It exists only then. Ready stays True,
// but has the reason of this condition, so that kubectl get shows it. Only the nodes of a StatefulSet have the agent that reports problems.
const ConditionNeedsAttention = "NeedsAttention"

// Reasons, at most 30. Package internal/memcached/status has the table of what each is about. If another condition is the cause, Ready has
// the reason of that condition.
const (
	// ReasonAllNodesReady means that every node is ready and up to date, and every proxy is, too, and uses all nodes.
	ReasonAllNodesReady = "AllNodesReady"
	// ReasonAsExpected means that the condition has nothing to report: enough nodes serve, no change is in progress, nothing is wrong.
	ReasonAsExpected = "AsExpected"
	// ReasonWaitingForOperator means that no operator has handled the Memcached yet. The API server sets this reason by default.
	ReasonWaitingForOperator = "WaitingForOperator"
	// ReasonNotReady means that too few nodes are ready, or that no Service leads clients to them. As the reason of Ready, it means that
	// fewer nodes are ready than spec.size asks for.
	ReasonNotReady = "NotReady"

	// ReasonFilling means that nodes which started empty copy items from another copy before they become ready.
	ReasonFilling = "Filling"

	// ReasonCreating means that the nodes start for the first time. As the reason of Available, it means that the cluster has not
	// reported the state of the nodes yet.
	ReasonCreating = "Creating"
	// ReasonRollingOut means that nodes or proxies are being replaced, or that memcached restarts in the existing pods.
	ReasonRollingOut = "RollingOut"
	// ReasonScaling means that nodes or proxies are being added or removed, or that proxies get another number of nodes.
	ReasonScaling = "Scaling"
	// ReasonWaitingForDeletion means that the Memcached is being deleted, or that an old object must disappear before a new one can
	// have its name.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonPaused means that spec.paused is true, so changes are held back.
	ReasonPaused = "Paused"
	// ReasonStuck means that a change cannot proceed. The message says why, or refers to Degraded.
	ReasonStuck = "Stuck"
	// ReasonOutdated means that no change is in progress, but the nodes have an older default, agent or memcached than they should.
	ReasonOutdated = "Outdated"

	// ReasonConflict means that an existing object is in the way: it belongs to another owner, or cannot be changed.
	ReasonConflict = "Conflict"
	// ReasonInvalidSpec means that the spec cannot be carried out: the operator or the API server refuses a value.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonFieldContested means that another writer keeps changing a field that the operator sets.
	ReasonFieldContested = "FieldContested"
	// ReasonQuotaExceeded means that a ResourceQuota refuses an object or a pod.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonAdmissionDenied means that Pod Security, a LimitRange, a policy or a webhook refuses an object or a pod.
	ReasonAdmissionDenied = "AdmissionDenied"
	// ReasonApplyFailed means that an object could not be read or written, for a reason other than those above.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonChangeRefused means that a pod cannot be changed in place: it keeps what it had. The message says who refuses what.
	ReasonChangeRefused = "ChangeRefused"
	// ReasonImagePullFailed means that an image of a pod cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonInvalidSecret means that a Secret is missing or unusable, or that its certificate lacks names. As the reason of Degraded, it
	// keeps a node from starting. As the reason of NeedsAttention, serving nodes keep the former content.
	ReasonInvalidSecret = "InvalidSecret"
	// ReasonNodesFailing means that a container exits or does not start, or that the kubelet rejected or evicted a pod.
	ReasonNodesFailing = "NodesFailing"
	// ReasonUnschedulable means that no cluster node both matches a pod and has room for it.
	ReasonUnschedulable = "Unschedulable"
	// ReasonNodesUnresponsive means that memcached runs but does not answer its agent, or that a proxy waits for nodes.
	ReasonNodesUnresponsive = "NodesUnresponsive"
	// ReasonNodesOrphaned means that clients still use nodes of a former workload. The message says how to remove them.
	ReasonNodesOrphaned = "NodesOrphaned"
	// ReasonNodesUnfilled means that a node serves without the items of the other copies. The node keeps trying to copy them.
	ReasonNodesUnfilled = "NodesUnfilled"

	// ReasonRestartRequired means that memcached does not use the present content of the Secrets, or still accepts what was removed from
	// them, until it restarts.
	ReasonRestartRequired = "RestartRequired"
	// ReasonConnectionLimit means that memcached refuses new connections, because clients already use all that it allows.
	ReasonConnectionLimit = "ConnectionLimit"
	// ReasonCertificateExpiring means that the certificate has expired, or will expire within 7 days.
	ReasonCertificateExpiring = "CertificateExpiring"
)
