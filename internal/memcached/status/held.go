// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// heldBack lists what a pause holds back: the changes that heldChanges returns, and the Kinds in Pending that these changes do not affect.
func (f facts) heldBack(plan memcached.Plan) []string {
	if len(f.Pending) == 0 && plan.Wave.Effect == memcached.NoEffect && f.unfinished(plan) == "" {
		return nil
	}
	changes := f.heldChanges(plan)
	held := changes
	for _, kind := range f.Pending {
		text := "the " + kind
		named := slices.ContainsFunc(changes, func(change string) bool { return memcached.ChangesKind(change, kind) })
		if !named && !slices.Contains(held, text) {
			held = append(held, text)
		}
	}
	return held
}

// heldChanges returns the changes of spec fields, and the rest of a change that has begun. New arguments and pod settings are listed
// only if no other change in the list explains them.
func (f facts) heldChanges(plan memcached.Plan) []string {
	changes, w := slices.Clone(plan.Changes), f.Workload
	if rest := f.unfinished(plan); rest != "" {
		changes = append(changes, rest)
	}
	if plan.Wave.Effect != memcached.NoEffect && len(changes) == 0 {
		changes = append(changes, "other arguments of memcached")
	}
	if f.TemplatePending && w != nil && maps.Equal(w.RecordAnnotations(), memcached.RecordAnnotations(plan.Record)) {
		changes = append(changes, "other pod settings")
	}
	return changes
}

// unfinished names a change that has begun and that only the operator can finish, or returns an empty text. If the partition is 0,
// Kubernetes finishes a rollout by itself.
func (f facts) unfinished(plan memcached.Plan) string {
	switch w := f.Workload; {
	case f.TemplatePending:
		return ""
	case plan.InPlace.Open:
		return "the rest of a change in place"
	case w != nil && w.Partition > 0 && w.Outdated(w.Nodes(f.Pods)) > 0:
		return restOfRollout
	default:
		return ""
	}
}

const restOfRollout = "the rest of a rollout"

// heldCost returns what the changes that are held back will do to the nodes, or an empty text.
func (f facts) heldCost(plan memcached.Plan) string {
	effect := plan.Wave.Effect
	switch {
	case f.TemplatePending && plan.InPlace.Open && emptiesInPlace(plan):
		return "; the pods will stay, but the nodes will restart without their items"
	case f.TemplatePending && plan.InPlace.Open:
		return "; the pods will stay, and change in place"
	case f.TemplatePending, f.unfinished(plan) == restOfRollout:
		return "; the nodes will be replaced, without their items"
	case effect == memcached.GrowsInPlace:
		return "; the nodes will get more memory in place and keep their items"
	case effect == memcached.KeepsItems:
		return "; the nodes will restart in place and keep their items"
	case effect == memcached.LosesItems:
		return "; the nodes will restart in place, without their items"
	}
	return ""
}

// pausedMessage says what a pause holds back, what that will cost, and how to end the pause.
func pausedMessage(f facts) string {
	if len(f.held) == 0 {
		return "spec.paused holds changes back; there are none now"
	}
	return fmt.Sprintf("spec.paused holds back: %s%s. To resume: %s",
		strings.Join(f.held, ", "), f.cost, patchCommand(f.Memcached, `"paused":false`))
}

// patchCommand returns the command that sets a field of the spec.
func patchCommand(mc *cachev1alpha1.Memcached, field string) string {
	return fmt.Sprintf(`kubectl patch memcached %s -n %s --type=merge -p '{"spec":{%s}}'`, mc.Name, mc.Namespace, field)
}

// restartCommand returns the command that replaces the nodes, which then get the operator's current defaults.
func restartCommand(mc *cachev1alpha1.Memcached) string {
	if memcached.WorkloadKind(mc) == cachev1alpha1.WorkloadStatefulSet { // spec.restartedAt would keep the pods
		return fmt.Sprintf("kubectl rollout restart statefulset/%s -n %s", mc.Name, mc.Namespace)
	}
	return patchCommand(mc, `"restartedAt":"'$(date -u +%FT%TZ)'"`)
}
