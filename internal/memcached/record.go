// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"hash/crc32"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RecordAnnotation is an annotation on each Deployment, with a Record as JSON: see ADR-0002.
const RecordAnnotation = "cache.example.com/record"

// AppliedHashAnnotation is an annotation on each child. It holds the hash of the child as the operator last applied it.
const AppliedHashAnnotation = "cache.example.com/applied-hash"

// Record says what the pod template of a workload was rendered from.
type Record struct {
	// Template is the hash of the pod template without the defaults. It depends only on the spec, so a new hash means a new spec.
	Template string `json:"template"`

	Defaults

	// Sum is the sum of the other fields. A record that somebody has edited counts as none.
	Sum string `json:"sum"`
}

// Defaults are settings that the operator chose for the pods because the spec leaves them open. Settings that the spec determines are
// absent.
type Defaults struct {
	// Images are the images of the containers, by the name of the container.
	Images map[string]string `json:"images,omitempty"`
	// MemoryLimit is the memory limit of memcached's container.
	MemoryLimit string `json:"memoryLimit,omitempty"`
}

// Annotations returns the annotation that holds the record.
func (r Record) Annotations() map[string]string {
	r.Sum = r.sum()
	return map[string]string{RecordAnnotation: string(r.text())}
}

func (r Record) text() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // impossible: a record holds only strings
	}
	return text
}

func (r Record) sum() string {
	r.Sum = ""
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE(r.text())), 16)
}

// RecordOf returns the record on a workload. It is empty if there is none, or if somebody has changed it.
func RecordOf(workload client.Object) Record {
	var record Record
	if json.Unmarshal([]byte(workload.GetAnnotations()[RecordAnnotation]), &record) != nil || record.Sum != record.sum() {
		return Record{}
	}
	return record
}
