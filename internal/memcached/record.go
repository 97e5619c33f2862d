// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TemplateHashAnnotation and PodDefaultsAnnotation are the annotations of the workload that hold the record in case the status is
// lost: see ADR-0014.
const (
	TemplateHashAnnotation = "cache.example.com/template-hash"
	PodDefaultsAnnotation  = "cache.example.com/pod-defaults"
)

// AppliedHashAnnotation is the annotation of each child with the hash of what was applied last.
const AppliedHashAnnotation = "cache.example.com/applied-hash"

// RecordAnnotations are the annotations of a workload that hold a record.
func RecordAnnotations(record cachev1alpha1.MemcachedRecord) map[string]string {
	annotations := map[string]string{TemplateHashAnnotation: record.TemplateHash}
	if text := string(encode(record.Defaults)); text != "{}" {
		annotations[PodDefaultsAnnotation] = text
	}
	return annotations
}

// encode returns a value as JSON. Those of this package always have one.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return text
}

// TemplateHash is the recorded hash of the template, empty if there is none.
func (w *Workload) TemplateHash() string { return w.GetAnnotations()[TemplateHashAnnotation] }

// RecordAnnotations are the annotations of the workload that hold its record.
func (w *Workload) RecordAnnotations() map[string]string {
	annotations := maps.Clone(w.GetAnnotations())
	maps.DeleteFunc(annotations, func(key, _ string) bool { return key != TemplateHashAnnotation && key != PodDefaultsAnnotation })
	return annotations
}

// LastApplied returns the defaults that were carried out last, if that was for a template with this hash. The status has the record.
// The annotations of the workload have it if the status was lost, or was not written after the workload.
func (v View) LastApplied(templateHash string) (_ cachev1alpha1.MemcachedDefaults, found bool) {
	last := v.Last.Applied
	if last != nil && last.Workload == WorkloadKind(v.Memcached) && last.TemplateHash == templateHash {
		return last.Defaults, true
	}
	live := v.Workload
	if live == nil || live.TemplateHash() != templateHash {
		return cachev1alpha1.MemcachedDefaults{}, false
	}
	var defaults cachev1alpha1.MemcachedDefaults
	if json.Unmarshal([]byte(live.GetAnnotations()[PodDefaultsAnnotation]), &defaults) != nil {
		return cachev1alpha1.MemcachedDefaults{}, true
	}
	return defaults, true
}

// RolloutChanges are those of the changes of the spec for which a decided record replaces or restarts the nodes. A record for the
// template and the arguments that they have keeps what it says.
func (v View) RolloutChanges(decided cachev1alpha1.MemcachedRecord, restarting bool, changes []string) []string {
	changes = slices.DeleteFunc(slices.Clone(changes), func(change string) bool { return !ReplacesNodes(change) })
	last := v.Last.Applied
	same := last != nil && last.Workload == decided.Workload && last.TemplateHash == decided.TemplateHash
	if same && (!restarting || len(changes) == 0) {
		return last.Changes
	}
	return changes
}

// CarriedOut is the record after a write: the decided one if the workload bears it, and until then the last one.
func (v View) CarriedOut(decided cachev1alpha1.MemcachedRecord) *cachev1alpha1.MemcachedRecord {
	live := v.Workload
	if live == nil {
		return v.Last.Applied
	}
	annotations := live.GetAnnotations()
	for key, value := range RecordAnnotations(decided) {
		if annotations[key] != value {
			return v.Last.Applied
		}
	}
	decided.AppliedHash = annotations[AppliedHashAnnotation]
	return &decided
}
