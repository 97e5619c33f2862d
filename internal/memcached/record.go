// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TemplateHashAnnotation and PodDefaultsAnnotation are annotations on the workload. They repeat the template hash and the defaults in
// status.lastApplied, in case the status is lost: see ADR-0014.
const (
	TemplateHashAnnotation = "cache.example.com/template-hash"
	PodDefaultsAnnotation  = "cache.example.com/pod-defaults"
)

// AppliedHashAnnotation is an annotation on each child. It holds the hash of the child as the operator last applied it.
const AppliedHashAnnotation = "cache.example.com/applied-hash"

// RecordAnnotations returns the annotations that store a record's template hash and defaults on a workload.
func RecordAnnotations(record cachev1alpha1.MemcachedRecord) map[string]string {
	annotations := map[string]string{TemplateHashAnnotation: record.TemplateHash}
	text, err := json.Marshal(record.Defaults)
	if err != nil {
		panic(err) // impossible: the defaults are strings
	}
	if string(text) != "{}" {
		annotations[PodDefaultsAnnotation] = string(text)
	}
	return annotations
}

// TemplateHash returns the template hash that is stored on the workload, or "".
func (w *Workload) TemplateHash() string { return w.GetAnnotations()[TemplateHashAnnotation] }

// RecordAnnotations returns those annotations of the workload that store a template hash or defaults.
func (w *Workload) RecordAnnotations() map[string]string {
	annotations := maps.Clone(w.GetAnnotations())
	maps.DeleteFunc(annotations, func(key, _ string) bool { return key != TemplateHashAnnotation && key != PodDefaultsAnnotation })
	return annotations
}

// LastApplied returns the recorded defaults if they belong to the template with this hash. If the status was lost or is older than
// the workload, they come from the workload's annotations. Found is false if nothing is recorded for this template.
func (v View) LastApplied(templateHash string) (_ cachev1alpha1.MemcachedDefaults, found bool) {
	last := v.Last.Applied
	if last != nil && last.TemplateHash == templateHash {
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

// CarriedOut returns the decided record if the workload has already been written with it, and the last record otherwise.
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
	decided.AppliedHash, decided.Former = annotations[AppliedHashAnnotation], v.beforeRollout(decided)
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
