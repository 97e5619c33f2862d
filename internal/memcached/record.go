// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// RecordAnnotation is an annotation on each workload, with a Record as JSON: see ADR-0014.
const RecordAnnotation = "cache.example.com/record"

// AppliedHashAnnotation is an annotation on each child. It holds the hash of the child as the operator last applied it.
const AppliedHashAnnotation = "cache.example.com/applied-hash"

// Record says what the pod template of a workload was rendered from.
type Record struct {
	// Template is the hash of the pod template without the defaults. It depends only on the spec, so a new hash means a new spec.
	Template string `json:"template"`

	cachev1alpha1.MemcachedDefaults
}

// Annotations returns the annotation that holds the record.
func (r Record) Annotations() map[string]string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // impossible: a record holds only strings
	}
	return map[string]string{RecordAnnotation: string(text)}
}

// RecordOf returns the record on a workload. It is empty if there is none, or if somebody has made it unreadable.
func RecordOf(workload client.Object) Record {
	var record Record
	if json.Unmarshal([]byte(workload.GetAnnotations()[RecordAnnotation]), &record) != nil {
		return Record{}
	}
	return record
}

// Recorded returns the recorded defaults if they belong to the template with this hash. Found is false if nothing is recorded for this
// template. For a StatefulSet, the status comes before the annotation, unless it was lost or is older than the workload.
func (v View) Recorded(template string) (_ cachev1alpha1.MemcachedDefaults, found bool) {
	if last := v.Last.Applied; last != nil && last.TemplateHash == template {
		return last.Defaults, true
	}
	if v.Workload == nil {
		return cachev1alpha1.MemcachedDefaults{}, false
	}
	record := RecordOf(v.Workload)
	return record.MemcachedDefaults, record.Template == template
}

// CarriedOut returns the decided record of a StatefulSet if it has already been written with it, and the last record otherwise.
func (v View) CarriedOut(decided cachev1alpha1.MemcachedRecord) *cachev1alpha1.MemcachedRecord {
	if WorkloadKind(v.Memcached) != cachev1alpha1.WorkloadStatefulSet {
		return nil
	}
	record := Record{Template: decided.TemplateHash, MemcachedDefaults: decided.Defaults}
	if v.Workload == nil || !equality.Semantic.DeepEqual(RecordOf(v.Workload), record) {
		return v.Last.Applied
	}
	decided.Former = v.beforeRollout(decided)
	return &decided
}

// beforeRollout returns the record from before the current rollout, or nil without a rollout. A rollout begins now if decided has a new
// template hash or new defaults. After "kubectl rollout restart", beforeRollout also returns nil, because then no node may stay as it is.
func (v View) beforeRollout(decided cachev1alpha1.MemcachedRecord) *cachev1alpha1.MemcachedFormerRecord {
	last := v.Last.Applied
	switch {
	case last == nil || last.RolloutRestartedAt != decided.RolloutRestartedAt:
		return nil
	case last.Former != nil || last.TemplateHash == decided.TemplateHash && equality.Semantic.DeepEqual(last.Defaults, decided.Defaults):
		return last.Former
	default:
		return &cachev1alpha1.MemcachedFormerRecord{TemplateHash: last.TemplateHash, ArgumentsHash: last.ArgumentsHash, Defaults: last.Defaults}
	}
}
