// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedStorage is where a node keeps its items.
type MemcachedStorage struct {
	// type is Memory or MemoryFile. The default is Memory: memcached's own memory, which is empty after a restart. With MemoryFile
	// (memcached -e), the items are in a memory volume of the pod. They survive a restart of memcached for restartedAt or a new
	// configuration, unless config.memory, config.maxItemSize or storage.type changes. A new pod is empty. MemoryFile needs workload
	// StatefulSet and config.memory of at least 128Mi. A delete that a client sends while the item's node restarts has no effect, so
	// the item stays in the cache.
	// +optional
	// +kubebuilder:validation:Enum=Memory;MemoryFile
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:com.tectonic.ui:select:Memory","urn:alm:descriptor:com.tectonic.ui:select:MemoryFile","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Type StorageType `json:"type,omitempty"`
}

// StorageType is where a node keeps its items.
type StorageType string

// Places for items.
const (
	// StorageMemory is memcached's own memory.
	StorageMemory StorageType = "Memory"
	// StorageMemoryFile is a file in a memory volume of the pod.
	StorageMemoryFile StorageType = "MemoryFile"
)
