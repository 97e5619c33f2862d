// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedSpec is the desired state of a Memcached.
//
// +kubebuilder:validation:XValidation:rule="{{template `memoryLimitSuffices`}}",fieldPath=".resources.limits",messageExpression="'spec.resources.limits.memory is %s, but %s'.format([string(self.resources.limits['memory']), {{template `memoryNeed`}}])",message="spec.resources.limits.memory is less than memcached needs: raise it"
// +kubebuilder:validation:XValidation:rule="{{template `memoryRequestSuffices`}}",fieldPath=".resources.requests",messageExpression="'spec.resources.requests.memory is %s and is also the limit as no limit is given, but %s'.format([string(self.resources.requests['memory']), {{template `memoryNeed`}}])",message="spec.resources.requests.memory is less than memcached needs: raise it"
// +kubebuilder:validation:XValidation:rule="!has(self.agent) || self.workload == 'StatefulSet'",fieldPath=".agent",message="spec.agent must not be set with spec.workload Deployment, whose pods are memcached alone and have no agent: use a Memcached with spec.workload StatefulSet"
// +kubebuilder:validation:XValidation:rule="{{template `agentMemorySuffices`}}",fieldPath=".agent.resources",messageExpression="'spec.agent.resources.%s.memory sets the memory limit to %s, but the agent needs at least %s%s: raise it'.format([{{template `agentLimited`}} ? 'limits' : 'requests', {{template `agentMemory`}}, {{template `agentNeed`}}, {{template `agentWhy`}}])",message="spec.agent.resources has a smaller memory limit than the agent needs: raise it"
// +kubebuilder:validation:XValidation:rule="self.workload != 'StatefulSet' || !has(self.updateStrategy.maxUnavailable) || !(string(self.updateStrategy.maxUnavailable) in ['0', '0%'])",fieldPath=".updateStrategy.maxUnavailable",message="spec.updateStrategy.maxUnavailable must not be 0 with spec.workload StatefulSet, whose nodes keep their names: the old one must leave before the new one can start"
// +kubebuilder:validation:XValidation:rule="self.workload == 'StatefulSet' || !has(self.updateStrategy.podUpdatePolicy) || self.updateStrategy.podUpdatePolicy == 'Recreate'",fieldPath=".updateStrategy.podUpdatePolicy",message="spec.updateStrategy.podUpdatePolicy must not be InPlaceOrRecreate with spec.workload Deployment, which replaces its pods for every change: use a Memcached with spec.workload StatefulSet"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || self.workload == 'StatefulSet'",fieldPath=".tls",message="spec.tls must not be set with spec.workload Deployment, whose pods are memcached alone and have no agent to load the certificate: use a Memcached with spec.workload StatefulSet"
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || self.workload == 'StatefulSet'",fieldPath=".auth",message="spec.auth must not be set with spec.workload Deployment, whose pods are memcached alone and have no agent to load the users: use a Memcached with spec.workload StatefulSet"
// +kubebuilder:validation:XValidation:rule="!has(self.proxy) || self.workload == 'StatefulSet'",fieldPath=".proxy",message="spec.proxy must not be set with spec.workload Deployment, whose nodes have no stable names to which proxies could route: use a Memcached with spec.workload StatefulSet"
// +kubebuilder:validation:XValidation:rule="!has(self.proxy) || !has(self.auth)",fieldPath=".auth",message="spec.auth must not be set with spec.proxy, because proxies cannot log in to nodes: remove one of the two, and limit who may connect with spec.networkPolicy"
// +kubebuilder:validation:XValidation:rule="self.copies > 1 || has(self.proxy) == has(oldSelf.proxy) || !has(self.tls) && !has(oldSelf.tls)",fieldPath=".proxy",message="spec.proxy must not be added or removed with spec.tls, because nodes and proxies cannot change at the same moment: remove spec.tls before, or create a second Memcached and lead the clients to it"
// +kubebuilder:validation:XValidation:rule="!has(self.networkPolicy) || !has(self.networkPolicy.metricsFrom) || self.workload == 'StatefulSet'",fieldPath=".networkPolicy.metricsFrom",message="spec.networkPolicy.metricsFrom must not be set with spec.workload Deployment, whose pods are memcached alone and have no metrics: use a Memcached with spec.workload StatefulSet"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.auth) || self.tls.secretName != self.auth.secretName",fieldPath=".auth.secretName",message="spec.auth.secretName must not be the Secret of spec.tls: each of its keys would be a user"
// +kubebuilder:validation:XValidation:rule="{{template `inMemory`}} || self.workload == 'StatefulSet'",fieldPath=".storage.type",message="spec.storage.type must not be MemoryFile with spec.workload Deployment, whose nodes never restart in their pods: use a Memcached with spec.workload StatefulSet, or set spec.storage.type to Memory"
// +kubebuilder:validation:XValidation:rule="{{template `inMemory`}} || !isQuantity(string(self.config.memory)) || quantity(string(self.config.memory)).compareTo(quantity('128Mi')) >= 0",fieldPath=".config.memory",message="spec.config.memory must be at least 128Mi with spec.storage.type MemoryFile, which takes a page of 1 MiB for each of 39 item sizes at the start"
// +kubebuilder:validation:XValidation:rule="!has(self.replacedAt) || self.workload == 'StatefulSet'",fieldPath=".replacedAt",message="spec.replacedAt must not be set with spec.workload Deployment, whose pods spec.restartedAt replaces: set that instead"
// +kubebuilder:validation:XValidation:rule="self.size * self.copies <= 1000",fieldPath=".size",message="spec.size times spec.copies must be at most 1000, because one ConfigMap holds an entry for each node: lower one of them"
// +kubebuilder:validation:XValidation:rule="self.copies == 1 || self.workload == 'StatefulSet'",fieldPath=".copies",message="spec.copies must not be more than 1 with spec.workload Deployment, whose nodes have no numbers: use a Memcached with spec.workload StatefulSet"
// +kubebuilder:validation:XValidation:rule="self.copies == 1 || {{template `inMemory`}}",fieldPath=".copies",message="spec.copies must not be more than 1 with spec.storage.type MemoryFile, with which a node would serve what clients have overwritten in another copy: set spec.storage.type to Memory, which is enough because each copy fills the others"
// +kubebuilder:validation:XValidation:rule="self.copies == 1 || !has(self.auth)",fieldPath=".auth",message="spec.auth must not be set with spec.copies of more than 1, because proxies cannot log in to nodes: remove spec.auth, and limit who may connect with spec.networkPolicy"
// +kubebuilder:validation:XValidation:rule="self.copies == 1 || !has(self.proxy) || !has(self.proxy.threads) || self.proxy.threads == 1",fieldPath=".proxy.threads",message="spec.proxy.threads must be 1 with spec.copies of more than 1, because one thread gives the writes of a key one order: remove it, and raise spec.proxy.size instead"
// +kubebuilder:validation:XValidation:rule="self.copies == 1 || !has(self.podDisruptionBudget.maxUnavailable) || string(self.podDisruptionBudget.maxUnavailable) in ['0', '1']",fieldPath=".podDisruptionBudget.maxUnavailable",message="spec.podDisruptionBudget.maxUnavailable must be 0 or 1 with spec.copies of more than 1: a drain may not stop two copies of the same items"
type MemcachedSpec struct {
	// size is the number of memcached nodes, from 0 to 1000. With consistent hashing, one more or less remaps about 1/size of the keys.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size int32 `json:"size"`

	// image is an image with memcached 1.6.45 or newer on its PATH, in at most 512 characters. The default is the image that the operator
	// was installed with. A newer default is adopted by the next rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^((([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])([.]([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\\\\[[a-fA-F0-9]*:[a-fA-F0-9:]*\\\\])(:[0-9]+)?/)?[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64}|@sha512:[0-9a-f]{128})?$')",message="spec.image must be an image reference such as memcached:1.6.45, registry.example.com:5000/team/memcached:1.6.45 or memcached@sha256:<64 hexadecimal digits>"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-f0-9]{64}$')",message="spec.image must name a repository, such as memcached, and not the id of an image"
	// +kubebuilder:validation:XValidation:rule="self.matches('^(localhost|[^/]*[.:A-Z][^/]*)/') ? !self.matches('^[^/]*/[^:@]{248}') : !self.matches('^[^:@]{248}')",message="spec.image must not have a repository of more than 247 characters: use a shorter one"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Image string `json:"image,omitempty"`

	// imagePullPolicy is when the image is pulled: Always, IfNotPresent or Never. The default is IfNotPresent.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:imagePullPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets are at most 16 Secrets for the registries of the images.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XValidation:rule="self.name != ''",message="spec.imagePullSecrets[].name must be the name of a Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// config is the configuration of memcached.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Configuration",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config"}
	Config MemcachedConfig `json:"config,omitzero"`

	// resources are the compute resources of each node.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"}
	Resources MemcachedResources `json:"resources,omitzero"`

	// agent is the sidecar of each pod of a StatefulSet: a change replaces them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Agent",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:agent","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Agent MemcachedAgent `json:"agent,omitzero"`

	// scheduling is where the nodes may run.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scheduling",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:scheduling","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Scheduling MemcachedScheduling `json:"scheduling,omitzero"`

	// podMetadata are labels and annotations of the pods: a change replaces them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations) || self.annotations.all(k, !({{template `securityProfile`}}))",fieldPath=".annotations",message="spec.podMetadata.annotations must not hold a key of container.apparmor.security.beta.kubernetes.io or seccomp.security.alpha.kubernetes.io, which would take a security profile away: remove it"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod metadata",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podMetadata","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodMetadata Metadata `json:"podMetadata,omitzero"`

	// service is NAME-nodes and, with proxy, NAME; from outside: docs/proxy.md.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:service","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Service MemcachedService `json:"service,omitzero"`

	// podDisruptionBudget limits how many nodes a drain may stop at once.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="PodDisruptionBudget",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:podDisruptionBudget","urn:alm:descriptor:com.tectonic.ui:advanced"}
	PodDisruptionBudget MemcachedPodDisruptionBudget `json:"podDisruptionBudget,omitzero"`

	// networkPolicy lets only some clients connect. If it is absent, all may.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="NetworkPolicy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:networkPolicy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	NetworkPolicy *MemcachedNetworkPolicy `json:"networkPolicy,omitempty"`

	// tls lets clients connect with TLS, to port 11212. It needs workload StatefulSet. Enabling or disabling TLS replaces the nodes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls"}
	TLS *MemcachedTLS `json:"tls,omitempty"`

	// auth lets only clients that log in with a name and a password use the cache. Without tls, passwords can be read on the network.
	// It needs workload StatefulSet. Enabling or disabling auth replaces the nodes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Users",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:auth"}
	Auth *MemcachedAuth `json:"auth,omitempty"`

	// proxy puts proxies in front of the nodes, to which they connect without TLS. It needs workload StatefulSet, and excludes auth.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Proxies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:proxy"}
	Proxy *MemcachedProxy `json:"proxy,omitempty"`

	// workload is immutable. The default is Deployment: memcached alone. StatefulSet is for tls, auth, proxy, storage and copies.
	// +optional
	// +kubebuilder:default=Deployment
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.workload is immutable, because a change would empty the cache: create a second Memcached, lead the clients to it, then delete this one"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Workload",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Deployment","urn:alm:descriptor:com.tectonic.ui:select:StatefulSet","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Workload WorkloadKind `json:"workload,omitempty"`

	// storage is where a node keeps its items.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Storage MemcachedStorage `json:"storage,omitzero"`

	// copies is how many nodes hold each item, from 1 to 3, and cannot be changed. The default is 1. With more, size counts the nodes of
	// each copy.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.copies is immutable, because a change would give the keys to other nodes: create a second Memcached, lead the clients to it, then delete this one"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Copies",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Copies int32 `json:"copies,omitempty"`

	// updateStrategy is how nodes are replaced.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Update strategy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:updateStrategy","urn:alm:descriptor:com.tectonic.ui:advanced"}
	UpdateStrategy MemcachedUpdateStrategy `json:"updateStrategy,omitzero"`

	// gracefulShutdown is how a node stops.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Graceful shutdown",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:gracefulShutdown","urn:alm:descriptor:com.tectonic.ui:advanced"}
	GracefulShutdown MemcachedGracefulShutdown `json:"gracefulShutdown,omitzero"`

	// paused is whether the operator holds back all changes. The default is false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paused",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Paused bool `json:"paused,omitempty"`

	// restartedAt is a time, such as 2026-01-01T00:00:00Z. Each new one restarts the nodes at once, also one in the future. The default is
	// no restart.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:01Z') && self <= timestamp('9999-12-31T23:59:59Z')",message="spec.restartedAt must be a time that Go can read, such as 2026-01-01T00:00:00Z, and at the latest 9999-12-31T23:59:59Z"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Restarted at",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	RestartedAt *metav1.Time `json:"restartedAt,omitempty"`

	// replacedAt is a time as in restartedAt. Each new time replaces the pods of a StatefulSet by empty ones with the operator's present
	// agent and defaults. The default is no replacement.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:01Z') && self <= timestamp('9999-12-31T23:59:59Z')",message="spec.replacedAt must be a time that Go can read, such as 2026-01-01T00:00:00Z, and at the latest 9999-12-31T23:59:59Z"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replaced at",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	ReplacedAt *metav1.Time `json:"replacedAt,omitempty"`
}

// MemcachedConfig is the configuration of memcached. Other arguments of memcached cannot be set.
//
// +kubebuilder:validation:XValidation:rule="{{template `maxItemSizeFits`}}",fieldPath=".maxItemSize",messageExpression="'spec.config.maxItemSize is %s, more than half of spec.config.memory (%s), which memcached refuses: lower maxItemSize or raise memory'.format([string(self.maxItemSize), string(self.memory)])",message="spec.config.maxItemSize must be at most half of spec.config.memory: lower it"
type MemcachedConfig struct {
	// memory is the memory for items on each node (memcached -m), from 64Mi to 1Ti in whole MiB. The default is 64Mi. The memory
	// limit of the container is larger: see resources. 72Mi, 144Mi, 288Mi and so on make the best use of it: just above, memcached's
	// hash table doubles.
	// +optional
	// +kubebuilder:default="64Mi"
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('64Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Ti')) <= 0 && int(quantity(string(self)).asApproximateFloat()) % 1048576 == 0",message="spec.config.memory must be a whole number of MiB from 64Mi to 1Ti, such as 64Mi or 2Gi"
	// +kubebuilder:validation:XValidation:rule="size(string(self)) <= 32",message="spec.config.memory must have at most 32 characters, such as 64Mi or 2Gi"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Memory for items",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:text"}
	Memory *resource.Quantity `json:"memory,omitempty"`

	// maxConnections is how many connections clients can have open to each node at once, or to each proxy, from 1 to 65536. The default
	// is 1024. A client beyond the limit gets an error and is disconnected. Each connection takes 17 KiB of the memory limit of a node, or
	// 59 KiB if it has tls, and 8 or 50 KiB of that of a proxy.
	// memcached's option -c is higher, because it also counts connections of probes and of the operator.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum of connections",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:number"}
	MaxConnections int32 `json:"maxConnections,omitempty"`

	// threads is the number of worker threads (memcached -t), from 1 to 64. The default is the CPU limit rounded up, or 4 without a
	// CPU limit. Each thread takes 7.1 MiB of the memory limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Worker threads",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:number"}
	Threads int32 `json:"threads,omitempty"`

	// maxItemSize is the size of the largest item (memcached -I), from 512Ki to 1Gi in multiples of 512Ki, and at most half
	// of memory. The default is 1Mi.
	// +optional
	// +kubebuilder:default="1Mi"
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('512Ki')) >= 0 && quantity(string(self)).compareTo(quantity('1Gi')) <= 0 && int(quantity(string(self)).asApproximateFloat()) % 524288 == 0",message="spec.config.maxItemSize must be a multiple of 512Ki from 512Ki to 1Gi, such as 512Ki or 2Mi"
	// +kubebuilder:validation:XValidation:rule="size(string(self)) <= 32",message="spec.config.maxItemSize must have at most 32 characters, such as 512Ki or 2Mi"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maximum size of an item",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:text"}
	MaxItemSize *resource.Quantity `json:"maxItemSize,omitempty"`

	// idleTimeout is how long a connection may be idle before memcached closes it, from 1s to 720h in whole seconds, such as 10m or
	// 1h30m, in at most 16 characters. The default is 10m with spec.tls or spec.auth, and no timeout otherwise.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?$') && self.size() > 0 && duration(self) >= duration('1s') && duration(self) <= duration('720h')",message="spec.config.idleTimeout must be whole seconds, minutes and hours from 1s to 720h, such as 30s, 10m or 1h30m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Idle timeout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:text"}
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// flushAll is whether clients may empty a node with the "flush_all" command. The default is true.
	// +optional
	// +kubebuilder:default=true
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allow flush_all",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	FlushAll *bool `json:"flushAll,omitempty"`

	// dump is whether clients may list the keys of a node, with the commands "stats cachedump" and "lru_crawler metadump". The
	// default is false.
	// +optional
	// +kubebuilder:default=false
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Allow listing of keys",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:config","urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
	Dump *bool `json:"dump,omitempty"`
}

// MemcachedService configures the Services. Their ports are the ones that clients can use:
// memcached (11211), memcached-tls (11212), or both.
type MemcachedService struct {
	Metadata `json:",inline"`

	// ipFamilyPolicy is SingleStack, PreferDualStack or RequireDualStack. The default is the cluster's, SingleStack.
	// +optional
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="IP family policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:service","urn:alm:descriptor:com.tectonic.ui:select:SingleStack","urn:alm:descriptor:com.tectonic.ui:select:PreferDualStack","urn:alm:descriptor:com.tectonic.ui:select:RequireDualStack","urn:alm:descriptor:com.tectonic.ui:advanced"}
	IPFamilyPolicy *corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
}

// WorkloadKind is a Kind of object that runs nodes.
// +kubebuilder:validation:Enum=Deployment;StatefulSet
type WorkloadKind string

// Kinds of objects that run nodes.
const (
	// WorkloadDeployment gives the replacement of a node a new name.
	WorkloadDeployment WorkloadKind = "Deployment"
	// WorkloadStatefulSet gives the replacement of a node the same name.
	WorkloadStatefulSet WorkloadKind = "StatefulSet"
)

// Memcached is a cache of memcached nodes. The operator creates a Deployment or a StatefulSet and a PodDisruptionBudget of the same name,
// and a headless Service; with proxy, also a Deployment of proxies with a Service of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=memc
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Updated",type=integer,priority=1,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Workload",type=string,priority=1,JSONPath=`.spec.workload`
// +kubebuilder:printcolumn:name="Address",type=string,priority=1,JSONPath=`.status.address`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.image`
// +kubebuilder:printcolumn:name="Item-Memory",type=string,priority=1,JSONPath=`.spec.config.memory`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,55}[a-z0-9])?$')",fieldPath=".metadata",message="metadata.name must be the name of a Service, like that of the Service NAME-nodes: at most 57 lowercase letters, digits and '-', starting with a letter and ending with a letter or digit"
// +kubebuilder:validation:XValidation:rule="self.spec.workload != 'StatefulSet' || size(self.metadata.name) <= 52",fieldPath=".metadata",message="metadata.name must have at most 52 characters with spec.workload StatefulSet: its pods have a label with the name and up to 11 characters more"
// +kubebuilder:validation:XValidation:rule="self.spec.copies == 1 || size(self.metadata.name) <= 50",fieldPath=".metadata",message="metadata.name must have at most 50 characters with spec.copies of more than 1: the StatefulSets of the other copies are named NAME-b and NAME-c"
// +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,v1},{StatefulSet,v1},{ConfigMap,v1},{Service,v1},{PodDisruptionBudget,v1},{NetworkPolicy,v1},{Pod,v1},{Event,v1}}
type Memcached struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec MemcachedSpec `json:"spec"`

	// status is the observed state. Until an operator has handled the Memcached, observedGeneration is -1, and Ready is Unknown
	// with the reason WaitingForOperator.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1,"replicas":0,"readyReplicas":0,"updatedReplicas":0,"conditions":{{"type":"Ready","status":"Unknown","reason":"WaitingForOperator","message":"Waiting for the operator","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedList is a list of Memcached.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Memcached `json:"items"`
}
