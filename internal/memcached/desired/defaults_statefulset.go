// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// decideByRecord returns the defaults for the pods of a StatefulSet: see decideDefaults. "kubectl rollout restart" also adopts the present
// defaults. If the spec is taken back during a rollout, the defaults from before the rollout apply again.
func decideByRecord(
	v memcached.View, opts memcached.Options, templateHash string, recorded podDefaults, found bool,
) (_ podDefaults, changed bool) {
	mc := v.Memcached
	if former := takenBackTo(v, templateHash); former != nil {
		recorded, found = former.Defaults, true
	}
	restarts := found && restartsInPlace(v)
	present := presentDefaults(mc, opts)
	if !found || replacedByHand(v) || restarts && outgrown(mc, recorded) {
		return present, !found || restarts
	}
	return keepDefaults(mc, present, recorded), restarts
}

// takenBackTo returns the record from before the current rollout if the spec again asks for what that record describes, and nil
// otherwise. With that record, the nodes that the rollout has not reached stay as they are.
func takenBackTo(v memcached.View, templateHash string) *cachev1alpha1.MemcachedFormerRecord {
	last := v.Last.Applied
	if last == nil || last.Former == nil || last.Former.TemplateHash != templateHash {
		return nil
	}
	arguments := argumentList(v.Memcached).Hash()
	if last.TemplateHash == templateHash && last.ArgumentsHash == arguments || last.Former.ArgumentsHash != arguments {
		return nil
	}
	return last.Former
}

// restartsInPlace reports whether launchers restart memcached, because the spec results in other arguments than the recorded ones. No
// arguments are recorded until all nodes run the same ones. Until then, restartsInPlace compares with the lists in the ConfigMap. The
// memory limit was checked for these lists before they were written.
func restartsInPlace(v memcached.View) bool {
	hash := argumentList(v.Memcached).Hash()
	if last := v.Last.Applied; last != nil && last.ArgumentsHash != "" {
		return last.ArgumentsHash != hash
	}
	if v.Workload == nil {
		return false
	}
	section, found := v.Arguments().Sections[v.Workload.Template.Annotations[memcached.TemplateAnnotation]]
	return found && hash != section.Default && !slices.Contains(slices.Collect(maps.Values(section.Nodes)), hash)
}

// replacedByHand reports whether somebody has run "kubectl rollout restart" since the last record.
func replacedByHand(v memcached.View) bool {
	last := v.Last.Applied
	return last != nil && last.RolloutRestartedAt != rolloutRestartedAt(v)
}

// outgrown reports whether memcached needs more memory than the recorded limit allows. It is false if the spec sets the limit.
func outgrown(mc *cachev1alpha1.Memcached, recorded podDefaults) bool {
	limit, err := resource.ParseQuantity(recorded.MemoryLimit)
	_, given := render.MemoryLimit(mc.Spec.Resources)
	return !given && (err != nil || sizingOf(mc).check(limit) != nil)
}
