// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// heldBack lists what a pause holds back: the children that would be written or deleted, another size, a change that needs no write of
// the workload, and the rest of a change that has begun.
func (f facts) heldBack(plan memcached.Plan) []string {
	var held []string
	for _, kind := range f.Pending {
		if text := "the " + kind; !slices.Contains(held, text) {
			held = append(held, text)
		}
	}
	if w := f.Workload; w != nil && w.Size != f.size && slices.Contains(f.Pending, string(w.Kind)) {
		scaling := fmt.Sprintf("scaling from %d to %d nodes", w.Size, f.size)
		switch {
		case f.size == 0:
			scaling += ", which loses all items"
		case w.Size > 0:
			scaling += ", which remaps keys"
		}
		held = append(held, scaling)
	}
	if plan.Wave.Effect != memcached.NoEffect && !f.TemplatePending && !plan.InPlace.Open {
		held = append(held, "a change in place")
	}
	if rest := f.unfinished(plan); rest != "" {
		held = append(held, rest)
	}
	return held
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

// pausedMessage says what a pause holds back, what that will cost, and how to end the pause.
func pausedMessage(f facts) string {
	if len(f.held) == 0 {
		return "spec.paused holds changes back; there are none now"
	}
	message := "spec.paused holds back: " + strings.Join(f.held, ", ")
	if f.cost != "" {
		message += "; " + f.cost
	}
	return message + ". To resume: " + patchCommand(f.Memcached, `"paused":false`)
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
