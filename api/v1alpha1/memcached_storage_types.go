// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedStorage is where a node keeps its items.
type MemcachedStorage struct {
	// type is Memory or MemoryFile. The default is Memory: memcached's own memory, which a restart empties. With MemoryFile
	// (memcached -e), items are in a memory volume of the pod, and survive restarts of memcached in that pod: for a new
	// configuration or restartedAt. A new pod is empty. MemoryFile needs workload StatefulSet and config.memory of at least 128Mi.
	// Items that clients delete while a node restarts, for a second or two, stay in the cache. A change of config.memory,
	// config.maxItemSize or the type empties the nodes.
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
